"""All files of the workspace: pushed or pulled, with progress, cancellable, and never in the way of who waits."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.processes import runs, wait_for_the_end

REPOSITORY = Path(__file__).parents[2]
ALL = {"workspaceDiagnostics": "all"}
FOUND = "import torch\nsafe_break\n"


@pytest.fixture
def tree(tmp_path):
    """Two files with findings, one in a package; others that are left out."""
    (tmp_path / "pyproject.toml").write_text('[tool.graphmend]\nexclude = ["left_out/"]\n')
    for name in ("a.py", "pkg/b.py", "left_out/c.py", ".venv/d.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(FOUND)
    (tmp_path / "unrelated.py").write_text("safe_break\n")
    return tmp_path


def _published(wire, *paths):
    return {path: len(wire.diagnostics(path.as_uri())) for path in paths}


def _silent(wire, path, seconds=0.9):
    time.sleep(seconds)
    wire.command("graphmend.printDebugInformation")
    return [p for p in wire.seen("textDocument/publishDiagnostics") if p["uri"] == path.as_uri()] == []


def _events(wire):
    return [p["value"]["kind"] for p in wire.seen("$/progress")]


def _save(wire, path):
    wire.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})


def test_pushed(editor, tree):
    a, b = tree / "a.py", tree / "pkg" / "b.py"
    wire = editor("neovim", folders=(tree,), configuration={tree.as_uri(): ALL})
    assert _published(wire, a, b) == {a: 1, b: 1}
    assert all(_silent(wire, tree / name, 0) for name in ("left_out/c.py", ".venv/d.py", "unrelated.py"))
    assert _events(wire)[0] == "begin" and _events(wire)[-1] == "end"
    assert wire.seen("$/progress")[0]["value"]["cancellable"] is True
    b.unlink()
    a.write_text(FOUND + "safe_break\n")
    wire.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": b.as_uri(), "type": 3}]})
    assert _published(wire, a, b) == {a: 2, b: 0}
    # an open document is the client's, and the file's again when it is closed
    wire.open(a.as_uri(), "nothing\n")
    assert _published(wire, a) == {a: 0}
    wire.close(a.as_uri())
    wire.wait_for("textDocument/publishDiagnostics", lambda p: p["uri"] == a.as_uri() and len(p["diagnostics"]) == 2)


def test_only_what_has_changed_is_sent_again(editor, tree):
    a, b = tree / "a.py", tree / "pkg" / "b.py"
    wire = editor("minimal", folders=(tree,), initializationOptions=ALL)
    assert _published(wire, a, b) == {a: 1, b: 1}
    other = tree / "other.py"
    wire.open(other.as_uri(), FOUND)
    wire.diagnostics(other.as_uri())
    _save(wire, other)
    assert _silent(wire, a) and _silent(wire, b, 0)


def test_switched_on_and_off(editor, tree):
    a, b = tree / "a.py", tree / "pkg" / "b.py"
    said: dict[str, object] = {}
    wire = editor("neovim", folders=(tree,), configuration=said)
    assert _silent(wire, a)
    for value, count in (("all", 1), ("openFiles", 0)):
        said[tree.as_uri()] = {"workspaceDiagnostics": value}
        wire.notify("workspace/didChangeConfiguration", {"settings": None})
        assert _published(wire, a, b) == {a: count, b: count}
    wire.notify("workspace/didChangeConfiguration", {"settings": None})
    assert _silent(wire, a)


def test_pulled(editor, tree):
    a, b = (tree / "a.py").as_uri(), (tree / "pkg" / "b.py").as_uri()
    wire = editor("vscode", folders=(tree,), configuration={tree.as_uri(): ALL})
    wire.open(a, "import torch\n", 5)
    reports = wire.pull_all(workDoneToken="work")
    assert {u: (r["version"], len(r["items"])) for u, r in reports.items()} == {a: (5, 0), b: (None, 1)}
    work = [p["value"]["kind"] for p in wire.seen("$/progress") if p["token"] == "work"]
    assert work[0] == "begin" and work[-1] == "end"
    known = {u: r["resultId"] for u, r in reports.items()}
    assert {r["kind"] for r in wire.pull_all(known).values()} == {"unchanged"}
    assert wire.pull(b, known[b])["kind"] == "unchanged"
    assert len(wire.seen("$/progress")) == len(work)  # nothing was checked again
    (tree / "pkg" / "b.py").unlink()
    wire.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": b, "type": 3}]})
    deadline = time.monotonic() + 20
    while "items" not in (left := wire.pull_all(known)[b]) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left["items"] == []
    assert wire.seen("workspace/diagnostic/refresh")
    assert wire.seen("textDocument/publishDiagnostics") == []


def test_pulled_in_parts(editor, tree):
    for number in range(40):
        (tree / f"m{number:02}.py").write_text(FOUND)
    wire = editor("vscode", folders=(tree,), configuration={tree.as_uri(): ALL})
    assert wire.pull_all(partialResultToken="part") == {}
    parts = [p["value"]["items"] for p in wire.seen("$/progress") if p["token"] == "part"]
    assert len(parts) == 2 and sum(map(len, parts)) == 42


def test_who_waits_does_not_wait_for_it(editor, tree):
    (tree / "s.py").write_text("import torch\nendless safe_break\n")
    wire = editor("vscode", folders=(tree,), configuration={tree.as_uri(): ALL})
    other = (tree / "other.py").as_uri()
    wire.begin_pull_all()
    wire.wait_for("$/progress", lambda p: p["value"].get("message") == "s.py")
    wire.open(other, "safe_break\n")
    assert len(wire.pull(other)["items"]) == 1
    assert wire.hover(other, 0, 2) is not None
    wire.request("shutdown")
    wire.notify("exit")
    assert wire.wait() == 0


def test_no_process_for_open_files_only(editor, tree):
    (tree / "p.py").write_text(f"import torch\npid to {tree / 'pids'}\n")
    wire = editor("vscode", folders=(tree,))
    wire.pull_all()
    assert not (tree / "pids").exists()


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks into /proc")
@pytest.mark.parametrize("how", ["exit", "killed", "pipe", "switched off"])
def test_the_process_ends(editor, tree, how):
    (tree / "p.py").write_text(f"import torch\npid to {tree / 'pids'}\n")
    said: dict[str, object] = {tree.as_uri(): ALL}
    wire = editor("neovim", folders=(tree,), configuration=said)
    _published(wire, tree / "pkg" / "b.py")  # behind p.py
    (pid,) = map(int, (tree / "pids").read_text().split())
    assert pid != wire.process.pid and runs(pid)
    if how == "exit":
        wire.request("shutdown")
        wire.notify("exit")
        assert wire.wait() == 0
    elif how == "killed":
        wire.process.kill()
    elif how == "pipe":
        wire.end()
    else:
        said[tree.as_uri()] = {}
        wire.notify("workspace/didChangeConfiguration", {"settings": None})
    wait_for_the_end([pid], time.monotonic() + 20)
    if how == "switched off":  # and is there again when it is wanted
        assert _published(wire, tree / "pkg" / "b.py") == {tree / "pkg" / "b.py": 0}
        said[tree.as_uri()] = ALL
        wire.notify("workspace/didChangeConfiguration", {"settings": None})
        assert _published(wire, tree / "pkg" / "b.py") == {tree / "pkg" / "b.py": 1}


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks into /proc")
def test_a_file_that_ends_the_process(editor, tree):
    """As what makes Python itself crash: the others are checked all the same, and it is said once."""
    deadly = tree / "a0.py"
    deadly.write_text(f"import torch\ndeadly\npid to {tree / 'pids'}\n")
    wire = editor("neovim", folders=(tree,), configuration={tree.as_uri(): ALL})
    assert _published(wire, tree / "a.py", tree / "pkg" / "b.py") == {tree / "a.py": 1, tree / "pkg" / "b.py": 1}
    assert "exit status 3" in wire.wait_for("window/showMessage")["message"]
    (tree / "a.py").write_text(FOUND * 2)
    wire.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": (tree / "a.py").as_uri(), "type": 2}]})
    assert _published(wire, tree / "a.py") == {tree / "a.py": 2}
    assert len((tree / "pids").read_text().split()) == 2  # tried twice, and left alone as long as it stays the same
    deadly.write_text(FOUND)
    wire.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": deadly.as_uri(), "type": 2}]})
    assert _published(wire, deadly) == {deadly: 1}
    assert wire.seen("window/showMessage") == []


def test_without_a_process(editor, tree, monkeypatch):
    """Where none can be started, the server does the work."""
    monkeypatch.setenv("FAKE_SWEEPER", str(tree / "nowhere"))
    wire = editor("neovim", folders=(tree,), configuration={tree.as_uri(): ALL})
    assert _published(wire, tree / "a.py", tree / "pkg" / "b.py") == {tree / "a.py": 1, tree / "pkg" / "b.py": 1}
    (tree / "a.py").write_text(FOUND * 2)
    wire.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": (tree / "a.py").as_uri(), "type": 2}]})
    assert _published(wire, tree / "a.py") == {tree / "a.py": 2}
    assert len([m for m in wire.seen("window/logMessage") if "nowhere" in m["message"]]) == 1


@pytest.mark.parametrize("flags", [[], ["-I"], ["-I", "-S"]])
def test_it_is_started_as_the_server_was(tmp_path, flags):
    """With the modules that the server has, wherever these come from, and with nothing of the folder's."""
    (tmp_path / "queue.py").write_text("raise SystemExit('not this one')\n")
    code = (
        f"import sys; sys.path[:] = {[str(REPOSITORY), *filter(None, sys.path)]!r};"
        "from graphmend_lsp.server import sweeper; import subprocess;"
        "sys.exit(subprocess.run(sweeper.command(), input=b'').returncode)"
    )
    assert subprocess.run([sys.executable, *flags, "-c", code], cwd=tmp_path, check=False).returncode == 0


