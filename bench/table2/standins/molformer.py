"""Stand-in for MoLFormer-XL: linear attention that accepts only masks which are the same for every query."""

import torch
from torch import nn


class LinearAttention(nn.Module):
    """Attention through a positive feature map; a mask can only take keys away."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(size, size)
        self.key = nn.Linear(size, size)
        self.value = nn.Linear(size, size)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, hidden: torch.Tensor, mask: torch.FloatTensor | None = None) -> torch.Tensor:
        query = nn.functional.elu(self.split(self.query(hidden))) + 1
        key = nn.functional.elu(self.split(self.key(hidden))) + 1
        value = self.split(self.value(hidden))
        if mask is not None:
            # the additive mask becomes one of zeros and ones
            mask = (mask == 0).to(hidden.dtype)
            if not torch.equal(mask, mask[..., :1, :].expand(mask.shape)):
                raise ValueError("Linear attention needs a mask that is the same for every query.")
            key = key * mask[:, :, 0, :, None]
        summary = key.transpose(-1, -2) @ value
        weight = (query * key.sum(-2, keepdim=True)).sum(-1, keepdim=True)
        return ((query @ summary) / (weight + 1e-6)).transpose(1, 2).flatten(-2)


class Attention(nn.Module):
    """Attention with its projection and residual."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.itself = LinearAttention(size, heads)
        self.output = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)

    def forward(self, hidden: torch.Tensor, mask: torch.FloatTensor | None = None) -> torch.Tensor:
        return self.norm(hidden + self.output(self.itself(hidden, mask)))


class Layer(nn.Module):
    """Attention and a feed-forward part."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(size, heads)
        self.wide = nn.Linear(size, 2 * size)
        self.narrow = nn.Linear(2 * size, size)
        self.norm = nn.LayerNorm(size)

    def forward(self, hidden: torch.Tensor, mask: torch.FloatTensor | None = None) -> torch.Tensor:
        hidden = self.attention(hidden, mask)
        return self.norm(hidden + self.narrow(nn.functional.gelu(self.wide(hidden))))


class Encoder(nn.Module):
    """The layers, one after the other."""

    def __init__(self, size: int, heads: int, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(size, heads) for _ in range(depth))

    def forward(self, hidden: torch.Tensor, mask: torch.FloatTensor | None = None) -> torch.Tensor:
        for layer in self.layers:
            hidden = layer(hidden, mask)
        return hidden


class MoleculeModel(nn.Module):
    """Embedding, encoder, a mean over the tokens that count."""

    def __init__(self, size: int = 64, heads: int = 2, depth: int = 2, words: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.encoder = Encoder(size, heads, depth)

    def forward(self, input_ids: torch.LongTensor, attention_mask: torch.LongTensor) -> dict[str, torch.Tensor]:
        hidden = self.embedding(input_ids)
        length = input_ids.shape[1]
        additive = (1.0 - attention_mask[:, None, None, :].to(hidden.dtype)) * torch.finfo(hidden.dtype).min
        hidden = self.encoder(hidden, additive.expand(-1, -1, length, -1))
        counted = attention_mask[..., None].to(hidden.dtype)
        return {"last_hidden_state": hidden, "pooled": (hidden * counted).sum(1) / counted.sum(1)}
