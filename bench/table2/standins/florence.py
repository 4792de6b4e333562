"""Stand-in for Florence-2: patches and text through encoder layers that clamp overflowing half-precision values."""

import torch
from torch import nn


class Attention(nn.Module):
    """Plain attention of one sequence to another."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(size, size)
        self.both = nn.Linear(size, 2 * size)
        self.out = nn.Linear(size, size)

    def forward(self, hidden: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        query = self.query(hidden).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        key, value = self.both(other).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        return self.out(mixed.transpose(1, 2).flatten(-2))


class EncoderLayer(nn.Module):
    """A layer whose result is brought back into range if it overflowed."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(size, heads)
        self.attention_norm = nn.LayerNorm(size)
        self.feed = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size))
        self.final_norm = nn.LayerNorm(size)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        hidden = self.attention_norm(hidden + self.attention(hidden, hidden))
        hidden = self.final_norm(hidden + self.feed(hidden))
        if hidden.dtype == torch.float16 and (torch.isinf(hidden).any() or torch.isnan(hidden).any()):
            limit = torch.finfo(hidden.dtype).max - 1000
            hidden = torch.clamp(hidden, min=-limit, max=limit)
        return hidden


class DecoderLayer(nn.Module):
    """Attention to the text so far and to what the encoder made."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.itself = Attention(size, heads)
        self.across = Attention(size, heads)
        self.norm = nn.LayerNorm(size)

    def forward(self, hidden: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        hidden = hidden + self.itself(hidden, hidden)
        return self.norm(hidden + self.across(hidden, memory))


class Encoder(nn.Module):
    """Two layers."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(size, heads) for _ in range(2))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            hidden = layer(hidden)
        return hidden


class Decoder(nn.Module):
    """Words so far, and one layer."""

    def __init__(self, size: int, heads: int, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.layers = nn.ModuleList([DecoderLayer(size, heads)])

    def forward(self, input_ids: torch.LongTensor, memory: torch.Tensor) -> torch.Tensor:
        hidden = self.embedding(input_ids)
        for layer in self.layers:
            hidden = layer(hidden, memory)
        return hidden


class LanguageModel(nn.Module):
    """Encoder and decoder."""

    def __init__(self, size: int, heads: int, words: int) -> None:
        super().__init__()
        self.encoder = Encoder(size, heads)
        self.decoder = Decoder(size, heads, words)

    def forward(self, hidden: torch.Tensor, decoder_input_ids: torch.LongTensor) -> tuple[torch.Tensor, torch.Tensor]:
        memory = self.encoder(hidden)
        return self.decoder(decoder_input_ids, memory), memory


class CaptionModel(nn.Module):
    """Patches and prompt go through the language model; the result are scores of words."""

    def __init__(self, size: int = 64, heads: int = 2, words: int = 100) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, size, kernel_size=4, stride=4)
        self.projection = nn.Linear(size, size)
        self.embedding = nn.Embedding(words, size)
        self.language = LanguageModel(size, heads, words)
        self.head = nn.Linear(size, words)

    def forward(
        self, pixels: torch.Tensor, input_ids: torch.LongTensor, decoder_input_ids: torch.LongTensor
    ) -> dict[str, torch.Tensor]:
        image = self.projection(self.patches(pixels).flatten(2).transpose(1, 2))
        prompt = torch.cat([image, self.embedding(input_ids)], dim=1)
        hidden, memory = self.language(prompt, decoder_input_ids)
        return {"logits": self.head(hidden), "memory": memory}
