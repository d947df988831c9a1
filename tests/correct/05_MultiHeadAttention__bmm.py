# style: bmm over batch times heads, weights stored after dropout
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads do not divide {d_model}")
        torch.randn(3)  # an extra random draw changes nothing
        self.num_heads = num_heads
        for name in ("W_o", "W_q", "W_v", "W_k"):
            setattr(self, name, nn.Linear(d_model, d_model))
        self.dropout = nn.Dropout(p=dropout)

    def fold(self, x):
        batch, seq, d_model = x.shape
        x = x.view(batch, seq, self.num_heads, d_model // self.num_heads).permute(0, 2, 1, 3)
        return x.reshape(batch * self.num_heads, seq, -1)

    def forward(self, query, key, value, mask=None):
        batch, seq_q, d_model = query.size()
        q, k, v = self.fold(self.W_q(query)), self.fold(self.W_k(key)), self.fold(self.W_v(value))
        scores = torch.bmm(q, k.transpose(1, 2)).div_(q.size(-1) ** 0.5)
        scores = scores.view(batch, self.num_heads, seq_q, -1)
        if mask is not None:
            scores.masked_fill_(mask == 0, float("-inf"))
        weights = self.dropout(torch.softmax(scores, dim=-1))
        self.attention_weights = weights
        heads = torch.bmm(weights.flatten(0, 1), v)
        merged = heads.view(batch, self.num_heads, seq_q, -1).transpose(1, 2).contiguous().view(batch, seq_q, d_model)
        return self.W_o(merged)
