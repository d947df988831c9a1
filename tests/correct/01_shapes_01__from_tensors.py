# style: tuples made from tensors
import torch

Q, K, V = torch.zeros(4, 3), torch.zeros(7, 3), torch.zeros(7, 5)
shape_scores = tuple((Q @ K.T).shape)
shape_weights = shape_scores
shape_output = tuple((Q @ K.T @ V).shape)
