""" "Profile on GPU": the command, from the click to what is shown; the code runs in worker processes."""

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
NO_INPUTS = MODEL.partition("\n\ndef example")[0].replace("x.sum()", "x.of_another_type()")  # none can be made up
SLEEPY = MODEL.replace("return x + 1", "__import__('time').sleep(120)\n        return x + 1")
QUICK = {"device": "cpu", "timing": False, "compare": False}


@pytest.fixture
def opened(start, profiling, cache, tmp_path):
    """Opens a buffer whose file on disk is older, in a server."""

    def open_one(text=MODEL, capabilities=None, wait=True, **options):
        (tmp_path / "pyproject.toml").write_text("")
        model = tmp_path / "model.py"
        model.write_text("disk = 'older than the buffer'\n")
        wire = start()
        wire.result = wire.initialize(
            capabilities or profiling, rootUri=tmp_path.as_uri(), initializationOptions=options
        )
        wire.open(model.as_uri(), text)
        if wait:
            wire.diagnostics(model.as_uri(), 1)
        return wire, model.as_uri()

    return open_one


def _begin(wire, argument, token=None):
    """Send the command; the request's id."""
    if token is None:
        return wire.begin_command("graphmend.profile", argument)
    params = {"command": "graphmend.profile", "arguments": [argument], "workDoneToken": token}
    wire.send({"id": f"profile {token}", "method": "workspace/executeCommand", "params": params})
    return f"profile {token}"


def _of_torch(diagnostics):
    return [each for each in diagnostics if each["source"] == "torch.compile"]


def test_from_the_click_to_what_is_shown(opened, tmp_path, start, profiling):
    wire, uri = opened()
    assert wire.result["capabilities"]["executeCommandProvider"]["workDoneProgress"] is True
    (lens,) = wire.lenses(uri)
    (argument,) = lens["command"]["arguments"]
    number = _begin(wire, {**argument, **QUICK, "compare": True, "device": ""}, token="mine")
    report = wire.reply(number, 300)

    assert report["failure"] is None and report["entry"] == "Net" and report["digest"]
    assert len(report["original"]["graphs"]) == 2 and len(report["mended"]["graphs"]) == 1
    assert [(site["line"], site["gb"]) for site in report["original"]["sites"]] == [(7, "GB0170")]
    assert not wire.seen("window/workDoneProgress/create")  # the client's own token
    values = [p["value"] for p in wire.seen("$/progress") if p["token"] == "mine"]
    assert values[0]["kind"] == "begin" and values[0]["percentage"] == 0 and values[-1]["kind"] == "end"
    stages = [value for value in values if value["kind"] == "report"]
    assert len({stage["message"] for stage in stages}) >= 3
    done = [stage["percentage"] for stage in stages]
    assert done == sorted(done) and 0 <= done[0] < done[-1] <= 100

    asked = wire.answer("window/showMessageRequest", result={"title": "Show report"})
    assert asked["message"].startswith("GraphMend: Net: 2 graphs, 1 break -> mended: 1 graph")
    assert asked["type"] == 3 and [action["title"] for action in asked["actions"]] == ["Show report"]
    assert wire.answer("window/showDocument", result={"success": True})["external"] is True

    (site,) = _of_torch(wire.diagnostics(uri, 1))
    assert site["range"]["start"] == {"line": 6, "character": 8} and site["code"] == "GB0170"
    (hint,) = wire.hints(uri)
    assert hint["position"]["line"] == 4 and hint["label"].startswith("2 graphs, 1 break")
    assert "| graphs | 2 | 1 |" in wire.hover(uri, 4, 7)["contents"]["value"]
    assert "measured: confirmed in `Net`" in wire.hover(uri, 6, 12)["contents"]["value"]
    wire.answer("workspace/inlayHint/refresh")
    wire.answer("workspace/codeLens/refresh")
    if report["device"] == "cpu":
        assert [lens["command"]["title"] for lens in wire.lenses(uri)] == ["Profile on CPU"]
    assert (tmp_path / "model.py").read_text().startswith("disk")

    again = start()  # another session
    again.initialize(profiling, rootUri=tmp_path.as_uri())
    again.open(uri, "import os\n" + MODEL)
    (site,) = _of_torch(again.diagnostics(uri, 1))
    assert site["range"]["start"]["line"] == 7
    assert again.hints(uri)[0]["label"] == hint["label"]


