"""``graphmend verify`` as a user runs it: real processes, real torch."""

from __future__ import annotations

import sys

import pytest

INPUTS = "def example_inputs():\n    return torch.ones(3)\n"
NET = "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n"


def test_a_mended_model_does_what_it_did(verify, model):
    ran = verify("model.py", backend="aot_eager")
    assert ran.code == 0, ran.out
    assert ran.entry["entry"] == "Net" and ran.entry["verdict"] == "same"
    assert ran.entry["runs"]["eager"] > 8 and ran.entry["runs"]["aot_eager"] > 6
    assert ran.entry["before"]["events"] == 2 and ran.entry["after"]["events"] == 0
    assert (ran.entry["before"]["graphs"], ran.entry["after"]["graphs"]) == (3, 1)
    assert {site["line"] for site in map(_site, ran.entry["before"]["sites"])} >= {22, 24}
    assert [row["code"] for row in ran.file["applied"]] == ["GM101", "GM201"]
    assert {row["entry"] for row in ran.file["left_out"]} == {"Block"}
    assert not (model.parent / "_graphmend.py").exists() and "graph_effect" not in model.read_text()


def _site(row):
    return row if isinstance(row, dict) else dict(zip(("path", "line", "reason", "gb"), row, strict=True))


def test_inductor(verify, model):
    ran = verify("model.py::Net", backend="inductor")
    assert ran.code == 0, ran.out
    assert ran.entry["verdict"] == "same" and ran.entry["runs"]["inductor"] >= 3


def test_what_the_code_compiles_itself_runs_eagerly(verify, tmp_path):
    (tmp_path / "net.py").write_text(
        NET + "    def __init__(self):\n        super().__init__()\n        self.fast = torch.compile(self.slow)\n\n"
        "    @torch.compile(fullgraph=False)\n    def slow(self, x):\n"
        "        assert not torch.compiler.is_compiling() or COMPILED\n        print(x.max())\n        return x + 1\n\n"
        "    def forward(self, x):\n        return self.fast(x)\n\n\nCOMPILED = False\n\n\n" + INPUTS
    )
    ran = verify("net.py::Net")
    assert ran.entry["verdict"] == "same" and not ran.entry["not_compared"]


def test_what_is_said_once_a_process(verify, tmp_path):
    (tmp_path / "net.py").write_text(
        NET + "    def forward(self, x):\n        once(int(x.dim()))\n        if x.sum() > 0:\n            x = x * 2\n"
        "        return x\n\n\nimport functools\n\n\n@functools.lru_cache\ndef once(n):\n    print('once', n)\n\n\n"
        + INPUTS
    )
    ran = verify("net.py")
    assert ran.entry["verdict"] == "same" and ran.entry["entry"] == "Net"


STEP = """
import torch

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
steps = []


@torch.compile
def step(x):
    optimizer.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    optimizer.step()
    steps.append(loss.item())
    return loss.detach()


def example_inputs():
    return torch.ones(2, 3)
"""


def test_a_step_with_a_model_of_the_file(verify, tmp_path):
    (tmp_path / "a.py").write_text(STEP)
    (tmp_path / "same.py").write_text(STEP.replace("net(x).square().mean()", "torch.mean(net(x) ** 2)"))
    assert verify("a.py::step", "--against", "same.py").entry["verdict"] == "same"
    for lost in ("    steps.append(loss.item())\n", "    optimizer.zero_grad()\n"):
        (tmp_path / "other.py").write_text(STEP.replace(lost, ""))
        assert verify("a.py::step", "--against", "other.py").entry["verdict"] == "different", lost


def test_a_counter_that_several_entries_count(verify, tmp_path):
    net = "    def forward(self, x):\n        global COUNT\n        COUNT += 1\n        print(COUNT)\n"
    net += "        return x\n\n\n"
    text = NET + net + "class Other(nn.Module):\n" + net + "COUNT = 0\n\n\n" + INPUTS
    (tmp_path / "net.py").write_text(text)
    ran = verify("net.py")
    assert [entry["verdict"] for entry in ran.file["entries"]] == ["same", "same"]
    (tmp_path / "other.py").write_text(text.replace("COUNT += 1\n        print(COUNT)", "print(COUNT + 1)", 1))
    ran = verify("net.py::Net", "--against", "other.py")
    assert ran.entry["verdict"] == "different", ran.entry


def test_a_backend_that_compares_nothing(verify, model):
    ran = verify("model.py::Net", backend="frobnicate")
    assert ran.code == 2 and ran.entry["reason"].startswith("nothing could be compared under frobnicate: ")
    assert verify("model.py::Net", "--calls", "0").code == 2


