"""What the command measures, and how it says it."""

from __future__ import annotations

import shutil

import pytest

NET = "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n"
ONES = "\n\ndef example_inputs():\n    return torch.ones(3)\n"


def test_both_arms_are_counted(profile, model):
    ran = profile("model.py::Net")
    assert ran.code == 0, ran.err
    report = ran.report
    original, mended = report["original"], report["mended"]
    assert (len(original["graphs"]), original["events"], len(mended["graphs"]), mended["events"]) == (3, 3, 1, 0)
    assert [(s["line"], s["function"]) for s in original["sites"]] == [(11, "Block.forward"), (22, "Net.forward")]
    assert mended["sites"] == []
    assert report["inputs"] == "example_inputs()" and report["training"] is False
    assert report["same_inputs"] is True and report["same_result"] is True
    assert [row["code"] for row in report["applied"]] == ["GM101", "GM201"]
    assert {row["status"] for row in report["findings"]} == {"confirmed"}
    assert report["device"] == "cpu" and report["device_name"] and report["torch"].startswith("2.")
    assert not (model.parent / "_graphmend.py").exists() and "graph_effect" not in model.read_text()


def test_lines_of_graphs_are_those_of_the_original(profile, model):
    report = profile("model.py::Net").report
    for arm in ("original", "mended"):
        lines = {line for graph in report[arm]["graphs"] for line in graph["lines"][str(model)]}
        assert {13, 22} <= lines or {13, 23} <= lines
        assert max(lines) <= 23
        assert all(set(graph["lines"]) == {str(model)} for graph in report[arm]["graphs"])


def test_times(profile, model):
    ran = profile("model.py::Net", "--backend", "aot_eager", timing=True)
    assert ran.code == 0, ran.err
    for arm in (ran.report["original"], ran.report["mended"]):
        assert arm["cold"] > arm["compiled"]["median"] > 0
        assert arm["to_steady"] >= arm["cold"] * 0.99
        assert arm["compiled"]["low"] <= arm["compiled"]["median"] <= arm["compiled"]["high"]
        assert arm["compiled"]["runs"] >= 7 and arm["eager"]["runs"] >= 7
        assert arm["peak_memory"] > 1 << 20 and arm["launches"] is None and arm["untimed"] == ""
    assert ran.report["cold_ratio"] > 0 and ran.report["steady_ratio"] > 0


@pytest.mark.skipif(shutil.which("c++") is None and shutil.which("g++") is None, reason="no C++ compiler")
def test_inductor(profile, model):
    ran = profile("model.py::Block", "--no-compare", timing=True)
    assert ran.code == 0, ran.err
    assert ran.report["original"]["compiled"]["runs"] >= 7 and ran.report["backend"] == "inductor"
    assert ran.report["mended"] is None


def test_without_a_compiler_graphs_are_counted(profile, model):
    ran = profile("model.py::Net", "--no-compare", timing=True, env={"CXX": "no-such-compiler", "PATH": "/nowhere"})
    assert ran.code == 0, ran.err
    original = ran.report["original"]
    assert len(original["graphs"]) == 3 and original["compiled"] is None
    assert "C++ compiler" in original["untimed"]


def test_training_has_a_backward_pass(profile, tmp_path):
    text = NET + "        assert torch.is_grad_enabled() and self.training\n        return x * self.w\n"
    text = text.replace("def forward", "def __init__(self):\n        super().__init__()\n"
                        "        self.w = nn.Parameter(torch.ones(3))\n\n    def forward")  # fmt: skip
    (tmp_path / "m.py").write_text(text + ONES)
    ran = profile("m.py::Net", "--training", "--backend", "aot_eager", timing=True)
    assert ran.code == 0, ran.out
    assert ran.report["training"] is True and ran.report["original"]["compiled"]["runs"] >= 7


