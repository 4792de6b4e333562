"""A small image captioner, with the checks, clamps and messages that real model code collects over time.

It works.  `torch.compile` works on it, too, but splits it into a handful of graphs, silently.
"""

import logging

import torch
from torch import nn

logger = logging.getLogger(__name__)


class PatchBlock(nn.Module):
    """One block of the image encoder; half-precision overflow is clamped, as T5 does it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        h = h + self.down(torch.relu(self.up(h)))
        if h.dtype == torch.float16:
            clamp_value = torch.finfo(h.dtype).max - 1000
            if torch.isinf(h).any() or torch.isnan(h).any():
                h = torch.clamp(h, min=-clamp_value, max=clamp_value)
        return self.norm(h)


class Prefix(nn.Module):
    """Embeds the words that the caption starts with."""

    def __init__(self, words: int, width: int, limit: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.limit = limit

    def forward(self, prefix: torch.Tensor) -> torch.Tensor:
        if prefix.shape[1] > self.limit:
            logger.warning("prefix of %d words cut to %d", prefix.shape[1], self.limit)
            prefix = prefix[:, : self.limit]
        return self.embed(prefix)


class Captioner(nn.Module):
    """Scores the next word of a caption from image patches, a mask of valid patches and the words so far."""

    def __init__(self, words: int = 50, width: int = 32, depth: int = 3, limit: int = 4) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(PatchBlock(width) for _ in range(depth))
        self.prefix = Prefix(words, width, limit)
        self.head = nn.Linear(width, words)

    def forward(
        self, patches: torch.Tensor, mask: torch.Tensor, prefix: torch.Tensor
    ) -> tuple[torch.Tensor, list[str]]:
        valid = mask.sum(dim=1)
        if (valid == 0).any():
            raise ValueError(f"images without patches: {int((valid == 0).sum())}")

        h = patches
        for number, block in enumerate(self.blocks):
            h = block(h)
            print(f"block {number}: largest value {h.abs().max():.2f}")

        image = (h * mask.unsqueeze(-1)).sum(dim=1) / valid.unsqueeze(-1)
        text = self.prefix(prefix).mean(dim=1)
        scores = self.head(torch.tanh(image + text))

        notes: list[str] = []
        if scores.max() < 0.5:
            notes.append("no word stands out")
        return scores, notes


def example_inputs() -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Three calls for two images of six patches: an ordinary one, one that overflows half precision, one to reject."""
    generator = torch.Generator().manual_seed(1)
    patches = torch.randn(2, 6, 32, generator=generator)
    mask = torch.ones(2, 6)
    mask[1, 4:] = 0  # the second image has only four valid patches
    prefix = torch.randint(0, 50, (2, 5), generator=generator)
    return [(patches, mask, prefix), (patches * 9000, mask, prefix), (patches, torch.zeros_like(mask), prefix)]
