"""One module for each way to import a helper."""

import torch
from shapes import absolute, dotted, late, local, optional, packaged, renamed, starred, through

CALLS = [
    (module.Net(), (torch.ones(3),))
    for module in (absolute, dotted, late, local, optional, packaged, renamed, starred, through)
]
