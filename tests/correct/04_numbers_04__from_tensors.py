# style: worked out in code
import torch


toy_heads = torch.tensor([[1., 0, 2], [2, 1, 1]])
toy_W_O = torch.tensor([[1.5, 1], [2, -1], [-0.5, 0.5], [1, 1.5], [1, -1], [0, 2]])
toy_share_1 = (toy_heads[0] @ toy_W_O[:3]).tolist()
toy_output = (toy_heads.flatten() @ toy_W_O).tolist()
