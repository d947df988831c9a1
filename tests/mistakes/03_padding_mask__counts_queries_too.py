# mistake: probe: shape: one size differs
import torch


def padding_mask(lengths, seq_k):
    m = torch.arange(seq_k) < lengths[:, None]
    return (m[:, :, None] & m[:, None, :])[:, None]
