"""Inputs made up for entries without any."""

from __future__ import annotations

import copy
import itertools
import sys
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from graphmend_lsp.worker import load
from graphmend_lsp.worker.channel import Failure
from graphmend_lsp.worker.synthesis import Synthesized, synthesize

Synthesize = Callable[..., Synthesized]

_numbers = itertools.count()
HEAD = """\
import math
from dataclasses import dataclass
from typing import Callable, Dict, List, Literal, Optional, Tuple, Type, Union

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

"""


@pytest.fixture
def module_of(tmp_path: Path):
    """The module of a text that is written to a file, as the worker loads it."""
    names: list[str] = []

    def make(text: str, head: str = HEAD) -> types.ModuleType:
        name = f"made_up_{next(_numbers)}"
        names.append(name)
        path = tmp_path / f"{name}.py"
        path.write_text(head + textwrap.dedent(text))
        return load.import_file(load.Overlay({}), str(path), name)

    yield make
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture
def made_up(module_of: Any) -> Synthesize:
    """Make up inputs, and run them with an entry made anew."""

    def make(text: str, name: str = "Net", **options: Any) -> Synthesized:
        found = synthesize(module_of(text), name, **options)
        (call,) = found.calls
        with torch.no_grad():
            args, kwargs = copy.deepcopy((call.args, dict(call.kwargs)))
            result = found.build()(*args, **kwargs)
        if hasattr(result, "close"):
            result.close()
        assert found.how.startswith("made up: "), found.how
        return found

    return make


def shapes(found: Synthesized) -> list[Any]:
    (call,) = found.calls
    return [
        list(value.shape) if isinstance(value, torch.Tensor) else value for value in (*call.args, *call.kwargs.values())
    ]


def test_linear_and_what_the_user_is_told(made_up):
    found = made_up("""
    class Net(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.lin = nn.Linear(dim, 4)

        def forward(self, x):
            return self.lin(F.relu(x))
    """)
    assert found.how == "made up: Net(dim=32) called with x: float32[2, 32] (from lin: Linear)"
    assert isinstance(found.build(), torch.nn.Module)


def test_same_weights_and_inputs_each_time(module_of):
    module = module_of("""
    class Net(nn.Module):
        def __init__(self, dim, act: nn.Module):
            super().__init__()
            self.lin, self.act = nn.Linear(dim, 4), act

        def forward(self, x):
            return self.act(self.lin(x))
    """)
    first, second = (synthesize(module, "Net") for _ in range(2))
    assert torch.equal(first.build().lin.weight, second.build().lin.weight)
    assert torch.equal(first.build().lin.weight, first.build().lin.weight)
    assert torch.equal(first.calls[0].args[0], second.calls[0].args[0])
    assert first.build().act is not first.build().act


def test_mnist_net_finds_the_side_of_its_images(made_up):
    found = made_up("""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 32, 3, 1)
            self.conv2 = nn.Conv2d(32, 64, 3, 1)
            self.fc1 = nn.Linear(9216, 128)
            self.fc2 = nn.Linear(128, 10)

        def forward(self, x):
            x = F.relu(self.conv1(x))
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            x = torch.flatten(x, 1)
            return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)
    """)
    assert shapes(found) == [[2, 1, 28, 28]]


def test_atari_net(made_up):
    found = made_up(
        """
    class QNetwork(nn.Module):
        def __init__(self, num_actions: int):
            super().__init__()
            self.network = nn.Sequential(
                nn.Conv2d(4, 32, 8, stride=4), nn.ReLU(), nn.Conv2d(32, 64, 4, stride=2), nn.ReLU(),
                nn.Conv2d(64, 64, 3, stride=1), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(),
                nn.Linear(512, num_actions),
            )

        def forward(self, x):
            return self.network(x / 255.0)
    """,
        "QNetwork",
    )
    shape = shapes(found)[0]
    assert shape[:2] == [2, 4] and 84 <= shape[2] <= 91


