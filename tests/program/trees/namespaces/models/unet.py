from models.parts.norms import normed
from torch import nn
from utils.debug import shown


class UNet(nn.Module):
    def forward(self, x):
        return shown(normed(x))