def test_a_rewrite_without_inputs_of_its_own(verify, model):
    other = model.parent / "other.py"
    text = model.read_text()
    other.write_text(text[: text.index("def example_inputs")].replace("x * 2", "x + x"))
    ran = verify("model.py::Net", "--against", "other.py")
    assert (ran.code, ran.entry["inputs"]) == (0, "example_inputs()")


def test_mistakes_in_the_configuration_are_told(verify, model):
    (model.parent / "pyproject.toml").write_text("[tool.graphmend]\ninputs = [1]\n")
    assert "inputs must be a table" in verify("model.py::Net").err


def test_cond_keeps_its_gradients(verify, tmp_path):
    text = NET + "    def forward(self, x):\n        return x * 2 if x.sum() > 0 else x * 3\n\n\n" + INPUTS
    (tmp_path / "a.py").write_text(text)
    cond = "torch.cond(x.sum() > 0, lambda: x * 2, lambda: x * 3)"
    (tmp_path / "b.py").write_text(text.replace("x * 2 if x.sum() > 0 else x * 3", cond))
    assert verify("a.py::Net", "--against", "b.py").entry["verdict"] == "same"


def test_text_for_people(verify, model):
    ran = verify("model.py::Net", full=True)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].startswith("model.py::Net: same: mended it does what it did, in ")
    assert lines[1] == "  graphs 3 -> 1, break events 2 -> 0, break sites 2 -> 0"
    assert lines[2].startswith("  inputs: example_inputs(), varied")
    assert any(line.startswith("  applied: model.py:22 GM101 ") for line in lines)


def test_a_file_that_does_something_else(verify, model):
    other = model.parent / "other.py"
    other.write_text(model.read_text().replace("return self.block(x)", "return self.block(x) + 1e-6"))
    ran = verify("model.py::Net", "--against", "other.py")
    assert ran.code == 1 and ran.entry["verdict"] == "different"
    assert {row["part"] for row in ran.entry["differences"]} == {"outputs"}
    assert ran.entry["differences"][0]["message"].startswith("output of call 1 differs in ")
    assert verify("model.py::Net", "--against", "model.py").entry["verdict"] == "unchanged"


def test_a_difference_that_only_varied_inputs_show(verify, tmp_path):
    text = "import torch\n\n\ndef f(x):\n    return torch.clamp(x, min=-3)\n\n\n" + INPUTS
    (tmp_path / "a.py").write_text(text)
    (tmp_path / "b.py").write_text(text.replace("torch.clamp(x, min=-3)", "torch.where(x > -3, x, -3.0)"))
    ran = verify("a.py::f", "--against", "b.py")
    assert ran.code == 1
    assert {row["label"] for row in ran.entry["differences"]} == {"the inputs, with a NaN", "the inputs, int64"}


def test_the_mended_file_fails(verify, model):
    other = model.parent / "other.py"
    other.write_text(model.read_text().replace("import torch\n", "import torch\nimport not_there\n", 1))
    ran = verify("model.py::Net", "--against", "other.py")
    assert ran.code == 1
    assert "No module named 'not_there' (model.py:2)" in ran.entry["differences"][0]["message"]


def test_inputs_from_elsewhere(verify, tmp_path):
    (tmp_path / "net.py").write_text(
        "from torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n"
        "        self.lin = nn.Linear(width, 2)\n\n    def forward(self, x, *, scale):\n        print(scale)\n"
        "        return self.lin(x) * scale\n"
    )
    (tmp_path / "ins.py").write_text(
        "import torch\n\n\ndef two():\n    return [{'x': torch.ones(1, 3), 'scale': s} for s in (1, 2.5)]\n\n\n"
        "def width():\n    return (3,)\n"
    )
    ran = verify("net.py::Net", "--inputs", "ins.py::two", "--init", "ins.py::width")
    assert ran.code == 0 and ran.entry["inputs"] == "two() of ins.py"
    (tmp_path / "pyproject.toml").write_text(
        '[tool.graphmend]\ninputs = { "net.py::Net" = "ins.py::two" }\ninit-inputs = { "net.py" = "ins.py::width" }\n'
    )
    assert verify("net.py::Net").entry["verdict"] == "same"


def test_dtype_and_device(verify, tmp_path):
    text = NET + "    def __init__(self):\n        super().__init__()\n        self.lin = nn.Linear(3, 3)\n\n"
    text += "    def forward(self, x):\n        print(self.lin.weight.dtype, x.dtype, x.device)\n        return x\n\n\n"
    (tmp_path / "a.py").write_text(text + INPUTS)
    (tmp_path / "b.py").write_text(text.replace("print(", "print('now', ") + INPUTS)
    ran = verify("a.py::Net", "--against", "b.py", "--dtype", "bfloat16", "--device", "meta")
    assert "torch.bfloat16 torch.bfloat16 meta" in ran.entry["differences"][0]["message"]
    assert "--dtype must be one of" in verify("a.py::Net", "--dtype", "int9").err
    away = verify("a.py::Net", "--device", "nowhere")
    assert away.code == 2 and "nowhere" in away.entry["reason"]


