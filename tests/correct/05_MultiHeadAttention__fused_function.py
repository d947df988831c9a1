# style: F.scaled_dot_product_attention for the output, weights beside it
import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads, self.p = num_heads, dropout
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)
        self.attention_weights = None

    def forward(self, query, key, value, mask=None):
        q, k, v = (layer(x).unflatten(-1, (self.num_heads, -1)).movedim(2, 1)
                   for layer, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
        allowed = None if mask is None else mask.bool()
        heads = F.scaled_dot_product_attention(q, k, v, allowed, self.p if self.training else 0.0)
        with torch.no_grad():
            scores = q @ k.mT * q.shape[-1] ** -0.5
            self.attention_weights = (scores if mask is None else scores.masked_fill(~allowed, -torch.inf)).softmax(-1)
        return self.W_o(heads.transpose(1, 2).flatten(2))
