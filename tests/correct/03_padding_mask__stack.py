# style: rows stacked
import torch


def padding_mask(lengths, seq_k):
    rows = []
    for n in lengths.tolist():
        row = torch.zeros(seq_k, dtype=torch.bool)
        row[:n] = True
        rows.append(row)
    return torch.stack(rows).view(-1, 1, 1, seq_k)
