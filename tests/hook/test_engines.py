"""The recipes of docs/run.md, on small packages that compile their models the way serving engines do.

Both fail under ``fullgraph=True`` as they are, and give the same results once they are mended.
"""

from __future__ import annotations

import pytest

from .conftest import Run, Write

MODEL = """\
import logging
from functools import lru_cache

import torch
from torch import nn
{imports}
logger = logging.getLogger(__name__)


@lru_cache(None)
def _once(text: str) -> None:
    logger.warning(text)


def warning_once(self, text: str) -> None:
    _once(text)


logging.Logger.warning_once = warning_once


class Attention(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(size, 3 * size)
        self.out = nn.Linear(size, size)

    def forward(self, hidden_states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if (mask.sum(-1) == 0).any():
            raise ValueError("a row of the mask is empty")
        query, key, value = self.qkv(hidden_states).chunk(3, dim=-1)
        scores = (query @ key.transpose(-1, -2)).masked_fill(mask == 0, -1e4)
        return self.out(scores.softmax(-1) @ value)


class Layer(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.attention = Attention(size)

    def forward(self, hidden_states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden_states = hidden_states + self.attention(hidden_states, mask)
        if hidden_states.dtype == torch.float16 and (
            torch.isinf(hidden_states).any() or torch.isnan(hidden_states).any()
        ):
            clamp_value = torch.finfo(hidden_states.dtype).max - 1000
            hidden_states = torch.clamp(hidden_states, min=-clamp_value, max=clamp_value)
        return hidden_states


{decorator}class Model(nn.Module):
    def __init__(self, size: int = 8, layers: int = 2) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(size) for _ in range(layers))

    def forward(self, hidden_states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        logger.warning_once("the mask is made of ones")
        for layer in self.layers:
            hidden_states = layer(hidden_states, mask)
        return hidden_states
"""

# vllm/compilation/decorators.py: the class gets a wrapper that compiles `forward` at the first call
DECORATORS = """\
import torch


def support_torch_compile(cls):
    cls.__bases__ = (*cls.__bases__, Wrapper)
    original = cls.__init__

    def __init__(self, *args, backend="eager", **kwargs):
        original(self, *args, **kwargs)
        self.compiled = torch.compile(self.forward, fullgraph=True, dynamic=False, backend=backend)

    cls.__init__ = __init__
    cls.__call__ = Wrapper.__call__
    return cls


class Wrapper:
    def __call__(self, *args, **kwargs):
        return self.compiled(*args, **kwargs)
"""

CHECK = """\
import hashlib, logging, sys
import torch

logging.basicConfig(format="%(name)s %(message)s", stream=sys.stdout)
torch.manual_seed(0)


def inputs(dtype=torch.float32):
    return torch.randn(2, 4, 8).to(dtype), torch.ones(2, 4, 4)


def digest(value):
    return hashlib.sha256(value.detach().float().numpy().tobytes()).hexdigest()[:16]
"""

VLLM = (
    CHECK
    + """
from engine.models.llama import Model

backend = sys.argv[1]
model = Model(backend="eager" if backend == "none" else backend).eval()
with torch.no_grad():
    for dtype in (torch.float32, torch.float16):
        model.to(dtype)
        x, mask = inputs(dtype)
        x[0, 0, 0] = 6e4
        eager = Model.forward(model, x, mask)
        print(digest(eager))
        if backend != "none":
            print(torch.allclose(model(x, mask), eager, rtol=0, atol=0, equal_nan=True))
    try:
        (Model.forward(model, x, mask * 0) if backend == "none" else model(x, mask * 0))
    except ValueError as error:
        print(error)
"""
)

# sglang: the runner replaces `forward` of the model that it has loaded
SGLANG = (
    CHECK
    + """
from engine.models.llama import Model


class Runner:
    def __init__(self, model, backend):
        self.model = model
        self.model.forward = torch.compile(torch.no_grad()(model.forward), fullgraph=True, dynamic=False, **backend)

    def run(self, *batch):
        return self.model.forward(*batch)


backend = {"backend": sys.argv[1]} if sys.argv[1] != "inductor" else {"mode": "max-autotune-no-cudagraphs"}
model = Model().eval()
x, mask = inputs()
with torch.no_grad():
    eager = Model.forward(model, x, mask)
print(digest(eager))
if sys.argv[1] != "none":
    runner = Runner(model, backend)
    same = torch.allclose if sys.argv[1] == "inductor" else torch.equal
    print(same(runner.run(x, mask), eager))
"""
)


@pytest.fixture
def engine(write: Write) -> None:
    for name in ("engine/__init__.py", "engine/models/__init__.py", "engine/compilation/__init__.py"):
        write(name, "")
    write("engine/compilation/decorators.py", DECORATORS)
    write("engine/models/llama.py", MODEL.format(imports="", decorator=""))
    write("serve.py", SGLANG)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_vllm(run: Run, write: Write, engine: None, backend: str) -> None:
    imports = "\nfrom engine.compilation.decorators import support_torch_compile\n"
    write("engine/models/llama.py", MODEL.format(imports=imports, decorator="@support_torch_compile\n"))
    write("serve.py", VLLM)
    plain = run("serve.py", "none", mended=False)
    assert plain.code == 0, plain
    failing = run("serve.py", backend, mended=False)
    assert failing.code == 1
    assert "Unsupported" in failing.err
    mended = run("--mend", "engine", "serve.py", backend)
    assert mended.code == 0, mended
    assert mended.out.splitlines().count("True") == 2
    assert [line for line in mended.out.splitlines() if line != "True"] == plain.out.splitlines()


def test_sglang(run: Run, engine: None) -> None:
    plain = run("serve.py", "none", mended=False)
    failing = run("serve.py", "eager", mended=False)
    assert failing.code == 1
    assert "Unsupported" in failing.err
    mended = run("--mend", "engine", "--report", "serve.py", "eager")
    assert mended.code == 0, mended
    assert mended.out == plain.out + "True\n"
    assert "mended 3 findings in 1 file, 0 left" in mended.err


def test_a_launch_script_that_installs_the_hook_itself(run: Run, write: Write, engine: None) -> None:
    write("launch.py", "from graphmend_lsp import hook\n\nhook.install('engine')\nimport runpy\n\n"
          "runpy.run_path('serve.py', run_name='__main__')\n")  # fmt: skip
    result = run("launch.py", "aot_eager", mended=False)
    assert result.code == 0, result
    assert result.out.endswith("True\n")


def test_inductor(run: Run, engine: None) -> None:
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        pytest.skip("no C++ compiler")
    result = run("--mend", "engine", "serve.py", "inductor")
    if "Python.h" in result.err:
        pytest.skip("no headers of Python")
    assert result.code == 0, result
    assert result.out.endswith("True\n")
