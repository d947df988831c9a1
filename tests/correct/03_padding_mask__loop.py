# style: loop
import torch


def padding_mask(lengths, seq_k):
    mask = torch.zeros(len(lengths), 1, 1, seq_k, dtype=torch.bool)
    for row, length in enumerate(lengths):
        mask[row, 0, 0, :length] = True
    return mask