def test_blocks_of_a_residual_net(made_up):
    text = """
    class Block(nn.Module):
        def __init__(self, in_channels, out_channels, stride=1):
            super().__init__()
            self.conv = nn.Conv2d(in_channels, out_channels, 3, stride, 1, bias=False)
            self.bn = nn.BatchNorm2d(out_channels)
            same = stride == 1 and in_channels == out_channels
            self.short = nn.Identity() if same else nn.Conv2d(in_channels, out_channels, 1, stride)

        def forward(self, x):
            return F.relu(self.bn(self.conv(x)) + self.short(x))


    class ResNet(nn.Module):
        def __init__(self, block: Type[Block], layers: List[int], num_classes: int = 10):
            super().__init__()
            self.stem = nn.Conv2d(3, 16, 3, 1, 1)
            widths = [16, 32, 64, 128]
            parts, width = [], 16
            for out, number in zip(widths, [layers[0], layers[1], layers[2], layers[3]]):
                for n in range(number):
                    parts.append(block(width, out, 2 if n == 0 else 1))
                    width = out
            self.stages = nn.Sequential(*parts)
            self.fc = nn.Linear(width, num_classes)

        def forward(self, x):
            return self.fc(self.stages(self.stem(x)).mean((2, 3)))
    """
    assert shapes(made_up(text, "Block")) == [[2, 32, 32, 32]]
    assert shapes(made_up(text, "ResNet")) == [[2, 3, 32, 32]]


def test_transformer_block(made_up):
    found = made_up("""
    class Attention(nn.Module):
        def __init__(self, dim: int, num_heads: int, qkv_bias: bool, dropout: float):
            super().__init__()
            assert dim % num_heads == 0
            self.heads, self.qkv, self.out = num_heads, nn.Linear(dim, dim * 3, bias=qkv_bias), nn.Linear(dim, dim)
            self.drop = nn.Dropout(dropout)

        def forward(self, x, mask=None):
            B, T, C = x.shape
            q, k, v = self.qkv(x).reshape(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
            return self.drop(self.out((q @ k.transpose(-2, -1) @ v).transpose(1, 2).reshape(B, T, C)))


    class Net(nn.Module):
        def __init__(self, dim: int, num_heads: int, mlp_ratio: float, dropout: float):
            super().__init__()
            self.norm = nn.LayerNorm(dim)
            self.attn = Attention(dim, num_heads, False, dropout)
            inner = int(dim * mlp_ratio)
            self.mlp = nn.Sequential(nn.Linear(dim, inner), nn.GELU(), nn.Linear(inner, dim))

        def forward(self, x):
            x = x + self.attn(self.norm(x))
            return x + self.mlp(self.norm(x))
    """)
    assert shapes(found) == [[2, 8, 32]]
    assert "Net(dim=32, num_heads=4, mlp_ratio=2.0, dropout=0.0)" in found.how


GPT = """
@dataclass
class GPTConfig:
    block_size: int = 1024
    vocab_size: int = 50304
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    dropout: float = 0.0
    bias: bool = True


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.ln = nn.LayerNorm(config.n_embd)
        self.attn = nn.MultiheadAttention(config.n_embd, config.n_head, batch_first=True)

    def forward(self, x):
        y = self.ln(x)
        return x + self.attn(y, y, y, need_weights=False)[0]


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.vocab_size is not None
        self.config = config
        self.transformer = nn.ModuleDict(dict(
            wte=nn.Embedding(config.vocab_size, config.n_embd),
            wpe=nn.Embedding(config.block_size, config.n_embd),
            h=nn.ModuleList([Block(config) for _ in range(config.n_layer)]),
        ))
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)

    def forward(self, idx, targets=None):
        b, t = idx.size()
        assert t <= self.config.block_size
        x = self.transformer.wte(idx) + self.transformer.wpe(torch.arange(t))
        for block in self.transformer.h:
            x = block(x)
        logits = self.lm_head(x)
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss
"""


