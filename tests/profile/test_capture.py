"""The entry's first call in a program gives the live object and the real arguments."""

from __future__ import annotations

import pytest

SCRIPT = """\
import sys

import torch

from model import Net

torch.manual_seed(3)
net = torch.compile(Net()).eval()
print("arguments", sys.argv[1:])
with torch.no_grad():
    net(torch.ones(5, 4))
open("ran-on", "w").close()
"""


@pytest.fixture
def script(model, tmp_path):
    model.write_text(model.read_text().split("\n\ndef example_inputs")[0] + "\n")
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def test_a_module(profile, script):
    ran = profile("model.py::Net", "--capture", "python train.py --steps 1")
    assert ran.code == 0, ran.out + ran.err
    report = ran.report
    assert report["inputs"] == "captured from train.py" and report["training"] is False
    assert (len(report["original"]["graphs"]), len(report["mended"]["graphs"])) == (3, 1)
    assert report["same_inputs"] is True and report["same_result"] is True
    assert not (script.parent / "ran-on").exists()  # it was stopped


def test_a_part_of_it(profile, script):
    report = profile("model.py::Block", "--capture", "train.py").report
    assert len(report["original"]["graphs"]) == 2


@pytest.mark.parametrize("entry", ["helper", "Tool.use", "Tool.make", "outer"])
def test_functions_and_methods(profile, tmp_path, entry):
    (tmp_path / "lib.py").write_text(
        "import functools\nimport torch\n\n\n"
        "def shouted(f):\n    @functools.wraps(f)\n    def inner(*args, **kwargs):\n        return f(*args, **kwargs)\n"
        "    return inner\n\n\n"
        'def helper(x, /, y, *more, scale=1, **rest):\n    """Documented."""\n    print(x.sum(), len(more), rest)\n'
        "    return (x + y) * scale\n\n\n"
        "class Tool:\n    factor = 2\n\n"
        "    def use(self, x):\n        print(x.sum())\n        return x * self.factor\n\n"
        "    @classmethod\n    def make(cls, x):\n        print(x.sum())\n        return x * cls.factor\n\n\n"
        "@shouted\ndef outer(x):\n    print(x.sum())\n    return x\n"
    )
    (tmp_path / "go.py").write_text(
        "import torch\nimport lib\nfrom lib import helper, outer\nx = torch.ones(3)\n"
        "helper(x, 2, 3, 4, scale=5, other=6)\nlib.Tool().use(x)\nlib.Tool.make(x)\nouter(x)\n"
    )
    ran = profile(f"lib.py::{entry}", "--capture", "python go.py")
    assert ran.code == 0, ran.out + ran.err
    (site,) = ran.report["original"]["sites"]
    assert site["function"] == entry
    assert len(ran.report["mended"]["graphs"]) == 1


def test_an_entry_of_the_script_itself(profile, tmp_path):
    (tmp_path / "all.py").write_text(
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n"
        "        print(x.sum())\n        return x + 1\n\n\nNET = Net()\n\n\n"
        "def work(x):\n    print(x.max())\n    return NET(x)\n\n\n"
        'if __name__ == "__main__":\n    work(torch.ones(3))\n'
    )
    for entry in ("Net", "work"):
        ran = profile(f"all.py::{entry}", "--capture", "all.py")
        assert ran.code == 0, ran.out + ran.err
        assert len(ran.report["mended"]["graphs"]) == 1 < len(ran.report["original"]["graphs"])


def test_a_subclass_counts_as_the_class(profile, script):
    script.write_text(SCRIPT.replace("Net()", "Mine()").replace("\ntorch.m", "\nclass Mine(Net):\n    pass\n\ntorch.m"))
    assert profile("model.py::Net", "--capture", "train.py").code == 0


def test_a_file_loaded_by_path(profile, script):
    script.write_text(
        "import importlib.util\nimport torch\n"
        'spec = importlib.util.spec_from_file_location("remote", "model.py")\n'
        "module = importlib.util.module_from_spec(spec)\nimport sys\nsys.modules['remote'] = module\n"
        "spec.loader.exec_module(module)\nmodule.Net()(torch.ones(2, 4))\n"
    )
    report = profile("model.py::Net", "--capture", "train.py").report
    assert (len(report["original"]["graphs"]), len(report["mended"]["graphs"])) == (3, 1)


def test_a_pytest_node_and_a_module(profile, script, tmp_path):
    (tmp_path / "test_net.py").write_text(
        "import torch\nfrom model import Net\n\n\ndef test_other():\n    assert False\n\n\n"
        "def test_net():\n    assert Net()(torch.ones(1, 4)) is not None\n"
    )
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "__main__.py").write_text(SCRIPT)
    for command in ("pytest test_net.py::test_net", "python -m pytest -q test_net.py::test_net", "python -m pack"):
        ran = profile("model.py::Net", "--no-compare", "--capture", command)
        assert ran.code == 0, ran.out + ran.err


def test_contexts_of_the_call_hold(profile, script):
    script.write_text(SCRIPT.replace("torch.no_grad()", 'torch.autocast("cpu", dtype=torch.bfloat16)'))
    report = profile(
        "model.py::Block", "--no-compare", "--capture", "train.py", "--backend", "aot_eager", timing=True
    ).report
    assert report["original"]["compiled"]["runs"] >= 7


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("import model", "train.py ended without calling Net"),
        ("raise KeyError('lost')", "train.py raised KeyError: 'lost' (train.py:1) before it called Net"),
        ("import sys; sys.exit(3)", "exit status 3"),
    ],
)
def test_a_program_that_does_not_come_there(profile, script, line, said):
    script.write_text(line + "\n")
    ran = profile("model.py::Net", "--capture", "train.py")
    assert ran.code == 2 and ran.failure["kind"] == "not-reached" and said in ran.failure["message"]


@pytest.mark.parametrize("command", ["nothing.py", "python -c 'x'", "", "python"])
def test_what_is_no_program(profile, script, command):
    ran = profile("model.py::Net", "--capture", command or " ")
    assert ran.code == 2 and ran.out == "" and "error" in ran.err


def test_configured(profile, script, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.graphmend]\ncapture = {"model.py" = "python train.py"}\n')
    assert profile("model.py::Net").report["inputs"] == "captured from train.py"
