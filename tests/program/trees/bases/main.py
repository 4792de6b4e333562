import torch
from zoo.models import Deprecated, Modern, Tall

CALLS = [
    (Deprecated(), (torch.ones(2, 3), torch.ones(2))),
    (Modern(), (torch.ones(2, 3), torch.ones(2))),
    (Tall(), (torch.ones(2, 3),)),
]
