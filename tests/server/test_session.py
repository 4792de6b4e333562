"""Whole sessions with the real core, as real editors' capabilities have them (pytest-lsp checks ours against them)."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from graphmend_lsp.check import check

pytestmark = pytest.mark.asyncio

REPOSITORY = Path(__file__).parents[2]
EDITORS = ["visual_studio_code", "neovim", "emacs"]
MODEL = """import torch


class M(torch.nn.Module):
    def forward(self, x):
        print("hello")
        return x + 1
"""
COMMAND = [sys.executable, "-m", "graphmend_lsp", "server", "--stdio"]
CONFIG = ClientServerConfig(COMMAND, server_env={**os.environ, "PYTHONPATH": str(REPOSITORY)})


@pytest_lsp.fixture(config=CONFIG, params=EDITORS)
async def client(request, lsp_client: LanguageClient):
    # these editors declare it, pytest-lsp does not have it
    @lsp_client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(_: types.RegistrationParams) -> None: ...

    await lsp_client.initialize_session(
        types.InitializeParams(capabilities=client_capabilities(request.param), root_uri=None)
    )
    yield
    await lsp_client.shutdown_session()


async def published(client: LanguageClient, uri: str) -> list[types.Diagnostic]:
    """The next diagnostics of a document."""
    while True:
        params = await asyncio.wait_for(client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS), 30)
        if params.uri == uri:
            return list(params.diagnostics)


async def opened(client: LanguageClient, uri: str, text: str) -> list[types.Diagnostic]:
    waiting = asyncio.ensure_future(published(client, uri))
    await asyncio.sleep(0)
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, text)))
    return await waiting


async def actions_for(client: LanguageClient, uri: str, found: types.Diagnostic) -> list[types.CodeAction]:
    result = await client.text_document_code_action_async(
        types.CodeActionParams(
            types.TextDocumentIdentifier(uri),
            found.range,
            types.CodeActionContext([found], only=[types.CodeActionKind.QuickFix]),
        )
    )
    return [action for action in result or [] if isinstance(action, types.CodeAction)]


async def edit_of(client: LanguageClient, action: types.CodeAction) -> types.WorkspaceEdit | None:
    """The edit, asked for if need be."""
    if action.edit is None:
        action = await client.code_action_resolve_async(action)
    return action.edit


def own_edits(edit: types.WorkspaceEdit, uri: str) -> list[types.TextEdit]:
    if edit.changes is not None:
        return list(edit.changes[uri])
    for change in edit.document_changes or []:
        if isinstance(change, types.TextDocumentEdit) and change.text_document.uri == uri:
            assert change.text_document.version == 1
            return list(change.edits)
    raise AssertionError("no edit of the document")


async def test_from_finding_to_mended_text(request, client: LanguageClient, client_text, tmp_path):
    uri = (tmp_path / "model.py").as_uri()
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    (found,) = await opened(client, uri, MODEL)
    assert (found.code, found.source) == ("GM201", "GraphMend")
    assert found.range.start.line == 5
    actions = await actions_for(client, uri, found)
    assert all(action.title.startswith("GraphMend (GM201): ") for action in actions)
    fixes = [action for action in actions if action.command is None and action.disabled is None]
    offers = check(MODEL).findings[0].offers
    creates = request.node.callspec.params["client"] != "emacs"  # it cannot create the runtime file
    assert len(fixes) == len(offers) + creates  # all, or all but one, and the suppression
    for number, action in enumerate(fixes):
        edit = await edit_of(client, action)
        assert edit is not None
        edits = own_edits(edit, uri)
        as_json = [
            {
                "range": {
                    "start": {"line": e.range.start.line, "character": e.range.start.character},
                    "end": {"line": e.range.end.line, "character": e.range.end.character},
                },
                "newText": e.new_text,
            }
            for e in edits
        ]
        text = client_text(MODEL, "utf-16").apply(as_json)
        compile(text, "model.py", "exec")
        assert text != MODEL and "return x + 1" in text
        after = (tmp_path / f"after{number}.py").as_uri()
        left = await opened(client, after, text)
        assert left == [], action.title


async def test_hover_tells_the_rule(client: LanguageClient, tmp_path):
    uri = (tmp_path / "model.py").as_uri()
    (found,) = await opened(client, uri, MODEL)
    hover = await client.text_document_hover_async(
        types.HoverParams(types.TextDocumentIdentifier(uri), found.range.start)
    )
    assert hover is not None and hover.range == found.range
    assert isinstance(hover.contents, types.MarkupContent)
    assert "GM201" in hover.contents.value


async def test_typing_and_closing(client: LanguageClient, tmp_path):
    uri = (tmp_path / "model.py").as_uri()
    assert len(await opened(client, uri, MODEL)) == 1
    document = types.VersionedTextDocumentIdentifier(version=2, uri=uri)
    line = types.Range(types.Position(5, 0), types.Position(6, 0))
    waiting = asyncio.ensure_future(published(client, uri))
    await asyncio.sleep(0)
    without = types.TextDocumentContentChangePartial(line, "")
    client.text_document_did_change(types.DidChangeTextDocumentParams(document, [without]))
    assert await waiting == []
    waiting = asyncio.ensure_future(published(client, uri))
    await asyncio.sleep(0)
    client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
    assert await waiting == []


async def test_lenses_and_hints_where_the_editor_has_them(request, client: LanguageClient, tmp_path):
    uri = (tmp_path / "model.py").as_uri()
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    await opened(client, uri, MODEL)
    has = client_capabilities(request.node.callspec.params["client"]).text_document
    assert has is not None
    document = types.TextDocumentIdentifier(uri)
    if has.code_lens is not None:
        (lens,) = await client.text_document_code_lens_async(types.CodeLensParams(document)) or ()
        assert lens.range.start == types.Position(3, 6)
        if lens.command is None:
            lens = await client.code_lens_resolve_async(lens)
        assert lens.command is not None and lens.command.title.startswith("Profile on ")
    if has.inlay_hint is not None:
        range_ = types.Range(types.Position(0, 0), types.Position(9, 0))
        assert not await client.text_document_inlay_hint_async(types.InlayHintParams(document, range_))