def test_nano_gpt(made_up):
    found = made_up(GPT, "GPT")
    (call,) = found.calls
    assert found.build().config.n_layer == 2 and "GPTConfig(" in found.how
    assert call.args[0].shape == (2, 8) and call.args[0].dtype == torch.int64 and not call.kwargs
    assert shapes(made_up(GPT, "Block")) == [[2, 8, 32]]


def test_configuration_without_a_class(made_up):
    found = made_up("""
    class Net(nn.Module):
        def __init__(self, cfg):
            super().__init__()
            self.cfg = cfg
            self.emb = nn.Embedding(cfg.vocab_size, cfg.hidden_size)
            self.layers = nn.ModuleList([nn.Linear(cfg.hidden_size, cfg.hidden_size) for _ in range(cfg.num_layers)])
            self.drop = nn.Dropout(cfg.dropout)

        def forward(self, tokens):
            x = self.emb(tokens)
            for layer in self.layers:
                x = self.drop(layer(x))
            return x if not self.cfg.use_norm else F.normalize(x)
    """)
    assert "vocab_size=128" in found.how and shapes(found) == [[2, 8]]


def test_configuration_as_dictionary(made_up):
    found = made_up("""
    class Net(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.lin = nn.Linear(config["in_dim"], config["out_dim"])

        def forward(self, x):
            return self.lin(x)
    """)
    assert shapes(found) == [[2, 32]]


def test_lstm_tagger_of_the_tutorial(made_up):
    found = made_up(
        """
    class LSTMTagger(nn.Module):
        def __init__(self, embedding_dim, hidden_dim, vocab_size, tagset_size):
            super().__init__()
            self.word_embeddings = nn.Embedding(vocab_size, embedding_dim)
            self.lstm = nn.LSTM(embedding_dim, hidden_dim)
            self.hidden2tag = nn.Linear(hidden_dim, tagset_size)

        def forward(self, sentence):
            embeds = self.word_embeddings(sentence)
            lstm_out, _ = self.lstm(embeds.view(len(sentence), 1, -1))
            return F.log_softmax(self.hidden2tag(lstm_out.view(len(sentence), -1)), dim=1)
    """,
        "LSTMTagger",
    )
    assert shapes(found) == [[8]]


def test_recurrent_cell_with_its_state(made_up):
    found = made_up("""
    class Net(nn.Module):
        def __init__(self, input_size: int, hidden_size: int):
            super().__init__()
            self.cell = nn.GRUCell(input_size, 12)

        def forward(self, x: Tensor, h, done) -> Tensor:
            if h is None:
                h = x.new_zeros(x.shape[0], 12)
            return self.cell(x, h.masked_fill(done[:, None], 0.0))
    """)
    assert shapes(found) == [[2, 32], [2, 12], [2]]


def test_two_networks_of_one_module(made_up):
    found = made_up("""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.user, self.item = nn.Linear(12, 16), nn.Linear(20, 16)

        def forward(self, user, item):
            return (self.user(user) * self.item(item)).sum(-1)
    """)
    assert shapes(found) == [[2, 12], [2, 20]]


def test_keywords_only(made_up):
    found = made_up("""
    class Net(nn.Module):
        def __init__(self, *, width: int, activation: Callable[[Tensor], Tensor]):
            super().__init__()
            self.lin, self.activation = nn.Linear(width, width), activation

        def forward(self, *, x: torch.Tensor, scale: float, flag: bool, mask: Optional[Tensor] = None):
            return self.activation(self.lin(x)) * scale
    """)
    (call,) = found.calls
    assert call.args == () and list(call.kwargs) == ["x", "scale", "flag"] and call.kwargs["scale"] == 0.5


