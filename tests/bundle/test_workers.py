"""The processes that run the user's code, started by the bundled server: they see what the user's Python would see."""

from __future__ import annotations

import json
import sys

import pytest

MODEL = """\
import json, os, subprocess, sys
import torch
from torch import nn
import on_the_users_path


class Net(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        return x + 1


def example_inputs():
    return (torch.ones(3),)


def _seen():
    files = {m.__name__: getattr(m, "__file__", None) for m in list(sys.modules.values())}
    child = subprocess.run([sys.executable, "-c", "import sys; print(sys.path)"], capture_output=True, text=True)
    return {"path": sys.path, "files": files, "variables": dict(os.environ), "child": child.stdout}


with open(os.environ["SEEN_FOLDER"] + f"/{os.getpid()}.json", "w") as file:
    json.dump(_seen(), file)
"""


@pytest.fixture
def opened(start, bundled, tmp_path):
    """A session on the model; the interpreter of the workers is the server's own, the worst case."""
    users, seen, project = (tmp_path / name for name in ("users", "seen", "project"))
    for folder in (users, seen, project):
        folder.mkdir()
    (users / "on_the_users_path.py").write_text("")
    (project / "pyproject.toml").write_text("")
    model = project / "model.py"
    model.write_text(MODEL)
    variables = {"PYTHONPATH": str(users), "SEEN_FOLDER": str(seen)}
    editor = start(sys.executable, bundled, variables=variables, folder=project)
    editor.begin(python=sys.executable)
    (diagnostic,) = editor.open(model)
    return editor, model, diagnostic, seen


def _check(seen, bundled, users, processes):
    found = [json.loads(path.read_text()) for path in seen.iterdir()]
    assert len(found) == processes
    ours = str(bundled.parent)
    for process in found:
        assert str(users) in process["path"] and str(users) in process["child"]
        assert process["variables"]["PYTHONPATH"] == str(users)
        assert not [entry for entry in process["path"] if entry.startswith(ours)]
        assert ours not in process["child"]
        assert not [name for name, value in process["variables"].items() if ours in value]
        loaded = {name for name, file in process["files"].items() if file and file.startswith(ours)}
        assert all(name == "__main__" or name.startswith("_graphmend_worker") for name in loaded), loaded
        assert process["files"].get("__main__", "").startswith(ours)  # it is the bundled worker that was seen


def test_verify(opened, bundled, tmp_path):
    editor, model, diagnostic, seen = opened
    (verify,) = [action for action in editor.fixes(model, diagnostic) if "Verify" in action["title"]]
    report = editor.command(verify["command"]["command"], *verify["command"]["arguments"])
    assert [entry["verdict"] for entry in report["entries"]] == ["same"]
    _check(seen, bundled, tmp_path / "users", 2)


def test_profile_and_its_mended_arm(opened, bundled, tmp_path):
    editor, model, _, seen = opened
    options = {"uri": model.as_uri(), "entry": "Net", "device": "cpu", "timing": False}
    report = editor.command("graphmend.profile", options)
    assert report["original"]["graphs"] and report["mended"]["graphs"], report
    _check(seen, bundled, tmp_path / "users", 2)
