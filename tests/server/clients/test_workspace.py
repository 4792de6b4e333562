"""What surrounds the documents, in each editor: settings, files on disk, folders, all files, notebooks."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types
from pygls.uris import to_fs_path

pytestmark = pytest.mark.asyncio(loop_scope="session")

MODEL = """import torch


class M(torch.nn.Module):
    def forward(self, x):
        print("hello")
        return x + 1
"""
HELPER = "def note(x):\n    print(x)\n    return x\n"
CALLER = "from torch import nn\nfrom helper import note\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n"
LENSES, DIAGNOSTICS = types.WORKSPACE_CODE_LENS_REFRESH, types.WORKSPACE_DIAGNOSTIC_REFRESH


def _path(uri):
    return Path(to_fs_path(uri))


def _tell(client, path, kind):
    client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([types.FileEvent(path.as_uri(), kind)]))


def _save(client, uri):
    client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))


async def test_settings(client):
    """Asked for where the editor can be asked, else taken from what it sends; what is shown follows."""
    uri = client.model(MODEL)
    (found,) = await client.opened(uri, MODEL)
    assert found.severity == types.DiagnosticSeverity.Information
    asked, lenses = len(client.asked), client.refreshed[LENSES]
    (found,) = await client.again(uri, lambda: client.configure(severity={"GM201": "error"}))
    assert found.severity == types.DiagnosticSeverity.Error
    questions = [params for method, params in client.asked[asked:] if method == types.WORKSPACE_CONFIGURATION]
    assert [[item.scope_uri for item in params.items] for params in questions] == (
        [] if client.name == "minimal" else [[None, client.folder.as_uri()]]
    )
    assert (client.refreshed[LENSES] > lenses) == (client.name == "vscode")
    (found,) = await client.again(uri, client.configure)
    assert found.severity == types.DiagnosticSeverity.Information


async def test_files_on_disk(client):
    """Seen where the editor watches for us, else at the next save."""
    watched = types.WORKSPACE_DID_CHANGE_WATCHED_FILES in client.registered
    assert watched == (client.name in ("vscode", "emacs"))
    uri = client.model(MODEL)
    assert len(await client.opened(uri, MODEL)) == 1
    table = _path(uri).parent / "pyproject.toml"
    table.write_text('[tool.graphmend]\nignore = ["GM201"]\n')
    changed = (lambda: _tell(client, table, types.FileChangeType.Changed)) if watched else lambda: _save(client, uri)
    assert await client.again(uri, changed) == []


async def test_what_another_document_changes(client):
    uri = client.model(HELPER, "helper.py")
    other = uri.replace("helper.py", "caller.py")
    _path(other).write_text(CALLER + "        return x\n")
    assert await client.opened(uri, HELPER) == []
    await client.opened(other, _path(other).read_text())
    text = types.TextDocumentContentChangeWholeDocument(CALLER + "        return note(x)\n")
    document = types.VersionedTextDocumentIdentifier(2, other)
    client.text_document_did_change(types.DidChangeTextDocumentParams(document, [text]))
    (found,) = await client.again(uri, lambda: _save(client, other))  # the buffer counts
    assert (found.code, found.range.start.line) == ("GM201", 1)


async def test_folders_come_and_go(client):
    more = types.WorkspaceFolder(_path(client.model(MODEL)).parent.as_uri(), "more")
    uri = f"{more.uri}/model.py"
    assert len(await client.opened(uri, MODEL)) == 1
    for added, removed in (([more], []), ([], [more])):
        asked = len(client.asked)
        event = types.DidChangeWorkspaceFoldersParams(types.WorkspaceFoldersChangeEvent(added, removed))
        assert (
            len(await client.again(uri, lambda event=event: client.workspace_did_change_workspace_folders(event))) == 1
        )
        questions = [params for method, params in client.asked[asked:] if method == types.WORKSPACE_CONFIGURATION]
        scopes = [item.scope_uri for params in questions for item in params.items]
        assert (more.uri in scopes) == bool(added and client.name != "minimal")
    assert f"Workspace roots: {client.folder}\n" in await client.run("graphmend.printDebugInformation") + "\n"


async def test_all_files(client):
    """Asked for, or sent; with progress where the editor shows it."""
    uri = client.model(MODEL)
    shown = len(client.progress_reports)
    client.sent.pop(uri, None)
    before = client.refreshed[DIAGNOSTICS]
    client.configure(workspaceDiagnostics="all")
    if client.pulls:
        await client.until(lambda: client.refreshed[DIAGNOSTICS] > before)
        report = await client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams([]))
        found = {item.uri: item for item in report.items}
        assert len(found[uri].items) == 1 and found[uri].version is None
    else:
        assert len(await client.shown(uri)) == 1
    assert (len(client.progress_reports) > shown) == (client.name != "minimal")
    before = client.refreshed[DIAGNOSTICS]
    client.configure()
    if client.pulls:
        await client.until(lambda: client.refreshed[DIAGNOSTICS] > before)
        previous = [types.PreviousResultId(uri, found[uri].result_id)]
        report = await client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams(previous))
        assert not next(item for item in report.items if item.uri == uri).items
        assert not client.sent.get(uri)
    else:
        assert await client.shown(uri) == []


async def test_notebooks(client, client_text):
    """Cells are sent what is found in them, also to the editor that asks for the diagnostics of files."""
    if client.started.notebook_document_sync is None:
        assert client.name != "vscode"  # it shows notebooks as JSON, or not at all
        return
    folder = _path(client.model("")).parent
    uri = (folder / "nb.ipynb").as_uri()
    cells = [f"{uri.replace('file:', 'vscode-notebook-cell:')}#W{number}" for number in range(2)]
    texts = ["%matplotlib inline\nimport torch", MODEL.partition("\n\n\n")[2]]
    items = [types.TextDocumentItem(*row) for row in zip(cells, ["python"] * 2, [1, 1], texts, strict=True)]
    document = types.NotebookDocument(
        uri, "jupyter-notebook", 1, [types.NotebookCell(types.NotebookCellKind.Code, cell) for cell in cells]
    )
    client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(document, items))
    await client.until(lambda: all(client.sent.get(cell) for cell in cells))
    assert not client.sent[cells[0]][-1].diagnostics
    (found,) = client.sent[cells[1]][-1].diagnostics
    assert found.range.start == types.Position(2, 8)
    report = await client.text_document_diagnostic_async(
        types.DocumentDiagnosticParams(types.TextDocumentIdentifier(cells[1]))
    )
    assert not report.items
    actions = await client.actions(cells[1], found.range, types.CodeActionKind.QuickFix)
    titles = [action.title for action in actions]
    assert not any("Verify" in title for title in titles)
    delete = next(action for action in actions if "Delete" in action.title)
    (change,) = (await client.edit_of(delete)).document_changes
    assert change.text_document.uri == cells[1] and change.text_document.version == 1
    (fix_all,) = await client.actions(cells[1], found.range, "notebook.source.fixAll") or [None]
    assert fix_all is None  # a print is not deferred on saving
    table = folder / "pyproject.toml"
    table.write_text('[tool.graphmend]\nignore = ["GM201"]\n')
    client.sent.clear()
    _tell(client, table, types.FileChangeType.Changed)
    await client.until(lambda: client.sent.get(cells[1]))
    assert not client.sent[cells[1]][-1].diagnostics
    closed = types.DidCloseNotebookDocumentParams(
        types.NotebookDocumentIdentifier(uri), [types.TextDocumentIdentifier(cell) for cell in cells]
    )
    client.notebook_document_did_close(closed)
