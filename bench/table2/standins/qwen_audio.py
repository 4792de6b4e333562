"""Stand-in for Qwen-Audio: a language model that looks for audio marks in the prompt and then needs the audio."""

import torch
from torch import nn

AUDIO_START = 120


class AudioEncoder(nn.Module):
    """Frames to vectors of the language model's width."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.project = nn.Linear(80, size)

    def encode(self, frames: torch.Tensor) -> torch.Tensor:
        return self.project(frames)


class Block(nn.Module):
    """A mixing layer."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.mix = nn.Linear(size, size)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden + torch.relu(self.mix(self.norm(hidden)))


class Trunk(nn.Module):
    """The part that puts audio into the sequence of embeddings."""

    def __init__(self, size: int, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.audio = AudioEncoder(size)
        self.blocks = nn.ModuleList(Block(size) for _ in range(2))

    def forward(
        self,
        input_ids: torch.LongTensor,
        past_key_values: list[torch.Tensor] | None = None,
        audio_info: dict[str, torch.Tensor] | None = None,
    ) -> torch.Tensor:
        if past_key_values is None and torch.any(input_ids == AUDIO_START):
            starts = torch.where(input_ids == AUDIO_START)[1]
            audios = self.audio.encode(audio_info["input_audios"])
        else:
            starts = None
            audios = None
        hidden = self.embedding(input_ids)
        if audios is not None:
            for number, start in enumerate(starts):
                hidden[number, start + 1 : start + 1 + audios.shape[1]] = audios[number]
        for block in self.blocks:
            hidden = block(hidden)
        return hidden


class SpeechModel(nn.Module):
    """The trunk with a head for words."""

    def __init__(self, size: int = 64, words: int = 128) -> None:
        super().__init__()
        self.trunk = Trunk(size, words)
        self.head = nn.Linear(size, words)

    def forward(
        self, input_ids: torch.LongTensor, audio_info: dict[str, torch.Tensor] | None = None
    ) -> dict[str, torch.Tensor]:
        hidden = self.trunk(input_ids, audio_info=audio_info)
        return {"logits": self.head(hidden), "hidden": hidden}
