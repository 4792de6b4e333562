from .base import Base
from .tall import TallBase


class Deprecated(Base):
    def forward(self, x, mask):
        return x * self.extended(mask, x.shape[0], device=x.device)


class Modern(Base):
    def forward(self, x, mask):
        return x * self.extended(mask, x.shape[0])


class Tall(TallBase):
    def hook(self, x):
        if (x > 3).any():  # GM101
            x = x + 1
        return x
