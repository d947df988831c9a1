# style: reshape
import torch


def padding_mask(lengths, seq_k):
    return torch.arange(seq_k).reshape(1, 1, 1, -1) < lengths.reshape(-1, 1, 1, 1)
