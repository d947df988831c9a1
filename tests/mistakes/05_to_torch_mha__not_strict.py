# mistake: nothing copied
from torch import nn


def to_torch_mha(module):
    mha = nn.MultiheadAttention(module.W_q.in_features, module.num_heads, batch_first=True)
    mha.load_state_dict(module.state_dict(), strict=False)
    return mha.eval()