def test_no_inputs(opened):
    wire, uri = opened(NO_INPUTS)
    assert not [a for a in wire.actions(uri, 4, 8) if "stub" in a["title"]]  # nobody asked
    number = _begin(wire, {"uri": uri, "entry": "Net", **QUICK}, token="a")
    report = wire.reply(number, 300)
    assert report["failure"]["kind"] == "inputs"
    asked = wire.answer("window/showMessageRequest", result={"title": "Insert an example_inputs() stub"})
    assert asked["message"].startswith("GraphMend cannot profile Net: ") and "example_inputs() stub" in asked["message"]
    applied = wire.answer("workspace/applyEdit", result={"applied": True})
    ((changes,),) = (applied["edit"]["documentChanges"],)
    assert "def example_inputs():" in changes["edits"][0]["newText"]
    (action,) = [a for a in wire.actions(uri, 4, 8) if "stub" in a["title"]]
    assert action["kind"] == "refactor.rewrite.graphmend"
    assert not wire.hints(uri)


@pytest.mark.parametrize(
    ("text", "line", "wanted"),
    [
        (
            "import torch as th\r\nclass Net(th.nn.Module):\r\n    def forward(self, x, n: int, ids, *, mask=None):\r\n"
            "        return x\r\n",
            1,
            '\r\n\r\ndef example_inputs():\r\n    """The arguments of one call of Net."""\r\n    # optional: mask\r\n'
            "    return (  # the shapes are guesses\r\n        th.randn(2, 8),  # x\r\n        1,  # n: int\r\n"
            "        th.randint(0, 8, (2, 8)),  # ids\r\n    )\r\n",
        ),
        (
            "from torch import Tensor, nn\nclass Net(nn.Module):\n    def __init__(self, width: int):\n        pass\n"
            "    def forward(self, *, x: Tensor): return x",
            1,
            '\n\n\ndef example_inputs():\n    """The arguments of one call of Net."""\n    import torch\n\n'
            '    return {  # the shapes are guesses\n        "x": torch.randn(2, 8),\n    }\n'
            '\n\ndef get_init_inputs():\n    """The arguments of Net(...)."""\n'
            "    return (  # the shapes are guesses\n        1,  # width: int\n    )\n",
        ),
    ],
)
def test_the_stub(opened, client_text, text, line, wanted):
    wire, uri = opened(text)
    actions = wire.actions(uri, line, 3, only=["refactor.rewrite"])
    (action,) = [a for a in actions if a["title"] == "Insert an example_inputs() stub"]
    made = client_text(text, "utf-16").apply(action["edit"]["documentChanges"][0]["edits"])
    assert made == text + wanted
    compile(made, "model.py", "exec")


@pytest.mark.parametrize(("text", "line"), [(MODEL, 4), (NO_INPUTS, 5), (NO_INPUTS + "\n\nget_inputs = f\n", 4)])
def test_no_stub_where_it_is_not_wanted(opened, text, line):
    wire, uri = opened(text)
    assert not [a for a in wire.actions(uri, line, 3, only=["refactor"]) if "stub" in a["title"]]


@pytest.mark.parametrize("how", ["request", "progress", "shutdown"])
def test_cancelled(opened, tmp_path, response_error, how):
    wire, uri = opened(noting(tmp_path, SLEEPY))
    number = _begin(wire, {"uri": uri, "entry": "Net", **QUICK})
    token = wire.answer("window/workDoneProgress/create", 60)["token"]
    deadline = time.monotonic() + 120
    pids = noted(tmp_path, deadline)
    if how == "request":
        wire.notify("$/cancelRequest", {"id": number})
        with pytest.raises(response_error):
            wire.reply(number, 60)
    elif how == "progress":
        wire.notify("window/workDoneProgress/cancel", {"token": token})
        assert wire.reply(number, 60)["failure"]["kind"] == "cancelled"
    else:
        wire.request("shutdown")
        wire.notify("exit")
        assert wire.wait() == 0
    wait_for_the_end(pids, deadline)
    if how != "shutdown":
        wire.wait_for("$/progress", lambda p: p["token"] == token and p["value"]["kind"] == "end")
        assert not wire.hints(uri)
        assert not wire.seen("window/showMessage")
    assert list(map(int, (tmp_path / "pids").read_text().split())) == pids


def test_one_at_a_time_with_verify(opened, tmp_path):
    wire, uri = opened(noting(tmp_path, SLEEPY))
    first = _begin(wire, {"uri": uri, "entry": "Net", **QUICK}, token="first")
    pids = noted(tmp_path, time.monotonic() + 120)
    (action,) = [a for a in wire.actions(uri, 8, 12, only=["quickfix"]) if "Verify" in a["title"]]
    second = wire.begin_command(action["command"]["command"], *action["command"]["arguments"])
    token = wire.answer("window/workDoneProgress/create", 60)["token"]
    wire.wait_for("$/progress", lambda p: p["token"] == token and "waiting" in (p["value"].get("message") or ""))
    wire.notify("window/workDoneProgress/cancel", {"token": token})
    assert list(map(int, (tmp_path / "pids").read_text().split())) == pids
    wire.notify("window/workDoneProgress/cancel", {"token": "first"})
    assert wire.reply(first, 60)["failure"]["kind"] == "cancelled"
    assert wire.reply(second, 60)["entries"][0]["reason"] == "cancelled"