def test_a_cancelled_request(editor, tree, response_error):
    for number in range(6):
        (tree / f"s{number}.py").write_text("import torch\nslow safe_break\n")
    wire = editor("vscode", folders=(tree,), configuration={tree.as_uri(): ALL})
    number = wire.begin_pull_all()
    wire.wait_for("$/progress", lambda p: p["value"]["kind"] == "report")
    wire.notify("$/cancelRequest", {"id": number})
    with pytest.raises(response_error) as caught:
        wire.reply(number)
    assert caught.value.code == -32800
    wire.wait_for("$/progress", lambda p: p["value"]["kind"] == "end")
    begun = time.monotonic()
    wire.open((tree / "other.py").as_uri(), "safe_break\n")
    assert len(wire.pull((tree / "other.py").as_uri())["items"]) == 1
    assert time.monotonic() - begun < 3  # nothing goes on behind it


def test_cancelled_by_the_user(editor, tree):
    for number in range(6):
        (tree / f"s{number}.py").write_text("import torch\nslow safe_break\n")
    wire = editor("neovim", folders=(tree,), configuration={tree.as_uri(): ALL})
    token = wire.wait_for("$/progress", lambda p: p["value"]["kind"] == "report")["token"]
    wire.notify("window/workDoneProgress/cancel", {"token": token})
    wire.wait_for("$/progress", lambda p: p["value"]["kind"] == "end")
    assert _silent(wire, tree / "s5.py")


