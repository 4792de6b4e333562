"""Stand-in for stella: an encoder that drops padding first, so that the number of rows is data."""

import torch
from torch import nn


class Embeddings(nn.Module):
    """Words and token types, for the tokens that are no padding."""

    def __init__(self, size: int, words: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, size)
        self.types = nn.Embedding(2, size)
        self.norm = nn.LayerNorm(size)

    def forward(
        self, input_ids: torch.Tensor, token_type_ids: torch.Tensor, attention_mask: torch.Tensor
    ) -> tuple[torch.Tensor, list[int]]:
        kept = attention_mask.bool()
        lengths = attention_mask.sum(-1).tolist()
        return self.norm(self.words(input_ids[kept]) + self.types(token_type_ids[kept])), lengths


class Layer(nn.Module):
    """Attention inside each text of a packed batch."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.both = nn.Linear(size, 3 * size)
        self.out = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)

    def forward(self, packed: torch.Tensor, lengths: list[int]) -> torch.Tensor:
        texts = []
        for text in self.both(packed).split(lengths):
            query, key, value = text.chunk(3, dim=-1)
            texts.append(torch.softmax(query @ key.T / 8.0, dim=-1) @ value)
        return self.norm(packed + self.out(torch.cat(texts)))


class UnpaddedEncoder(nn.Module):
    """Unpad, two layers, pad again."""

    def __init__(self, size: int = 64, words: int = 128) -> None:
        super().__init__()
        self.embeddings = Embeddings(size, words)
        self.layers = nn.ModuleList(Layer(size) for _ in range(2))

    def forward(
        self, input_ids: torch.LongTensor, attention_mask: torch.LongTensor, token_type_ids: torch.LongTensor
    ) -> dict[str, torch.Tensor]:
        packed, lengths = self.embeddings(input_ids, token_type_ids, attention_mask)
        indices = torch.nonzero(attention_mask.flatten()).flatten()
        for layer in self.layers:
            packed = layer(packed, lengths)
        padded = packed.new_zeros(attention_mask.numel(), packed.shape[-1])
        padded[indices] = packed
        return {"last_hidden_state": padded.view(*attention_mask.shape, -1)}
