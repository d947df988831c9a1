# mistake: layers not registered
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        assert d_model % num_heads == 0
        self.h = num_heads
        self.layers = [nn.Linear(d_model, d_model) for _ in range(4)]
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        q, k, v = (W(x).unflatten(-1, (self.h, -1)).transpose(1, 2) for W, x in zip(self.layers[:3], (query, key, value), strict=True))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -torch.inf)
        self.attention_weights = scores.softmax(-1)
        return self.layers[3]((self.dropout(self.attention_weights) @ v).transpose(1, 2).flatten(2))
