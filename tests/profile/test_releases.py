"""The same on another torch: ``GRAPHMEND_OTHER_PYTHON`` is an interpreter that has one (``make test-oldest-torch``)."""

from __future__ import annotations

import os

import pytest

OTHER = os.environ.get("GRAPHMEND_OTHER_PYTHON", "")

pytestmark = pytest.mark.skipif(not OTHER, reason="GRAPHMEND_OTHER_PYTHON is not set")


def test_both_arms_are_counted(profile, model):
    report = profile("model.py::Net", python=OTHER).report
    original, mended = report["original"], report["mended"]
    assert [(s["line"], s["function"]) for s in original["sites"]] == [(11, "Block.forward"), (22, "Net.forward")]
    assert all(site["reason"] and "from user code" not in site["reason"] for site in original["sites"])
    assert len(original["graphs"]) >= 3 and original["events"] >= 2 and original["guards"] > 0
    assert len(mended["graphs"]) == 1 and mended["sites"] == []
    assert report["same_inputs"] is True and report["same_result"] is True


def test_times(profile, model):
    ran = profile("model.py::Net", "--backend", "aot_eager", "--no-compare", timing=True, python=OTHER)
    assert ran.report["original"]["cold"] > ran.report["original"]["compiled"]["median"] > 0


def test_recompiles(profile, tmp_path):
    (tmp_path / "m.py").write_text(
        "import torch\n\n\ndef f(x):\n    return x + 1\n\n\n"
        "def example_inputs():\n    return [(torch.ones(3),), (torch.ones(3, 3),)]\n"
    )
    (row,) = profile("m.py::f", "--no-compare", python=OTHER).report["original"]["recompiles"]
    assert (row["function"], row["line"]) == ("f", 4)


def test_captured(profile, model, tmp_path):
    (tmp_path / "go.py").write_text("import torch\nfrom model import Net\nNet()(torch.ones(1, 4))\n")
    assert len(profile("model.py::Net", "--capture", "go.py", python=OTHER).report["mended"]["graphs"]) == 1


def test_made_up(profile, model):
    model.write_text(model.read_text().split("\n\ndef example_inputs")[0] + "\n")
    assert profile("model.py::Net", "--no-compare", python=OTHER).report["inputs"].startswith("made up")