def test_constructor_that_needs_modules(made_up):
    found = made_up(
        """
    class Residual(nn.Module):
        def __init__(
            self, fn, norm_layer: Callable[..., nn.Module], blocks: List[nn.Module], kind: Literal["pre", "post"]
        ):
            super().__init__()
            self.fn, self.norm, self.blocks, self.kind = fn, norm_layer(32), nn.ModuleList(blocks), kind

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return self.norm(self.fn(x)) + x if self.kind == "pre" else x
    """,
        "Residual",
    )
    assert "kind='pre'" in found.how


def test_user_classes_as_arguments(made_up):
    found = made_up("""
    class Encoder(nn.Module):
        def __init__(self, in_dim: int, latent_dim: int):
            super().__init__()
            self.lin = nn.Linear(in_dim, latent_dim)

        def forward(self, x):
            return self.lin(x)


    class Net(nn.Module):
        def __init__(self, encoder: Encoder, decoder: "Encoder", sizes: Tuple[int, int]):
            super().__init__()
            self.encoder, self.decoder = encoder, decoder

        def forward(self, x):
            return self.decoder(self.encoder(x))
    """)
    assert "encoder=Encoder(in_dim=32, latent_dim=32)" in found.how and shapes(found) == [[2, 32]]


def test_unknown_parameter_is_a_number_or_else_what_the_others_are(made_up):
    found = made_up("""
    class Net(nn.Module):
        def __init__(self, thing, wobble):
            super().__init__()
            self.lin = nn.Linear(thing[0], thing[1])

        def forward(self, x):
            return self.lin(x)
    """)
    assert "thing=[32, 32]" in found.how


def test_function_of_two_tensors(made_up):
    found = made_up("def add(a, b):\n    return a + b.sum()\n", "add")
    assert found.how == "made up: add called with a: float32[4, 8], b: float32[4, 8]"
    assert shapes(made_up("def product(a, b):\n    return a @ b\n", "product")) == [[4, 4], [4, 4]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x):\n    b, t, c = x.shape\n    return x.reshape(b * t, c)\n", [[4, 8, 8]]),
        ("def f(x):\n    b, c, h, w = x.size()\n    return x.view(b, c, h * w)\n", [[4, 3, 32, 32]]),
        ("def f(x):\n    return x.permute(0, 2, 1)\n", [[4, 8, 8]]),
        ("def f(x):\n    return x.transpose(2, 1)\n", [[4, 8, 8]]),
        ("def f(x, n):\n    return x.repeat(n, 1)\n", [[4, 8], 2]),
        ("def f(x, dim):\n    return x.softmax(dim)\n", [[4, 8], -1]),
        ("def f(x, y):\n    return x.reshape(y, -1)\n", [[4, 8], 2]),
        ("def f(x, y):\n    return x * 2 if y else x\n", [[4, 8], []]),
        ("def f(x):\n    return torch.linalg.inv(x)\n", [[4, 8, 8]]),
        ("def f(x, weight):\n    return F.embedding(x, weight)\n", [[4, 8], [4, 8]]),
        ("def f(q, k, v):\n    return F.scaled_dot_product_attention(q, k, v)\n", [[4, 8, 8]] * 3),
        ("def f(x, return_all: bool = False, *, eps: float):\n    return x + eps\n", [[4, 8], 0.5]),
        ("def f(xs: List[Tensor]):\n    return torch.cat(xs)\n", None),
        ("def f(pair: Tuple[Tensor, Tensor]):\n    return pair[0] + pair[1]\n", None),
        ("def f(*xs):\n    return torch.stack(xs)\n", None),
        ("def f(batch):\n    return batch['input_ids'] * batch['attention_mask']\n", None),
        ("def f(x):\n    yield x\n    yield x + 1\n", [[4, 8]]),
        ("async def f(x):\n    return x + 1\n", [[4, 8]]),
        ("@torch.compile\ndef f(x):\n    print('loud')\n    return x + 1\n", [[4, 8]]),
        ("def f():\n    return torch.ones(2)\n", []),
    ],
)  # fmt: skip
def test_functions(made_up, text, expected, capsys):
    found = made_up(text, "f")
    if expected is not None:
        assert shapes(found) == expected, found.how


