# style: a stored buffer, and layers in a ModuleDict beside their names
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        if num_heads < 1 or d_model % num_heads:
            raise ValueError("bad num_heads")
        self.h = num_heads
        self.register_buffer("root", torch.sqrt(torch.tensor(float(d_model // num_heads))))
        self.W_q = nn.Linear(d_model, d_model, bias=True)
        self.W_k = nn.Linear(d_model, d_model, bias=True)
        self.W_v = nn.Linear(d_model, d_model, bias=True)
        self.W_o = nn.Linear(d_model, d_model, bias=True)
        self.dropout = nn.Dropout(dropout)

    def cut(self, x):
        return x.unfold(-1, x.shape[-1] // self.h, x.shape[-1] // self.h).permute(0, 2, 1, 3)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.cut(self.W_q(query)), self.cut(self.W_k(key)), self.cut(self.W_v(value))
        scores = q @ k.mT / self.root
        if mask is not None:
            scores = scores.masked_fill(~mask.to(torch.bool), torch.finfo(scores.dtype).min)
        weights = nn.Softmax(dim=-1)(scores)
        self.attention_weights = weights
        return self.W_o((self.dropout(weights) @ v).movedim(1, 2).flatten(-2, -1))
