"""A change as a ``WorkspaceEdit`` in the form that the client takes."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from graphmend_lsp.finding import Change, NewFile, Refusal
from graphmend_lsp.notebook import CannotPlace
from graphmend_lsp.project import files
from graphmend_lsp.server.client import Client
from graphmend_lsp.server.documents import Documents, Snapshot
from graphmend_lsp.server.translate import Positions, uri_of
from graphmend_lsp.text import LineIndex, diff_edits

_RISK = "graphmend.unsafe"

_Changes = types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile


def workspace_edit(
    change: Change, snapshot: Snapshot, client: Client, documents: Documents, risk: str = ""
) -> types.WorkspaceEdit | Refusal:
    """The edit for ``change``; ``risk`` says what an unsafe one changes.  Reads the disk: for the worker.

    A file the change needs is created by the client (``CreateFile``), never by the server, which cannot
    know whether the edit will be applied: where the client cannot, the answer is a refusal.
    """
    try:
        edited = snapshot.edited(change.edits)
    except CannotPlace as error:
        return Refusal("edit", "location", str(error))
    if not client.document_changes:
        if change.creates:
            return _needs_files(change.creates)
        return types.WorkspaceEdit(changes={uri: edits for uri, _, edits in edited})
    changes: list[_Changes] = []
    for new in change.creates:
        written = _write(new, client, documents)
        if written is None:
            return _needs_files(change.creates)
        changes += written
    annotations: dict[str, types.ChangeAnnotation] | None = None
    if risk and client.change_annotations:
        annotations = {_RISK: types.ChangeAnnotation("Changes behaviour", needs_confirmation=True, description=risk)}
    for uri, version, edits in edited:
        own: Sequence[types.TextEdit | types.AnnotatedTextEdit] = edits
        if annotations is not None:
            own = [types.AnnotatedTextEdit(_RISK, edit.range, edit.new_text) for edit in edits]
        changes.append(_text_edit(uri, version, own))
    return types.WorkspaceEdit(document_changes=changes, change_annotations=annotations)


def _needs_files(creates: Sequence[NewFile]) -> Refusal:
    names = ", ".join(new.path for new in creates)
    return Refusal(
        "create",
        "location",
        f"this fix needs the file {names}, which this editor cannot create as part of an edit; "
        'run `graphmend fix`, or set runtime = "package"',
    )


def _write(new: NewFile, client: Client, documents: Documents) -> list[_Changes] | None:
    """Steps that make the file's text ``new.text``; None if the client cannot."""
    uri = uri_of(new.path)
    document = documents.find(uri)
    old = _read(new.path) if document is None else document.source
    if old is not None:
        positions = Positions(LineIndex(old), client.encoding)
        edits = [positions.text_edit(edit) for edit in diff_edits(old, new.text)]
        return [_text_edit(uri, None if document is None else document.version, edits)] if edits else []
    if not client.create_files:
        return None
    start = types.Position(0, 0)
    return [
        types.CreateFile(uri, options=types.CreateFileOptions(overwrite=False, ignore_if_exists=True)),
        _text_edit(uri, None, [types.TextEdit(types.Range(start, start), new.text)]),
    ]


def _read(path: str) -> str | None:
    try:
        return files.read(path).text
    except files.SourceError:
        return None


def _text_edit(
    uri: str, version: int | None, edits: Sequence[types.TextEdit | types.AnnotatedTextEdit]
) -> types.TextDocumentEdit:
    return types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, version), edits)
