"""Routes the tokens of a batch to experts, with the checks and messages that model code collects over time."""

import logging

import torch
from torch import nn

logger = logging.getLogger(__name__)


class Router(nn.Module):
    """Scores each token for each expert and keeps the best."""

    def __init__(self, width: int = 16, experts: int = 4) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.limit = 1e4
        self.overloaded: list[float] = []

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        length = mask.sum(dim=1)
        if (length == 0).any():
            raise ValueError("a sequence without tokens")

        logits = self.gate(tokens)
        if torch.isinf(logits).any():
            logits = torch.clamp(logits, min=-self.limit, max=self.limit)

        share = torch.softmax(logits, dim=-1).mean(dim=(0, 1))
        logger.info("the busiest expert takes %.2f", share.max())
        if share.max() > 0.9:
            self.overloaded.append(0.9)
        return logits * mask.unsqueeze(-1)


def build() -> nn.Module:
    """The compiled router."""
    router = Router()
    router.compile()
    return router


def example_inputs() -> tuple[torch.Tensor, torch.Tensor]:
    """Two sequences of six tokens; the second has only four."""
    generator = torch.Generator().manual_seed(1)
    mask = torch.ones(2, 6)
    mask[1, 4:] = 0
    return torch.randn(2, 6, 16, generator=generator), mask
