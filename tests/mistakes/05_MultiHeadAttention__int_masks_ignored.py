# mistake: mask of numbers ignored
import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.W_o = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_q = nn.Linear(d_model, d_model)
        self.drop = nn.Dropout(dropout)
        self.h, self.k = num_heads, d_model // num_heads

    def split(self, x):
        return torch.stack(x.chunk(self.h, -1), 1)

    def forward(self, query, key, value, mask=None):
        q = self.split(self.W_q(query))
        k = self.split(self.W_k(key))
        v = self.split(self.W_v(value))
        scores = torch.einsum("bhnd,bhmd->bhnm", q, k) / math.sqrt(self.k)
        if mask is not None and mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, -1e9)
        weights = scores.softmax(-1)
        self.attention_weights = weights
        heads = self.drop(weights) @ v
        joined = heads.transpose(1, 2).flatten(2)
        return self.W_o(joined)
