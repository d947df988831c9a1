# style: query scaled before the product, float mask as a logarithm
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        d_k, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError("the heads cannot share the features equally")
        self.sizes = num_heads, d_k
        self.register_buffer("scale", torch.tensor(d_k**-0.5), persistent=False)
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        q = torch.stack((self.W_q(query) * self.scale).split(self.sizes[1], dim=-1), dim=1)
        k = torch.stack(self.W_k(key).split(self.sizes[1], dim=-1), dim=1)
        v = torch.stack(self.W_v(value).split(self.sizes[1], dim=-1), dim=1)
        logits = torch.matmul(q, k.transpose(-1, -2))
        if mask is not None:
            logits = logits + mask.float().log()
        self.attention_weights = torch.exp(logits - torch.logsumexp(logits, dim=-1, keepdim=True))
        heads = self.dropout(self.attention_weights) @ v
        return self.W_o(torch.cat(list(heads.unbind(1)), dim=-1))
