"""Folders without ``__init__.py``, as research code often has them."""

import torch
from models.parts import attention
from models.unet import UNet

CALLS = [(UNet(), (torch.ones(3),)), (attention.Attention(), (torch.ones(3),))]
