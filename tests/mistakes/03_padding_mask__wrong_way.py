# mistake: lengths counted as queries
import torch


def padding_mask(lengths, seq_k):
    m = torch.arange(seq_k)[None] < lengths[:, None]
    return m[:, None, :, None]
