"""Stand-in for moe-minicpm: experts that each take the tokens routed to them, whose number is data."""

import torch
from torch import nn


class Expert(nn.Module):
    """A gated feed-forward part."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.gate = nn.Linear(size, 2 * size)
        self.up = nn.Linear(size, 2 * size)
        self.down = nn.Linear(2 * size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class Routed(nn.Module):
    """Every token goes to its two best experts."""

    def __init__(self, size: int, experts: int) -> None:
        super().__init__()
        self.router = nn.Linear(size, experts)
        self.experts = nn.ModuleList(Expert(size) for _ in range(experts))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        flat = hidden.flatten(0, 1)
        weights, chosen = self.router(flat).softmax(-1).topk(2, dim=-1)
        result = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            tokens, places = torch.where(chosen == number)
            if tokens.numel() == 0:
                continue
            result.index_add_(0, tokens, expert(flat[tokens]) * weights[tokens, places, None])
        return result.view_as(hidden)


class Layer(nn.Module):
    """A mixing part and routed experts."""

    def __init__(self, size: int, experts: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.mix = nn.Linear(size, size)
        self.routed = Routed(size, experts)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        hidden = hidden + self.mix(hidden)
        return hidden + self.routed(self.norm(hidden))


class ExpertModel(nn.Module):
    """Embedding, two layers with experts, scores of words."""

    def __init__(self, size: int = 64, experts: int = 4, words: int = 128) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.layers = nn.ModuleList(Layer(size, experts) for _ in range(2))
        self.head = nn.Linear(size, words)

    def forward(self, input_ids: torch.LongTensor) -> dict[str, torch.Tensor]:
        hidden = self.embedding(input_ids)
        for layer in self.layers:
            hidden = layer(hidden)
        return {"logits": self.head(hidden)}
