""" "Verify this fix": the code runs in worker processes, and the editor hears the verdict."""

from __future__ import annotations

import time

import pytest

from tests.support.processes import noted, noting, wait_for_the_end

MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        return x + 1


def example_inputs():
    return (torch.ones(3),)
"""
SLEEPY = MODEL.replace("return x + 1", "__import__('time').sleep(120)\n        return x + 1")
PROGRESS = {"window": {"workDoneProgress": True}}


def _open(start, everything, tmp_path, text=MODEL, **options):
    (tmp_path / "pyproject.toml").write_text("")
    model = tmp_path / "model.py"
    model.write_text("disk = 'older than the buffer'\n")
    wire = start()
    wire.initialize({**everything, **PROGRESS}, rootUri=tmp_path.as_uri(), initializationOptions=options)
    wire.open(model.as_uri(), text)
    assert wire.diagnostics(model.as_uri(), 1)
    return wire, model.as_uri()


def _command(wire, uri, line=6, character=12):
    (action,) = [a for a in wire.actions(uri, line, character, only=["quickfix"]) if "Verify" in a["title"]]
    return action["command"]


def _execute(wire, command):
    """Send the command and accept the progress that the server creates; the request's id and the token."""
    number = wire.begin_command(command["command"], *command["arguments"])
    return number, wire.answer("window/workDoneProgress/create", 60)["token"]


def test_the_buffer_is_verified_and_told(start, everything, tmp_path):
    wire, uri = _open(start, everything, tmp_path)
    command = _command(wire, uri)
    number, token = _execute(wire, command)

    report = wire.reply(number, 300)
    (entry,) = report["entries"]
    assert entry["verdict"] == "same" and entry["before"]["events"] == 1 and entry["after"]["events"] == 0
    shown = wire.seen("window/showMessage")
    assert any("Net: same" in m["message"] and "graphs 2 -> 1" in m["message"] for m in shown)
    kinds = [p["value"]["kind"] for p in wire.seen("$/progress") if p["token"] == token]
    assert kinds[0] == "begin" and kinds[-1] == "end" and "report" in kinds
    assert (tmp_path / "model.py").read_text().startswith("disk")


def test_cancelled(start, everything, tmp_path):
    wire, uri = _open(start, everything, tmp_path, SLEEPY)
    command = _command(wire, uri)
    number, token = _execute(wire, command)
    time.sleep(1)
    wire.notify("window/workDoneProgress/cancel", {"token": token})
    report = wire.reply(number, 300)
    assert report["entries"][0]["reason"] == "cancelled"


def test_a_cancelled_request_stops_the_work(start, everything, tmp_path, response_error):
    wire, uri = _open(start, everything, tmp_path, noting(tmp_path, SLEEPY))
    number, _ = _execute(wire, _command(wire, uri, 8))
    deadline = time.monotonic() + 60
    pids = noted(tmp_path, deadline)
    wire.notify("$/cancelRequest", {"id": number})
    with pytest.raises(response_error):
        wire.reply(number, 60)
    wait_for_the_end(pids, deadline)
    wire.request("shutdown")
    wire.notify("exit")
    assert wire.wait() == 0


@pytest.mark.parametrize("how", ["killed", "left"])
def test_processes_end_with_the_server(start, everything, tmp_path, how):
    wire, uri = _open(start, everything, tmp_path, noting(tmp_path, SLEEPY))
    _execute(wire, _command(wire, uri, 8))
    deadline = time.monotonic() + 60
    pids = noted(tmp_path, deadline)
    if how == "killed":
        wire.process.kill()
    else:
        assert wire.end() == 1
    wait_for_the_end(pids, deadline)


def test_an_interpreter_that_is_not_there(start, everything, tmp_path):
    wire, uri = _open(start, everything, tmp_path, python="nowhere/python")
    command = _command(wire, uri)
    assert wire.command(command["command"], *command["arguments"]) is None
    assert any("nowhere/python" in m["message"] for m in wire.seen("window/showMessage"))