def test_a_guard_for_values(made_up):
    text = """
    def f(x):
        y = x.log()
        if y.isnan().any():
            raise ValueError("x has to be positive")
        return y
    """
    found = made_up(text, "f")
    assert bool((found.calls[0].args[0] > 0).all()) and "positive values" in found.how


def test_a_guard_for_the_side_of_an_image(made_up):
    found = made_up("""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 8, 16, 16)

        def forward(self, img):
            if img.shape[-1] != 224:
                raise ValueError(f"expected images of 224 by 224, not {img.shape[-1]}")
            return self.conv(img)
    """)
    assert shapes(found) == [[2, 3, 224, 224]]


def test_what_torch_asserts_for_the_user(made_up):
    found = made_up(
        """
    def f(x):
        torch._assert(x.ndim == 1, "a vector")
        torch._assert((x >= 0).all(), "not negative")
        return x.sqrt()
    """,
        "f",
    )
    assert shapes(found) == [[8]] and "positive values" in found.how


def test_a_guard_for_sizes_axes_and_dtypes(made_up):
    text = """
    def f(boxes, grid, labels):
        assert boxes.shape[-1] == 4, "need xyxy"
        if grid.dim() != 1:
            raise ValueError("the grid has one axis")
        assert labels.dtype == torch.long
        return boxes.sum() + grid + labels.sum()
    """
    boxes, grid, labels = made_up(text, "f").calls[0].args
    assert boxes.shape[-1] == 4 and grid.dim() == 1 and labels.dtype == torch.int64


def test_methods(made_up):
    text = """
    class Net(nn.Module):
        def __init__(self, dim: int):
            super().__init__()
            self.lin = nn.Linear(dim, dim)

        def encode(self, x):
            return self.lin(x)

        def forward(self, x):
            return self.encode(x)


    class Trainer:
        def __init__(self, lr: float):
            self.net = Net(16)

        def step(self, batch: Tensor):
            return self.net(batch).sum()
    """
    found = made_up(text, "Net.encode")
    assert "Net(dim=32).encode called with x: float32[2, 32]" in found.how
    assert shapes(made_up(text, "Net.forward")) == [[2, 32]]
    assert shapes(made_up(text, "Trainer.step")) == [[2, 16]]


def test_the_users_constructor_arguments(module_of):
    module = module_of("""
    class Net(nn.Module):
        def __init__(self, sizes):
            super().__init__()
            self.lin = nn.Linear(*sizes)

        def forward(self, x):
            return self.lin(x)


    def get_init_inputs():
        return [(5, 3)]
    """)
    found = synthesize(module, "Net", module.get_init_inputs)
    assert shapes(found) == [[2, 5]] and "Net(...) from get_init_inputs()" in found.how


def test_another_device(made_up):
    found = made_up(
        """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 3)

        def forward(self, x):
            assert x.device == self.lin.weight.device
            return self.lin(x)
    """,
        device="cpu:0",
    )
    assert shapes(found) == [[2, 3]]


def test_arguments_that_the_code_changes_are_given_fresh(made_up):
    found = made_up("def f(x):\n    assert not x.isnan().any()\n    return x.mul_(float('nan'))\n", "f")
    assert not found.calls[0].args[0].isnan().all()


# -- annotations -------------------------------------------------------------------------------------

