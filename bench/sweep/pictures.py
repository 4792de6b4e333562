"""In the measuring interpreter: inputs of the models of timm and diffusers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Feed:
    """The interface of feed.Feed, for models whose inputs are known beforehand."""

    def __init__(self, package: str, model: Any, name: str, seed: int) -> None:
        import torch

        self.package, self.model, self.name = package, model, name
        self.generator = torch.Generator().manual_seed(1000 + seed)
        self.tokens: dict[str, int] = {}

    def candidates(self) -> Iterator[dict[str, Any]]:
        import torch

        if self.package == "diffusers":
            import diffuse

            yield diffuse.inputs(self.name, self.generator)
            return
        settings = getattr(self.model, "pretrained_cfg", {}) or {}
        size = settings.get("input_size") or (3, 224, 224)
        for edge in (min(size[-1], 64), size[-1]):
            yield {"x": torch.randn(2, size[0], edge, edge, generator=self.generator)}

    def adapted(self, error: str) -> bool:
        return False