def test_functions_methods_and_compiled_functions(profile, tmp_path):
    (tmp_path / "f.py").write_text(
        "import torch\n\n\n@torch.compile(fullgraph=True)\ndef double(x):\n    if x.sum() > 0:\n        x = x + 1\n"
        "    return x * 2\n\n\nclass Thing:\n    def scaled(self, x):\n        print(x.mean())\n        return x * 3\n"
        + ONES
    )
    for entry, graphs in (("double", 2), ("Thing.scaled", 2)):
        ran = profile(f"f.py::{entry}")
        assert ran.code == 0, ran.out + ran.err
        assert len(ran.report["original"]["graphs"]) == graphs and len(ran.report["mended"]["graphs"]) == 1
        assert ran.report["training"] is None


def test_what_the_code_prints_is_kept_apart(profile, model):
    ran = profile("model.py::Net", "--no-compare")
    assert [line for line in ran.report["output"] if line.startswith("mean tensor(")]
    assert "mean" not in ran.err


def test_recompiles(profile, tmp_path):
    (tmp_path / "m.py").write_text(
        NET + "        return x + 1\n\n\ndef example_inputs():\n    return [(torch.ones(3),), (torch.ones(3, 3),)]\n"
    )
    (row,) = profile("m.py::Net").report["original"]["recompiles"]
    assert (row["function"], row["line"]) == ("forward", 6) and "rank mismatch" in row["reason"]


def test_state_of_the_first_run_does_not_reach_the_second(profile, tmp_path):
    """Counting warns once; the times are of code that has not warned yet."""
    (tmp_path / "m.py").write_text(
        "import torch\nSEEN = []\n\n\ndef f(x):\n    if not SEEN:\n        SEEN.append(1)\n        print(x.sum())\n"
        "    return x + len(SEEN)\n" + ONES
    )
    report = profile("m.py::f").report
    assert report["original"]["events"] == 1 and report["same_result"] is True


def test_inputs_are_configured(profile, model, tmp_path):
    model.write_text(model.read_text().split("\n\ndef example_inputs")[0] + "\n")
    (tmp_path / "inputs.py").write_text("import torch\n\n\ndef small():\n    return torch.ones(2, 4)\n")
    (tmp_path / "pyproject.toml").write_text('[tool.graphmend]\ninputs = {"model.py::Net" = "inputs.py::small"}\n')
    report = profile("model.py::Net").report
    assert report["inputs"] == "small() of inputs.py" and len(report["original"]["graphs"]) == 3


def test_inputs_are_made_up_last(profile, model):
    model.write_text(model.read_text().split("\n\ndef example_inputs")[0] + "\n")
    ran = profile("model.py::Net")
    assert ran.code == 0, ran.out
    assert ran.report["inputs"].startswith("made up") and len(ran.report["original"]["graphs"]) == 3


def test_text_and_page(profile, model, tmp_path):
    ran = profile("model.py::Net", "--html", "out.html", text=True)
    assert ran.code == 0, ran.err
    first = ran.out.splitlines()[0]
    assert first.startswith("model.py::Net: 3 graphs, 3 breaks -> mended: 1 graph")
    assert "model.py:11 in Block.forward" in ran.out and "found by GM101" in ran.out
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "if x.sum() &gt; 0:" in page and "<table" in page


@pytest.mark.parametrize(("limit", "code"), [("2", 0), ("1", 1), ("0", 1)])
def test_fail_on_breaks(profile, model, limit, code):
    assert profile("model.py::Net", "--no-compare", "--fail-on-breaks", limit).code == code


def test_mend_reaches_other_files_of_the_project(profile, model, tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "helper.py").write_text("def shout(x):\n    print('big', x.max())\n    return x\n")
    text = model.read_text().replace("from torch import nn\n", "from torch import nn\n\nfrom helper import shout\n")
    model.write_text(text.replace('print("mean", x.mean())', "x = shout(x)"))
    report = profile("model.py::Net").report
    assert {row["path"].rpartition("/")[2] for row in report["applied"]} == {"model.py", "helper.py"}
    assert len(report["mended"]["graphs"]) == 1
    alone = profile("model.py::Net", "--mend", "model.py").report
    assert len(alone["mended"]["graphs"]) == 2


def test_unsafe_fixes_only_when_asked(profile, tmp_path):
    (tmp_path / "m.py").write_text(NET + '        assert (x > -5).all(), "low"\n        return x * 2\n' + ONES)
    report = profile("m.py::Net").report
    assert all(row["safety"] == "safe" for row in report["applied"])
