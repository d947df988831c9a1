# style: einsum
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.W_o = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_q = nn.Linear(d_model, d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        q, k, v = (layer(x).unflatten(-1, (self.num_heads, self.d_k))
                   for layer, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
        scores = torch.einsum("bnhd,bmhd->bhnm", q, k) * self.d_k**-0.5
        if mask is not None:
            scores = scores.masked_fill(mask.bool().logical_not(), -1e9)
        self.attention_weights = scores.softmax(-1)
        return self.W_o(torch.einsum("bhnm,bmhd->bnhd", self.drop(self.attention_weights), v).flatten(-2))