def test_a_mend_in_two_files_of_a_package(verify, tmp_path):
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "ops.py").write_text("def note(x):\n    print('max', x.max())\n    return x + 1\n")
    (package / "net.py").write_text(
        "from .ops import note\n" + NET + "    def forward(self, x):\n"
        "        if x.sum() > 0:\n            x = -x\n        return note(x)\n\n\n" + INPUTS
    )
    ran = verify("pkg/net.py", "--mend", "pkg/ops.py")
    assert ran.code == 0, ran.out
    assert ran.entry["verdict"] == "same" and ran.entry["after"]["events"] == 0
    assert not (package / "_graphmend.py").exists()


# -- what cannot be verified --------------------------------------------------------------------------


def test_nothing_to_mend(verify, tmp_path):
    (tmp_path / "calm.py").write_text(NET + "    def forward(self, x):\n        return x\n")
    ran = verify("calm.py::Net")
    assert (ran.code, ran.entry["verdict"], ran.entry["reason"]) == (0, "unchanged", "there is nothing to mend")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("def example_inputs", "def other_inputs", "no inputs: write a function example_inputs()"),
        ("    return (torch.randn(3, 4),)", "    raise OSError('no data')", "example_inputs() raised OSError: no data"),
        ("(torch.randn(3, 4),)", "((n for n in ()),)", "the arguments cannot be copied: TypeError"),
        ("(torch.randn(3, 4),)", "(torch.randn(3, 4), 1, 2)", "the arguments of example_inputs() do not fit Net"),
        ("self.calls = 0", "self.calls = 1 / 0", "building Net raised ZeroDivisionError"),
        ("import torch\n", "import torch\nimport not_there\n", "importing model.py raised ModuleNotFoundError"),
        ("import torch\n", "import os\nos._exit(7)\n", "ended with exit status 7"),
        ("import torch\n", "import sys\nsys.exit(3)\n", "importing model.py raised SystemExit: 3"),
        ("self.calls += 1", "import os; os._exit(0)", "the code ended its process"),
    ],
)
def test_what_the_code_lacks(verify, model, old, new, reason):
    model.write_text(model.read_text().replace(old, new, 1))
    ran = verify("model.py::Net")
    assert ran.code == 2
    assert ran.entry["verdict"] == "inconclusive" and reason in ran.entry["reason"]


def test_no_such_entry_file_or_interpreter(verify, model):
    assert "model has no Nett" in verify("model.py::Nett").entry["reason"]
    missing = verify("none.py")
    assert missing.code == 2 and "none.py" in missing.err
    assert "no Python interpreter nowhere/python" in verify("model.py", "--python", "nowhere/python").err
    broken = model.parent / "broken.py"
    broken.write_text("def f(:\n")
    assert "broken.py:1" in verify("broken.py").err


def test_an_interpreter_without_torch(verify, model):
    fake = model.parent / "fake-python"
    fake.write_text(f"#!/bin/sh\nexec '{sys.executable}' -S \"$@\"\n")
    fake.chmod(0o755)
    ran = verify("model.py::Net", "--python", str(fake))
    assert ran.code == 2 and "cannot import torch" in ran.entry["reason"]


def test_time_out(verify, model):
    model.write_text(model.read_text().replace("self.calls += 1", "__import__('time').sleep(600)"))
    ran = verify("model.py::Net", "--timeout", "6")
    assert ran.code == 2 and "took more than 6 s" in ran.entry["reason"]


def test_a_model_that_does_not_do_the_same_twice(verify, model):
    text = model.read_text()
    model.write_text(text.replace('"mean", x.mean()', '"at", __import__("time").time_ns(), x.mean()'))
    ran = verify("model.py::Net")
    assert ran.code == 2 and "does not do the same twice" in ran.entry["reason"]


def test_what_the_code_prints_and_reads_stays_apart(verify, model):
    noisy = 'import os, sys\nprint("hello")\nos.write(1, b"raw")\nassert sys.stdin.read() == ""\n'
    model.write_text(noisy + model.read_text())
    assert verify("model.py::Net").entry["verdict"] == "same"


def test_unsafe_fixes_show_what_they_change(verify, tmp_path):
    (tmp_path / "guard.py").write_text(
        NET + "    n = 0\n\n    def forward(self, x):\n        self.n += 1\n        if (x < 0).any():\n"
        "            raise ValueError('negative')\n        return x.sqrt()\n\n\n" + INPUTS
    )
    assert verify("guard.py").entry["verdict"] == "unchanged"
    ran = verify("guard.py", "--unsafe", backend="aot_eager")
    assert ran.file["applied"][0]["safety"] == "unsafe" and ran.file["applied"][0]["changes"]
