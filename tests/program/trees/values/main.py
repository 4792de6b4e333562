"""Helpers that are reached through values: registries, partials, callbacks, attributes, containers of modules."""

import torch

from rack.towers import (
    ByCallback,
    ByClassAttribute,
    ByContainer,
    ByFallback,
    ByInit,
    ByLazyPackage,
    ByPartial,
    ByRegistry,
    ByStaticMethod,
    ByWrappedModule,
)

X = torch.ones(3)
CALLS = [
    (kind(), (X,))
    for kind in (
        ByCallback,
        ByClassAttribute,
        ByContainer,
        ByFallback,
        ByInit,
        ByLazyPackage,
        ByPartial,
        ByRegistry,
        ByStaticMethod,
        ByWrappedModule,
    )
]
