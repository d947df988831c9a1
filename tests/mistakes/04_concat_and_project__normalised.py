# mistake: normalised before W_O
from torch import nn


def concat_and_project(heads, W_O):
    joined = heads.transpose(1, 2).flatten(2)
    return nn.functional.layer_norm(joined, joined.shape[-1:]) @ W_O
