# style: loop
import torch


def first_token_score(A):
    return torch.tensor([float(head[1:, 0].sum()) / (len(head) - 1) for head in A])
