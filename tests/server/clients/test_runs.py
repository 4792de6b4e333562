"""What runs the user's code, in each editor: progress, messages, what is shown of a profile.

The interpreter is a script that says what a worker says; the tests of profile and verify have real ones.
"""

from __future__ import annotations

import asyncio
import sys

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcRequestCancelled

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(sys.platform == "win32", reason="the interpreter is a script"),
]

MODEL = """import torch


class Net(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        return x + 1
"""
INTERPRETER = """#!{python}
import json, sys
job = json.loads(sys.stdin.readline())
def say(event, **more):
    print(json.dumps({{"event": event, **more}}), flush=True)
text = job["texts"][job["path"]]
say("started", torch="2.13.0")
if "sleeps" in text:
    sys.stdin.read()
if "fails" in text:
    say("failed", kind="inputs", message="it cannot be called")
say("stage", stage="count")
say("device", device="cpu", name="A CPU")
say("subject", inputs="made up", training=False, digest="0")
graph = {{"operations": 1, "lines": {{job["path"]: [6]}}}}
event = [job["path"], 6, "Data-dependent branching", "GB0170"]
say("counted", graphs=[graph, graph], events=1, all_events=[event], recompiles=[], skipped=0, guards=3,
    compiler_error="", result="0")
say("finished")
sys.stdin.read()
"""
QUICK = {"entry": "Net", "device": "cpu", "timing": False, "compare": False}
HEADLINE = "GraphMend: Net: 2 graphs, 1 break"
REFRESHED = {
    "vscode": (
        types.WORKSPACE_DIAGNOSTIC_REFRESH,
        types.WORKSPACE_CODE_LENS_REFRESH,
        types.WORKSPACE_INLAY_HINT_REFRESH,
    ),
    "neovim": (types.WORKSPACE_INLAY_HINT_REFRESH,),
}
ASKED = ("vscode", "neovim")
"""Editors in which a message can have something to choose."""


@pytest.fixture
def python(tmp_path):
    script = tmp_path / "python"
    script.write_text(INTERPRETER.format(python=sys.executable))
    script.chmod(0o755)
    return str(script)


async def _open(client, text, python):
    """The document, with the interpreter as a setting."""
    uri = client.model(text)
    await client.opened(uri, text)
    await client.again(uri, lambda: client.configure(python=python))
    client.asked.clear()
    client.messages.clear()
    return uri


async def _close(client, uri):
    client.chosen = ""
    await client.again(uri, client.configure)


def _said(client, part):
    """What the user was told with these words: by a message, or by one with something to choose."""
    asked = [params for method, params in client.asked if method == types.WINDOW_SHOW_MESSAGE_REQUEST]
    return [each for each in [*client.messages, *asked] if part in each.message]


def _of_torch(found):
    return [each for each in found if each.source == "torch.compile"]


async def test_from_the_click_to_what_is_shown(client, python, profiles):
    uri = await _open(client, MODEL, python)
    client.chosen, client.shown_documents = "Show report", []
    before, shown = dict(client.refreshed), len(client.progress_reports)
    client.sent.pop(uri, None)
    report = await client.run("graphmend.profile", {"uri": uri, **QUICK})
    assert report["failure"] is None and len(report["original"]["graphs"]) == 2
    await client.until(lambda: _said(client, HEADLINE))
    (message,) = _said(client, HEADLINE)
    actions = getattr(message, "actions", None)
    assert [each.title for each in actions or ()] == (["Show report"] if client.name in ASKED else [])
    documents = [method for method, _ in client.asked if method == types.WINDOW_SHOW_DOCUMENT]
    if client.name in ASKED:
        await client.until(lambda: types.WINDOW_SHOW_DOCUMENT in [method for method, _ in client.asked])
    else:
        assert documents == []
    (new,) = list(client.progress_reports.values())[shown:] or [[]]
    kinds = [type(each).__name__.removeprefix("WorkDoneProgress") for each in new]
    assert (kinds[:1] + kinds[-1:] == ["Begin", "End"]) == (client.name != "minimal")
    (site,) = _of_torch(await client.shown(uri))
    assert (site.range.start, site.code) == (types.Position(5, 8), "GB0170")
    wanted = set(REFRESHED.get(client.name, ()))

    def grown():
        return {method for method, count in client.refreshed.items() if count > before.get(method, 0)}

    await client.until(lambda: grown() >= wanted)
    assert grown() == wanted
    await _shown_of_it(client, uri)
    await _close(client, uri)