def test_one_file_that_fails(editor, tree):
    (tree / "a0.py").write_text("import torch\nboom\n")
    wire = editor("minimal", folders=(tree,), initializationOptions=ALL)
    assert _published(wire, tree / "a.py", tree / "pkg" / "b.py") == {tree / "a.py": 1, tree / "pkg" / "b.py": 1}
    assert "the core is broken" in wire.wait_for("window/showMessage")["message"]


def test_what_another_file_changes(editor, tmp_path):
    """With the real core: a helper that does not mention torch is checked for who imports it."""
    helper, model, other = tmp_path / "helper.py", tmp_path / "model.py", tmp_path / "other.py"
    (tmp_path / "pyproject.toml").write_text("")
    helper.write_text("def note(x):\n    print(x)\n    return x\n")
    head = "from torch import nn\nfrom helper import note\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n"
    model.write_text(head + "        return note(x)\n")
    other.write_text("def unused(x):\n    print(x)\n")
    wire = editor("minimal", False, folders=(tmp_path,), initializationOptions=ALL)
    assert _published(wire, helper) == {helper: 1}
    wire.open(model.as_uri(), model.read_text())
    model.write_text(head + "        return x\n")
    wire.change(model.as_uri(), 2, {"text": model.read_text()})
    _save(wire, model)
    assert _published(wire, helper) == {helper: 0}
    assert _silent(wire, other, 0)
