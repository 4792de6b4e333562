"""Integers kept as tensors, where computing with numbers changes more than the graph: what is said, what is kept."""

from __future__ import annotations

from pathlib import Path

import execute
import pytest
import torch

from graphmend_lsp.check import Accept, mend
from graphmend_lsp.settings import Settings

CODEC = """
import torch
from torch import nn


class PaddedConv(nn.Module):
    def __init__(self, kernel_size=7, stride=2, dilation=1, causal=True):
        super().__init__()
        self.causal = causal
        self.conv = nn.Conv1d(1, 1, kernel_size, stride, dilation=dilation)
        kernel_size = self.conv.kernel_size[0]
        stride = torch.tensor(self.conv.stride[0], dtype=torch.int64)
        dilation = self.conv.dilation[0]
        kernel_size = torch.tensor((kernel_size - 1) * dilation + 1, dtype=torch.int64)
        self.register_buffer("stride", stride, persistent=False)
        self.register_buffer("kernel_size", kernel_size, persistent=False)
        self.register_buffer("padding_total", kernel_size - stride, persistent=False)

    def extra_padding(self, hidden_states: torch.Tensor):
        length = hidden_states.shape[-1]
        n_frames = (length - self.kernel_size + self.padding_total) / self.stride + 1
        n_frames = torch.ceil(n_frames).to(torch.int64) - 1
        ideal_length = n_frames * self.stride + self.kernel_size - self.padding_total

        return ideal_length - length

    @staticmethod
    def pad(hidden_states, paddings, mode: str = "zero"):
        length = hidden_states.shape[-1]
        padding_left, padding_right = paddings
        if not mode == "reflect":
            return nn.functional.pad(hidden_states, paddings, "constant", 0.0)
        max_pad = max(padding_left, padding_right)
        extra_pad = 0
        if length <= max_pad:
            extra_pad = max_pad - length + 1
            hidden_states = nn.functional.pad(hidden_states, (0, extra_pad))
        padded = nn.functional.pad(hidden_states, paddings, mode)
        end = padded.shape[-1] - extra_pad
        return padded[..., :end]

    def forward(self, hidden_states):
        extra_padding = self.extra_padding(hidden_states)
        if self.causal:
            hidden_states = self.pad(hidden_states, (self.padding_total, extra_padding), "reflect")
        else:
            padding_right = self.padding_total // 2
            padding_left = self.padding_total - padding_right
            hidden_states = self.pad(hidden_states, (padding_left, padding_right + extra_padding), "reflect")
        return self.conv(hidden_states)


class Strided(PaddedConv):
    def __init__(self):
        super().__init__(kernel_size=5, stride=3, dilation=2, causal=False)


CASES = [
    (name, [lambda length=length: (torch.arange(float(length)).reshape(1, 1, -1),) for length in (3, 6, 16, 17, 31)])
    for name in ("PaddedConv", "Strided")
]
"""


def mended(text: str, folder: Path) -> tuple[Path, Path, list[str]]:
    """The file before and after all offers, and what those say that they change."""
    before, after = folder / "codec.py", folder / "codec.fixed.py"
    before.write_text(text)
    done = mend(text, "codec.py", settings=Settings(runtime="package"), accept=Accept(unsafe=True))
    after.write_text(done.text)
    return before, after, [offer.changes for _, offer in done.applied]


def test_a_padded_convolution(tmp_path: Path) -> None:
    before, after, changes = mended(CODEC, tmp_path)
    (said,) = changes
    assert "`extra_padding` returns a Python number instead of a tensor" in said
    assert "arithmetic is done in double precision instead of float32" in said
    assert "`self.pad` gets Python numbers instead of tensors" in said
    text = after.read_text()
    assert "import math\n" in text
    assert "self.stride_value = stride_value\n" in text
    assert "n_frames = math.ceil(n_frames) - 1\n" in text
    assert all(execute.breaks(before).values())
    assert not any(execute.breaks(after).values())
    for case in execute.cases(execute.load(before, "codec")):
        assert not execute.compare(before, after, case)


HELD = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, hop: int = 3):
        super().__init__()
        {made}

    def forward(self, x):
        return x[..., : self.hop] * 2


CASES = [("Net", [lambda: (torch.arange(6.0).reshape(2, 3),), lambda: (torch.arange(8.0).reshape(2, 4),)])]
"""
BUFFER = 'self.register_buffer("hop", {}, persistent=False)'


@pytest.mark.parametrize(
    "made",
    [
        BUFFER.format("torch.tensor(hop)"),
        BUFFER.format("torch.as_tensor(hop)"),
        BUFFER.format('torch.tensor(hop, dtype=torch.int32, device="cpu")'),
        BUFFER.format("torch.tensor(hop).long()"),
        BUFFER.format("torch.full((), hop)"),
        'self.register_buffer("hop", tensor=torch.tensor(hop), persistent=False)',
        'self.register_buffer(name="hop", tensor=torch.tensor(hop), persistent=False)',
        "self.hop = torch.full((), hop, dtype=torch.long)",
    ],
)
def test_how_a_number_is_held(made: str, tmp_path: Path) -> None:
    before, after, changes = mended(HELD.format(made=made), tmp_path)
    assert changes == [""] and "self.hop_value" in after.read_text()
    assert execute.breaks(before)["Net"] and not execute.breaks(after)["Net"]
    (case,) = execute.cases(execute.load(before, "codec"))
    assert not execute.compare(before, after, case)


@pytest.mark.parametrize(
    "made",
    [
        BUFFER.format("torch.LongTensor(hop)"),  # so many numbers, of which nobody has said what they are
        BUFFER.format("torch.tensor(hop, dtype=torch.float32)"),
        BUFFER.format("torch.tensor([hop])"),
        BUFFER.format("torch.full((1,), hop)"),
        BUFFER.format("torch.full((), 2.5).long()"),
    ],
)
def test_what_is_no_number(made: str) -> None:
    done = mend(HELD.format(made=made), "codec.py", settings=Settings(runtime="package"), accept=Accept(unsafe=True))
    assert "hop_value" not in done.text


def test_buffers_and_saved_state_stay(tmp_path: Path) -> None:
    before, after, _ = mended(CODEC, tmp_path)
    old, new = execute.load(before, "codec").PaddedConv(), execute.load(after, "codec").PaddedConv()
    assert [name for name, _ in old.named_buffers()] == [name for name, _ in new.named_buffers()]
    assert old.state_dict().keys() == new.state_dict().keys()
    assert all(torch.equal(value, dict(new.named_buffers())[name]) for name, value in old.named_buffers())


def test_what_is_used_as_a_tensor_stays_one() -> None:
    text = CODEC.replace("return ideal_length - length", "return (ideal_length - length).to(hidden_states.device)")
    done = mend(text, "codec.py", settings=Settings(runtime="package"), accept=Accept(unsafe=True))
    assert "n_frames = (length - self.kernel_size + self.padding_total) / self.stride + 1\n" in done.text
    assert "padding_right = self.padding_total // 2\n" in done.text
