# style: from lists
import torch


def padding_mask(lengths, seq_k):
    return torch.tensor([[[[j < n for j in range(seq_k)]]] for n in lengths.tolist()])
