# mistake: probe: shape: axes in another order
import torch


def padding_mask(lengths, seq_k):
    return (torch.arange(seq_k)[:, None] < lengths[None, :])[:, None, None, :]
