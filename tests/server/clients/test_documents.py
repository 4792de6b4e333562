"""Documents as each editor sees them: diagnostics, code actions, hover; what it did not declare it does not get."""

from __future__ import annotations

import pytest
from lsprotocol import types

from graphmend_lsp.check import check

pytestmark = pytest.mark.asyncio(loop_scope="session")

MODEL = """import torch


class M(torch.nn.Module):
    def forward(self, x):
        "é"; print("hello")
        return x + 1
"""
REFUSED = """import torch


@torch.compile
def f(x):
    while x.sum() > 0:
        x = x - 1
    return x
"""
LINE = types.Range(types.Position(5, 10), types.Position(5, 10))
PUSHED = ["neovim", "emacs", "minimal"]


def _edits(edit, uri):
    """The edits of a document, which say its version where they can."""
    if edit.changes is not None:
        return list(edit.changes[uri])
    for change in edit.document_changes or []:
        if isinstance(change, types.TextDocumentEdit) and change.text_document.uri == uri:
            assert change.text_document.version == 1
            return list(change.edits)
    raise AssertionError("no edit of the document")


def _applied(client, client_text, text, edits):
    encoding = client.started.position_encoding or "utf-16"
    as_json = [client.protocol._converter.unstructure(each) for each in edits]
    return client_text(text, getattr(encoding, "value", encoding)).apply(as_json)


def _quick_fixes(actions):
    return [each for each in actions if isinstance(each, types.CodeAction) and not each.command and not each.disabled]


async def test_what_the_server_says_it_can_do(client):
    started, name = client.started, client.name
    assert client.pulls == (name == "vscode")
    assert (started.notebook_document_sync is not None) == (name == "vscode")
    assert (started.code_lens_provider is not None) == (name in ("vscode", "neovim"))
    assert (started.inlay_hint_provider is not None) == (name in ("vscode", "neovim", "emacs"))
    encoding = getattr(started.position_encoding, "value", started.position_encoding)
    assert encoding == {"neovim": "utf-8", "emacs": "utf-32"}.get(name, "utf-16")


async def test_one_way_for_diagnostics(client):
    uri = client.model(MODEL)
    (found,) = await client.opened(uri, MODEL)
    assert (found.source, found.code, found.range.start.line) == ("GraphMend", "GM201", 5)
    column = {"utf-8": 14, "utf-16": 13, "utf-32": 13}[client.started.position_encoding or "utf-16"]
    assert found.range.start.character == column
    document = types.VersionedTextDocumentIdentifier(2, uri)
    without = types.TextDocumentContentChangePartial(types.Range(types.Position(5, 0), types.Position(6, 0)), "")
    client.text_document_did_change(types.DidChangeTextDocumentParams(document, [without]))
    assert await client.shown(uri) == []
    client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
    assert await client.shown(uri) == []
    assert not (client.pulls and client.sent.get(uri))


async def test_what_a_diagnostic_says(client):
    uri = client.model(MODEL)
    (found,) = await client.opened(uri, MODEL)
    declared = client.name in ("vscode", "neovim")
    assert (found.data is not None) == declared
    assert (found.related_information is not None) == declared
    assert ("is an nn.Module" in found.message) == (not declared)  # the evidence is in the text then
    assert (found.code_description is not None) == (client.name == "vscode")


async def test_from_the_finding_to_mended_text(client, client_text):
    uri = client.model(MODEL)
    (found,) = await client.opened(uri, MODEL)
    actions = await client.actions(uri, found.range, types.CodeActionKind.QuickFix)
    if client.name == "minimal":  # of before code actions: commands only
        assert [each.command for each in actions] == ["graphmend.verify"]
        return
    assert all(action.title.startswith("GraphMend (GM201): ") for action in actions)
    fixes = _quick_fixes(actions)
    assert len(fixes) == len(check(MODEL).findings[0].offers) + (client.name != "emacs")  # and the suppression;
    assert [bool(each.is_preferred) for each in fixes] == [client.name != "emacs", *[False] * (len(fixes) - 1)]
    for number, action in enumerate(fixes):  # ... Emacs cannot create the file that the safe one needs
        edit = await client.edit_of(action)
        unsafe = "changes behaviour" in action.title
        assert (edit.change_annotations is not None) == (unsafe and client.name == "vscode")
        for annotation in (edit.change_annotations or {}).values():
            assert annotation.needs_confirmation and annotation.description == "the text is no longer printed"
        text = _applied(client, client_text, MODEL, _edits(edit, uri))
        compile(text, "model.py", "exec")
        assert text != MODEL and "return x + 1" in text
        after = uri.replace("model.py", f"after{number}.py")
        assert await client.opened(after, text) == [], action.title


async def test_everything_at_once(client, client_text):
    uri = client.model(MODEL)
    (found,) = await client.opened(uri, MODEL)
    for kind in (types.CodeActionKind.SourceFixAll, "refactor.rewrite.graphmend"):
        actions = await client.actions(uri, found.range, kind)
        if client.name in ("minimal", "emacs") or kind == types.CodeActionKind.SourceFixAll:
            assert actions == []  # a print is not deferred on saving; a file cannot be created
            continue
        (action,) = actions
        text = _applied(client, client_text, MODEL, _edits(await client.edit_of(action), uri))
        assert "graph_effect" in text and check(text).findings == ()


async def test_what_is_refused(client):
    uri = client.model(REFUSED)
    (found,) = await client.opened(uri, REFUSED)
    actions = await client.actions(uri, found.range, types.CodeActionKind.QuickFix)
    disabled = [each for each in actions if isinstance(each, types.CodeAction) and each.disabled]
    assert bool(disabled) == (client.name == "vscode")
    (why,) = [each for each in actions if "Why no fix?" in each.title]
    command = why.command if isinstance(why, types.CodeAction) else why
    client.messages.clear()
    told = await client.run(command.command, *command.arguments)
    assert "No fix is offered" in told
    assert await client.until(lambda: [each.message for each in client.messages]) == [told]


async def test_ignoring_a_line(client, client_text):
    uri = client.model(MODEL)
    (found,) = await client.opened(uri, MODEL)
    actions = [a for a in await client.actions(uri, found.range) if "Ignore on this line" in a.title]
    assert len(actions) == (client.name != "minimal")
    for action in actions:
        text = _applied(client, client_text, MODEL, _edits(await client.edit_of(action), uri))
        assert text == MODEL.replace('("hello")', '("hello")  # graphmend: ignore[GM201]')


async def test_hover_tells_the_rule(client):
    uri = client.model(MODEL)
    (found,) = await client.opened(uri, MODEL)
    params = types.HoverParams(types.TextDocumentIdentifier(uri), found.range.start)
    hover = await client.text_document_hover_async(params)
    assert hover is not None and hover.range == found.range
    plain = client.name == "minimal"
    assert hover.contents.kind == (types.MarkupKind.PlainText if plain else types.MarkupKind.Markdown)
    assert "GM201" in hover.contents.value and ("**" in hover.contents.value) != plain


async def test_lenses_where_the_editor_has_them(client):
    uri = client.model(MODEL)
    await client.opened(uri, MODEL)
    if client.started.code_lens_provider is None:
        return
    (lens,) = await client.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))
    assert lens.range.start == types.Position(3, 6) and lens.command is None
    assert (await client.code_lens_resolve_async(lens)).command.title.startswith("Profile on ")