STAND_IN = """
class _Array:
    def __init__(self, dtypes):
        self.dtypes = dtypes

    def __getitem__(self, item):
        return type("Array", (), {"array_type": item[0], "dim_str": item[1], "dtypes": self.dtypes})


Float = _Array(["float16", "bfloat16", "float32", "float64"])
Int = _Array(["int8", "int32", "int64"])
Bool = _Array(["bool"])
"""
TYPED = """
class Net(nn.Module):
    def __init__(self, dim: int, vocab: int):
        super().__init__()
        self.emb, self.lin = nn.Embedding(vocab, dim), nn.Linear(48, dim)

    def forward(
        self, x: Float[Tensor, "batch seq wide"], ids: Int[Tensor, "batch seq"], keep: Bool[Tensor, "batch seq"],
        pos: Float[Tensor, "3 wide"], last: Float[Tensor, "batch wide-1"],
    ) -> Float[Tensor, "batch seq dim"]:
        assert x.shape[-1] == pos.shape[1] == last.shape[1] + 1
        return (self.lin(x) + self.emb(ids)) * keep.unsqueeze(-1)
"""


@pytest.mark.parametrize("strings", [False, True])
def test_shapes_in_annotations(module_of, strings):
    head = "from __future__ import annotations\n" + HEAD.replace("\n\n", "\n") if strings else HEAD
    found = synthesize(module_of(TYPED if strings else STAND_IN + TYPED, head), "Net")
    x, ids, keep, pos, last = found.calls[0].args
    assert (x.shape, ids.shape, keep.shape, pos.shape, last.shape) == ((2, 8, 48), (2, 8), (2, 8), (3, 48), (2, 47))
    assert (x.dtype, ids.dtype, keep.dtype) == (torch.float32, torch.int64, torch.bool)
    assert "its annotation" in found.how


def test_other_axes_of_annotations(made_up):
    found = made_up(
        STAND_IN
        + """
def f(
    a: Float[Tensor, "*batch dim"], b: Float[Tensor, "... 5"], c: Float[Tensor, ""], d: Float[Tensor, "#batch _ n=3"],
    e: Float[Tensor, "dim dim"], g: Optional[Float[Tensor, "dim"]]
):
    return a @ e + b.sum() + c
""",
        "f",
    )
    a, b, c, d, e, g = shapes(found)
    assert g is None
    assert a == [2, 32] or len(a) == 2
    assert b[-1] == 5 and c == [] and d[-1] == 3 and len(d) == 3 and e == [a[-1], a[-1]]


def test_jaxtyping_itself(made_up):
    pytest.importorskip("jaxtyping")
    found = made_up("from jaxtyping import Bool, Float, Int\n" + TYPED)
    assert shapes(found) == [[2, 8, 48], [2, 8], [2, 8], [3, 48], [2, 47]]


# -- Hugging Face ------------------------------------------------------------------------------------

HUGGING_FACE = """
class PretrainedConfig:
    attribute_map = {}

    def __init__(self, pad_token_id=None, eos_token_id=30521, **kwargs):
        self.pad_token_id, self.eos_token_id = pad_token_id, eos_token_id
        for name, value in kwargs.items():
            setattr(self, name, value)

    def to_dict(self):
        return dict(vars(self))


class TinyConfig(PretrainedConfig):
    model_type = "tiny"

    def __init__(
        self, vocab_size=30522, hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072,
        max_position_embeddings=512, layer_kinds=None, pad_token_id=30000, **kwargs
    ):
        super().__init__(pad_token_id=pad_token_id, **kwargs)
        self.vocab_size, self.hidden_size, self.num_hidden_layers = vocab_size, hidden_size, num_hidden_layers
        self.num_attention_heads, self.intermediate_size = num_attention_heads, intermediate_size
        self.max_position_embeddings = max_position_embeddings
        self.layer_kinds = layer_kinds or ["full"] * num_hidden_layers
        self.head_size = hidden_size // num_attention_heads


class PreTrainedModel(nn.Module):
    main_input_name = "input_ids"

    def __init__(self, config):
        super().__init__()
        self.config = config


class TinyModel(PreTrainedModel):
    config_class = TinyConfig

    def __init__(self, config):
        super().__init__(config)
        assert len(config.layer_kinds) == config.num_hidden_layers
        self.embed = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.layers = nn.ModuleList([TinyLayer(config, n) for n in range(config.num_hidden_layers)])

    def forward(self, input_ids: Optional[Tensor] = None, attention_mask: Optional[Tensor] = None, inputs_embeds=None):
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give input_ids or inputs_embeds")
        x = self.embed(input_ids)
        for layer in self.layers:
            x = layer(x, attention_mask)
        return x


class TinyLayer(nn.Module):
    def __init__(self, config: TinyConfig, layer_idx: int):
        super().__init__()
        self.attn = nn.MultiheadAttention(config.hidden_size, config.num_attention_heads, batch_first=True)
        assert config.head_size * config.num_attention_heads == config.hidden_size

    def forward(self, hidden_states, attention_mask=None):
        return self.attn(hidden_states, hidden_states, hidden_states)[0]


class PairConfig(PretrainedConfig):
    def __init__(self, text_config=None, projection_dim=512, **kwargs):
        super().__init__(**kwargs)
        self.text_config = TinyConfig(**(text_config or {}))
        self.projection_dim = projection_dim


class PairModel(PreTrainedModel):
    config_class = PairConfig

    def __init__(self, config: PairConfig):
        super().__init__(config)
        self.text = TinyModel(config.text_config)
        self.project = nn.Linear(config.text_config.hidden_size, config.projection_dim)

    def forward(self, input_ids=None):
        return self.project(self.text(input_ids))
"""


