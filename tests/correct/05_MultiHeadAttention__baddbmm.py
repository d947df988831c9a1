# style: baddbmm with an additive mask
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        assert d_model % num_heads == 0, "num_heads must divide d_model"
        self.n, self.d = num_heads, d_model // num_heads
        self.W_q, self.W_k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.W_v, self.W_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.p = dropout

    def forward(self, query, key, value, mask=None):
        b, n, m = query.shape[0], query.shape[1], key.shape[1]
        q = self.W_q(query).reshape(b, n, self.n, self.d).transpose(1, 2).reshape(b * self.n, n, self.d)
        k = self.W_k(key).reshape(b, m, self.n, self.d).permute(0, 2, 3, 1).reshape(b * self.n, self.d, m)
        v = self.W_v(value).reshape(b, m, self.n, self.d).transpose(1, 2).reshape(b * self.n, m, self.d)
        add = torch.zeros(b, self.n, n, m)
        if mask is not None:
            add = (1.0 - mask.to(q.dtype)).expand(b, self.n, n, m) * -1e9
        weights = torch.baddbmm(add.reshape(b * self.n, n, m), q, k, alpha=self.d**-0.5).softmax(-1)
        self.attention_weights = weights.view(b, self.n, n, m)
        weights = torch.dropout(weights, self.p, self.training)
        return self.W_o((weights @ v).view(b, self.n, n, self.d).transpose(1, 2).flatten(2))
