# style: from tensors
import torch

scores = torch.zeros(16, 8, 40, 64) @ torch.zeros(16, 8, 64, 60)
shape_cross_scores = tuple(scores.shape)
shape_padding = (16, 1, 1, scores.shape[-1])
