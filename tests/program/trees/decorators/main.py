import torch
from rotary.layers import Plain, Rotary

CALLS = [(Rotary(), (torch.arange(3),)), (Rotary(), (torch.arange(9),)), (Plain(), (torch.arange(3),))]
