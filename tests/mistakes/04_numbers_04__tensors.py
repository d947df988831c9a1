# mistake: probe: form
import torch


toy_share_1 = torch.tensor([0.5, 2.0])
toy_output = torch.tensor([3.5, 6.0])