async def _shown_of_it(client, uri):
    """Hint, lens, hover; and all that is marked when the code has changed."""
    document = types.TextDocumentIdentifier(uri)
    everywhere = types.Range(types.Position(0, 0), types.Position(99, 0))
    hover = await client.text_document_hover_async(types.HoverParams(document, types.Position(3, 7)))
    assert "2 graphs, 1 break" in hover.contents.value
    if client.started.inlay_hint_provider is not None:
        (hint,) = await client.text_document_inlay_hint_async(types.InlayHintParams(document, everywhere))
        assert hint.label.startswith("2 graphs, 1 break")
        assert (hint.tooltip is None) == (client.name in ("vscode", "neovim"))
        if hint.tooltip is None:
            hint = await client.inlay_hint_resolve_async(hint)
        assert "made up" in hint.tooltip.value
    if client.started.code_lens_provider is not None:
        (lens,) = await client.text_document_code_lens_async(types.CodeLensParams(document))
        assert lens.command is None and (await client.code_lens_resolve_async(lens)).command.title.startswith("Profile")
    client.sent.pop(uri, None)
    place = types.Range(types.Position(7, 16), types.Position(7, 16))
    change = types.TextDocumentContentChangePartial(place, " * 1")
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(2, uri), [change])
    )
    assert _of_torch(await client.shown(uri)) == []
    if client.started.inlay_hint_provider is not None:
        (hint,) = await client.text_document_inlay_hint_async(types.InlayHintParams(document, everywhere))
        assert hint.label.startswith("(stale) ")


async def test_what_cannot_be_called(client, python):
    """The stub is offered where it can be chosen, and written where an edit can be applied."""
    uri = await _open(client, MODEL + "# fails\n", python)
    client.chosen = "Insert an example_inputs() stub"
    report = await client.run("graphmend.profile", {"uri": uri, **QUICK})
    assert report["failure"]["kind"] == "inputs"
    await client.until(lambda: _said(client, "GraphMend cannot profile Net: "))
    (message,) = _said(client, "GraphMend cannot profile Net: ")
    assert bool(getattr(message, "actions", None)) == (client.name in ASKED)
    if client.name in ASKED:
        await client.until(lambda: types.WORKSPACE_APPLY_EDIT in [method for method, _ in client.asked])
        (applied,) = [params for method, params in client.asked if method == types.WORKSPACE_APPLY_EDIT]
        (change,) = applied.edit.document_changes
        assert "def example_inputs():" in change.edits[0].new_text
    await _close(client, uri)


async def _verify(client, uri):
    """The command of the action at the branch."""
    place = types.Range(types.Position(5, 12), types.Position(5, 12))
    actions = await client.actions(uri, place, *([] if client.name == "minimal" else ["quickfix"]))
    (action,) = [each for each in actions if "Verify" in each.title]
    return action.command if isinstance(action, types.CodeAction) else action


async def test_verify_says_what_came_of_it(client, python):
    uri = await _open(client, MODEL + "# fails\n", python)
    command = await _verify(client, uri)
    report = await client.run(command.command, *command.arguments)
    (entry,) = report["entries"]
    assert entry["verdict"] == "inconclusive"
    await client.until(lambda: _said(client, "Net.forward: inconclusive"))
    await _close(client, uri)


@pytest.mark.parametrize("how", ["progress", "request"])
async def test_cancelled(client, python, how):
    uri = await _open(client, MODEL + "# sleeps\n", python)
    command = await _verify(client, uri)
    shown = len(client.progress_reports)
    params = types.ExecuteCommandParams(command.command, arguments=command.arguments)
    method = types.WORKSPACE_EXECUTE_COMMAND
    running = asyncio.ensure_future(client.protocol.send_request_async(method, params, f"{client.name} {how}"))
    if client.name == "minimal":
        await asyncio.sleep(1)
        assert len(client.progress_reports) == shown
    else:
        await client.until(lambda: len(list(client.progress_reports.values())[shown:][0:1]) == 1)
    if how == "progress" and client.name != "minimal":
        token = list(client.progress_reports)[-1]
        client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
        assert (await running)["entries"][0]["reason"] == "cancelled"
    else:
        client.cancel_request(types.CancelParams(f"{client.name} {how}"))
        with pytest.raises(JsonRpcRequestCancelled):
            await running
    await _close(client, uri)


async def test_nothing_is_run_that_is_not_trusted(client, python, tmp_path):
    uri = await _open(client, MODEL, python)
    await client.again(uri, lambda: client.configure(python=python, trusted=False))
    assert await client.run("graphmend.profile", {"uri": uri, **QUICK}) is None
    assert "not trusted" in client.messages[-1].message
    # who once said no is asked for a yes, which "trusted: true" in the settings of now is
    await client.again(uri, lambda: client.configure(python=python))
    assert (await client.run("graphmend.profile", {"uri": uri, **QUICK}))["failure"] is None
    await _close(client, uri)