@pytest.mark.parametrize("options", [{"trusted": False}, {"trusted": False, "settings": {}}, {"trusted": "yes"}])
def test_nothing_of_an_untrusted_workspace_is_run(opened, tmp_path, options):
    wire, uri = opened(noting(tmp_path, MODEL), **options)
    assert wire.command("graphmend.profile", {"uri": uri, "entry": "Net"}) is None
    (action,) = [a for a in wire.actions(uri, 8, 12, only=["quickfix"]) if "Verify" in a["title"]]
    assert wire.command(action["command"]["command"], *action["command"]["arguments"]) is None
    shown = [each["message"] for each in wire.seen("window/showMessage")]
    assert len(shown) == 2 and all("not trusted" in message for message in shown)
    assert not (tmp_path / "pids").exists()


@pytest.mark.parametrize(
    "argument",
    [
        None,
        [],
        {},
        {"uri": "file:///a.py"},
        {"uri": 1, "entry": "Net"},
        {"uri": "file:///a.py", "entry": "a b"},
        {"uri": "file:///a.py", "entry": "Net", "device": "tpu"},
        {"uri": "file:///a.py", "entry": "Net", "timing": "no"},
        {"uri": "file:///a.py", "entry": "Net", "capture": 1},
        {"uri": "file:///a.py", "entry": "Net", "sped": True},
    ],
)
def test_bad_arguments(opened, response_error, argument):
    wire, _ = opened(wait=False)
    with pytest.raises(response_error) as error:
        wire.command("graphmend.profile", argument)
    assert error.value.code == -32602


def test_what_cannot_be_started(opened):
    wire, uri = opened(python="nowhere/python")
    assert wire.command("graphmend.profile", {"uri": uri, "entry": "Net"}) is None
    assert wire.command("graphmend.profile", {"uri": "untitled:One", "entry": "Net"}) is None
    assert wire.command("graphmend.profile", {"uri": uri + "x", "entry": "Net"}) is None
    shown = [each["message"] for each in wire.seen("window/showMessage")]
    assert "nowhere/python" in shown[0] and "not been saved" in shown[1] and "no file" in shown[2]
    wire, uri = opened()
    assert wire.command("graphmend.profile", {"uri": uri, "entry": "Net", "capture": "train.py"}) is None
    assert "no script" in wire.seen("window/showMessage")[0]["message"]


def test_a_program_that_calls_it(opened, tmp_path):
    (tmp_path / "train.py").write_text("import torch, model\nmodel.Net()(torch.ones(2, 2))\n")
    wire, uri = opened(NO_INPUTS.replace("of_another_type", "sum"))
    report = wire.reply(_begin(wire, {"uri": uri, "entry": "Net", "capture": "train.py", **QUICK}, token=1), 300)
    assert report["failure"] is None and "train.py" in report["inputs"]
    assert len(report["original"]["graphs"]) == 2


def test_what_is_typed_during_the_run(opened, tmp_path):
    slow = "import time\ntime.sleep(3)\n"
    wire, uri = opened(noting(tmp_path, slow + MODEL))
    number = _begin(wire, {"uri": uri, "entry": "Net", **QUICK}, token=1)
    noted(tmp_path, time.monotonic() + 120)
    top = {"line": 0, "character": 0}
    wire.change(uri, 2, {"range": {"start": top, "end": top}, "text": "import sys\n"})
    end = {"line": 13, "character": 20}
    wire.change(uri, 3, {"range": {"start": end, "end": end}, "text": " * 1"})
    report = wire.reply(number, 300)
    assert [site["line"] for site in report["original"]["sites"]] == [11]  # of the text that was run
    (hint,) = wire.hints(uri)
    assert hint["position"]["line"] == 9 and hint["label"].startswith("(stale) ")


def test_a_plain_client_gets_the_report_and_a_message(opened):
    wire, uri = opened(capabilities={"textDocument": {"publishDiagnostics": {}}}, wait=False)
    report = wire.reply(_begin(wire, {"uri": uri, "entry": "Net", **QUICK}), 300)
    assert len(report["original"]["graphs"]) == 2
    shown = wire.wait_for("window/showMessage")
    assert shown["message"].startswith("GraphMend: Net: 2 graphs, 1 break")
    requests = [m["method"] for m in wire.notifications if "id" in m]
    assert not requests and not wire.seen("$/progress")
