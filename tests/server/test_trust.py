"""Whether the user's code may be run is looked at when it is started, not only when that was asked for."""

from __future__ import annotations

import sys
import time

import pytest

MODEL = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
CHANGED = "workspace/didChangeConfiguration"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the interpreter is a shell script")


@pytest.fixture
def sleeper(tmp_path):
    """An interpreter that never answers, and the file in which it notes its starts."""
    script, starts = tmp_path / "sleeper", tmp_path / "starts"
    script.write_text(f"#!/bin/sh\necho $$ >> '{starts}'\nexec sleep 300\n")
    script.chmod(0o755)
    starts.write_text("")
    return script, starts


@pytest.fixture
def session(editor, cache, tmp_path, sleeper):
    """Opens the model for a client, whose configuration is returned to be changed."""

    def begin(name):
        (tmp_path / "pyproject.toml").write_text("")
        ours = {"python": str(sleeper[0])}
        said = {"": ours}
        wire = editor(name, False, folders=(tmp_path,), configuration=said, initializationOptions=ours)
        uri = (tmp_path / "model.py").as_uri()
        wire.open(uri, MODEL)
        return wire, uri, said

    return begin


def _starts(path, more_than=0):
    deadline = time.monotonic() + 60
    while len(found := path.read_text().split()) <= more_than and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def _say(wire, said, options):
    """The configuration is another one now: the client is asked, or has sent it."""
    said[""] = options
    wire.notify(CHANGED, {"settings": {"graphmend": options}})


@pytest.mark.parametrize("name", ["vscode", "minimal"])
def test_lost_while_it_waits_for_its_turn(session, sleeper, name):
    wire, uri, said = session(name)
    quick = {"uri": uri, "entry": "Net", "device": "cpu", "compare": False, "timing": False}
    first = wire.begin_command("graphmend.profile", quick)
    before = _starts(sleeper[1])
    second = wire.begin_command("graphmend.profile", quick)
    wire.command("graphmend.printDebugInformation")  # it waits now
    _say(wire, said, {"trusted": False})
    assert wire.reply(first)["failure"]["kind"] == "cancelled"  # nor does what runs go on
    assert wire.reply(second) is None
    assert "not trusted" in wire.wait_for("window/showMessage")["message"]
    assert _starts(sleeper[1]) == before


def test_what_is_asked_in_the_middle_of_a_change_waits_for_it(session, sleeper):
    wire, uri, said = session("vscode")
    wire.pull(uri)
    answer = wire.answers.pop("workspace/configuration")
    wire.notifications.clear()
    _say(wire, said, {"trusted": False})
    number = wire.begin_command("graphmend.profile", {"uri": uri, "entry": "Net"})
    time.sleep(0.5)
    assert number not in wire.replies
    wire.answers["workspace/configuration"] = answer
    wire.answer("workspace/configuration", result=[{"trusted": False}, None])
    assert wire.reply(number) is None
    assert "not trusted" in wire.wait_for("window/showMessage")["message"]
    assert not sleeper[1].read_text()


def test_an_editor_that_does_not_say_any_more(session, sleeper):
    wire, uri, said = session("vscode")
    wire.pull(uri)
    del wire.answers["workspace/configuration"]
    _say(wire, said, {"trusted": False})
    assert wire.command("graphmend.profile", {"uri": uri, "entry": "Net"}) is None
    assert "has not answered" in wire.wait_for("window/showMessage")["message"]
    assert not sleeper[1].read_text()
