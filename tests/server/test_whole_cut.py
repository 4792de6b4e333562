"""A check of the whole workspace that is cut off in the middle: by the user, by the client's end, by its process's."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.support.processes import noted, runs, wait_for_the_end
from tests.support.robust import shared

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks into /proc, sends signals")
ALL = {"workspaceDiagnostics": "all"}
FOUND = "import torch\nsafe_break\n"


@pytest.fixture
def tree(tmp_path):
    """Ten files with findings; the sixth notes which process checks it."""
    (tmp_path / "pyproject.toml").write_text("")
    for number in range(10):
        (tmp_path / f"m{number}.py").write_text(FOUND)
    return tmp_path


def _cut(tree, word):
    """What the sixth file makes of the process that checks it."""
    (tree / "m5.py").write_text(f"import torch\nsafe_break {word}\npid to {tree / 'pids'}\n")


def _begin(editor, tree, name, fake=True):
    wire = editor(name, fake, folders=(tree,), configuration={tree.as_uri(): ALL})
    return wire, wire.begin_pull_all() if name == "vscode" else 0


def _all(wire, number, tree):
    """How many diagnostics there are in each file, however they come."""
    uris = [path.as_uri() for path in sorted(tree.glob("*.py"))]
    if number:
        found = {item["uri"]: item["items"] for item in wire.reply(number)["items"]}
        return [len(found[uri]) for uri in uris]
    return [len(wire.diagnostics(uri)) for uri in uris]


@pytest.mark.parametrize("name", ["neovim", "vscode"])
@pytest.mark.parametrize("how", ["exit", "only exit", "pipe", "killed"])
def test_the_client_ends(editor, tree, name, how):
    _cut(tree, "endless")
    wire, _ = _begin(editor, tree, name)
    (pid,) = noted(tree, time.monotonic() + 20)
    begun = time.monotonic()
    if how == "killed":
        wire.process.kill()
    elif how == "pipe":
        wire.end()
    else:
        if how == "exit":
            wire.request("shutdown")
        wire.notify("exit")
        assert wire.wait() == (0 if how == "exit" else 1)
        assert wire.errors == b""
    wait_for_the_end([pid, wire.process.pid], time.monotonic() + 20)
    assert time.monotonic() - begun < 15


@pytest.mark.parametrize("name", ["neovim", "vscode"])
def test_the_process_is_killed(editor, tree, name):
    """By the system, where memory is short: another one does its work, and the user hears nothing."""
    _cut(tree, "slow")
    wire, number = _begin(editor, tree, name)
    (pid,) = noted(tree, time.monotonic() + 20)
    os.kill(pid, signal.SIGKILL)
    assert _all(wire, number, tree) == [1] * 10
    assert len(set(noted(tree, time.monotonic()))) == 2
    assert wire.seen("window/showMessage") == []


def test_the_process_hangs(editor, tree):
    """Whoever waits for something else does not wait for it, nor does the end of the server."""
    _cut(tree, "slow")
    wire, _ = _begin(editor, tree, "vscode")
    (pid,) = noted(tree, time.monotonic() + 20)
    os.kill(pid, signal.SIGSTOP)
    uri = (tree / "other.py").as_uri()
    wire.open(uri, FOUND)
    assert len(wire.pull(uri)["items"]) == 1 and wire.hover(uri, 1, 2) is not None
    wire.request("shutdown")
    wire.notify("exit")
    assert wire.wait() == 0
    wait_for_the_end([pid], time.monotonic() + 20)


def test_cancelled_and_asked_again(editor, tree, response_error):
    _cut(tree, "slow")
    wire, number = _begin(editor, tree, "vscode")
    noted(tree, time.monotonic() + 20)
    wire.notify("$/cancelRequest", {"id": number})
    with pytest.raises(response_error) as caught:
        wire.reply(number)
    assert caught.value.code == -32800
    assert _all(wire, wire.begin_pull_all(), tree) == [1] * 10
    assert len(noted(tree, time.monotonic())) <= 2


def test_cancelled_in_the_progress_and_wanted_again(editor, tree):
    """With the real core.  What was not looked at comes with the next change."""
    for path in tree.glob("*.py"):
        path.unlink()
    work = tree / "work"
    shared.workspace(work, 12)
    paths = sorted(work.rglob("helper.py"), key=lambda path: path.parent.name)
    wire, _ = _begin(editor, tree, "neovim", False)
    token = wire.wait_for("$/progress", lambda p: p["value"]["kind"] == "begin")["token"]
    wire.notify("window/workDoneProgress/cancel", {"token": token})
    wire.wait_for("$/progress", lambda p: p["token"] == token and p["value"]["kind"] == "end")
    wire.command("graphmend.printDebugInformation")
    seen = [p["uri"] for p in wire.seen("textDocument/publishDiagnostics") if p["diagnostics"]]
    assert len(seen) < 24
    wire.notify("textDocument/didSave", {"textDocument": {"uri": paths[0].as_uri()}})
    missing = [path.as_uri() for path in paths if path.as_uri() not in seen]
    assert missing and all(len(wire.diagnostics(uri)) == 1 for uri in missing)
    assert wire.seen("window/showMessage") == []


def test_changes_that_come_faster_than_checks(editor, tree):
    """Each change replaces the check under way, and the last one counts."""
    _cut(tree, "slow")
    wire, _ = _begin(editor, tree, "neovim")
    for turn in range(12):
        (tree / "m9.py").write_text(FOUND + "safe_break\n" * turn)
        changes = [{"uri": (tree / f"m{number}.py").as_uri(), "type": 2} for number in range(10)]
        wire.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        time.sleep(0.1)
    wire.wait_for(
        "textDocument/publishDiagnostics", lambda p: p["uri"].endswith("m9.py") and len(p["diagnostics"]) == 12
    )
    (pid,) = set(noted(tree, time.monotonic()))
    assert runs(pid)  # one process for all of it