def test_hugging_face_models(made_up):
    found = made_up(HUGGING_FACE, "TinyModel")
    config = found.build().config
    assert (config.num_hidden_layers, config.hidden_size, config.head_size, config.vocab_size) == (2, 64, 16, 128)
    assert len(config.layer_kinds) == 2 and config.pad_token_id == 0 and config.eos_token_id == 127
    assert list(found.calls[0].kwargs) == ["input_ids"]
    assert "TinyConfig(vocab_size=128, hidden_size=64" in found.how


def test_hugging_face_part_and_nested_configuration(made_up):
    assert shapes(made_up(HUGGING_FACE, "TinyLayer")) == [[2, 8, 64]]
    config = made_up(HUGGING_FACE, "PairModel").build().config
    assert config.text_config.hidden_size == 64 and config.projection_dim == 64


# -- what does not work ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (
            "class Net(nn.Module):\n    def __init__(self, path: __import__('pathlib').Path):\n        pass\n",
            "Net",
            r"nothing could be made up for parameter path: \w*Path of Net: write get_init_inputs\(\) as well",
        ),
        (
            "class Net(nn.Module):\n    def __init__(self, dim):\n        raise KeyError('no weights')\n",
            "Net",
            r"no inputs could be made up for Net; tried Net\(dim=32\): KeyError: 'no weights' .*example_inputs\(\)",
        ),
        (
            "def f(x, codec):\n    return codec.decode(x)\n",
            "f",
            r"made up for f \(nothing says what x, codec should be\).*codec: float32\[4, 8\].*'decode'.*example_inputs",
        ),
        ("def f(x):\n    raise RuntimeError('never')\n", "f", r"RuntimeError: never \(made_up_\d+.py:\d+\)"),
    ],
)
def test_failures_say_what_was_tried(made_up, text, name, message):
    with pytest.raises(Failure, match=message) as caught:
        made_up(text, name)
    assert caught.value.kind == "inputs"


def test_nothing_is_printed_and_the_search_is_bounded(module_of, capsys):
    module = module_of("""
    tries = []

    def f(a, b, c):
        tries.append(1)
        print("loud")
        raise ValueError("never 1 2 3 4 5 6 7 8 9")
    """)
    with pytest.raises(Failure):
        synthesize(module, "f")
    assert 1 < len(module.tries) <= 24
    assert capsys.readouterr() == ("", "")


def test_no_such_entry(module_of):
    with pytest.raises(Failure) as caught:
        synthesize(module_of(""), "Missing")
    assert caught.value.kind == "entry"
