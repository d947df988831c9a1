# style: the given functions of the lesson
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.dropout = nn.Dropout(dropout)
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.W_q(query), self.num_heads)  # noqa: F821
        k = split_heads(self.W_k(key), self.num_heads)  # noqa: F821
        v = split_heads(self.W_v(value), self.num_heads)  # noqa: F821
        heads, weights = scaled_dot_product_attention(q, k, v, mask=mask, dropout=self.dropout)  # noqa: F821
        self.attention_weights = weights.detach()
        return self.W_o(merge_heads(heads))  # noqa: F821
