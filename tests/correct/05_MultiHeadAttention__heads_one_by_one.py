# style: a ModuleList of heads built on the four Linears
import math

import torch
from torch import nn
from torch.nn import functional as F


class Head(nn.Module):
    def __init__(self, rows, p):
        super().__init__()
        self.rows, self.p = rows, p

    def forward(self, q, k, v, mask):
        q, k, v = q[..., self.rows], k[..., self.rows], v[..., self.rows]
        scores = torch.matmul(q, k.transpose(1, 2)) / math.sqrt(q.size(-1))
        if mask is not None:
            scores = torch.where(mask != 0, scores, torch.finfo(scores.dtype).min)
        weights = F.softmax(scores, dim=2)
        return F.dropout(weights, self.p, self.training) @ v, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        assert d_model % num_heads == 0
        d_k = d_model // num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model) for _ in range(4))
        self.heads = nn.ModuleList(Head(slice(i * d_k, (i + 1) * d_k), dropout) for i in range(num_heads))

    def forward(self, query, key, value, mask=None):
        q, k, v = self.W_q(query), self.W_k(key), self.W_v(value)
        full = None if mask is None else mask.expand(len(q), len(self.heads), q.shape[1], k.shape[1])
        each = [head(q, k, v, None if mask is None else full[:, i]) for i, head in enumerate(self.heads)]
        self.attention_weights = torch.stack([weights for _, weights in each], dim=1)
        return self.W_o(torch.cat([out for out, _ in each], dim=-1))
