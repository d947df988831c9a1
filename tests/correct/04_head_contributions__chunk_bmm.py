# style: chunk, and a product for each head
import torch


def head_contributions(heads, W_O):
    blocks = W_O.chunk(heads.shape[1], dim=0)
    parts = [torch.matmul(found, block) for found, block in zip(heads.unbind(1), blocks)]
    return torch.stack(parts, 1)
