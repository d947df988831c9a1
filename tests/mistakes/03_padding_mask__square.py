# mistake: probe: shape: repeated
import torch


def padding_mask(lengths, seq_k):
    keys = torch.arange(seq_k)[None, :] < lengths.unsqueeze(1)
    return keys[:, None, None, :].repeat(1, 1, seq_k, 1)
