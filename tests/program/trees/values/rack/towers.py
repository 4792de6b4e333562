import functools

import rack.lazy
from torch import nn

from .attributes import named
from .blocks import Block
from .callbacks import each, noisy
from .fallback import robust
from .partials import scaled
from .registry import ACTIVATIONS
from .statics import TOOLS, Tools
from .stored import bounded
from .wrapped import Wrapped


class ByRegistry(nn.Module):
    def __init__(self):
        super().__init__()
        self.activation = ACTIVATIONS["loud"]

    def forward(self, x):
        return self.activation(x)


class ByPartial(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = functools.partial(scaled, factor=2.0)

    def forward(self, x):
        return self.scale(x)


class ByCallback(nn.Module):
    def forward(self, x):
        return each(noisy, x)


class ByClassAttribute(nn.Module):
    name = staticmethod(named)

    def forward(self, x):
        return self.name(x)


class ByContainer(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(2)])

    def forward(self, x):
        for block in self.blocks:
            x = block.run(x)
        return x


class ByFallback(nn.Module):
    def forward(self, x):
        return robust(x)


class ByInit(nn.Module):
    def __init__(self, check=bounded):
        super().__init__()
        self.check = check

    def forward(self, x):
        return self.check(x)


class ByLazyPackage(nn.Module):
    def forward(self, x):
        return rack.lazy.spoken(x)


class ByStaticMethod(nn.Module):
    def forward(self, x):
        return Tools.shown(TOOLS.kept(x))


class ByWrappedModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Wrapped()

    def forward(self, x):
        return self.inner.scores(x) + self.inner.weighted
