"""Open documents: text kept in step with the client, and what is known about it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from lsprotocol import types
from pygls.workspace import TextDocument, Workspace

from graphmend_lsp.check import Analysis, ProgramView
from graphmend_lsp.parse import Parsed
from graphmend_lsp.profile.targets import Outline
from graphmend_lsp.server.snapshots import NotebookSnapshot, Snapshot
from graphmend_lsp.server.translate import Positions, path_of, uri_key
from graphmend_lsp.settings import Settings
from graphmend_lsp.text import Encoding, split_lines

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checked:
    """A snapshot, its findings, and what they were found with."""

    snapshot: Snapshot
    analysis: Analysis
    program: ProgramView
    settings: Settings
    generation: int
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outlined:
    """A snapshot, and what can be profiled in it."""

    snapshot: Snapshot
    generation: int
    outline: Outline


class Document(TextDocument):
    """A document the client has open.

    pygls' own splits lines where the protocol does not and clamps an insertion at the end of the text
    one too early; this one counts with ``graphmend_lsp.text``.
    """

    def __init__(self, item: types.TextDocumentItem, encoding: Encoding) -> None:
        language = cast("object", item.language_id)  # which lsprotocol takes as it comes
        super().__init__("", item.text, item.version, language if isinstance(language, str) else None)
        self.uri, self.path = item.uri, path_of(item.uri)  # pygls' own way from one to the other may fail
        self.snapshot = Snapshot(item.uri, item.version, item.text, encoding)
        self.checked: Checked | None = None
        self.pending: tuple[Snapshot, int, asyncio.Future[Checked | None]] | None = None
        self.unparsable = False
        self.outlined: Outlined | None = None
        self.clean: Parsed | None = None
        """The last text without a syntax error."""

    @property
    def is_python(self) -> bool:
        return (self.language_id or "").lower().startswith("python") or self.path.endswith((".py", ".pyi"))

    @property
    def source(self) -> str:
        """The text exactly as the client has it."""
        return self.snapshot.text

    @property
    def lines(self) -> Sequence[str]:
        return tuple(split_lines(self.snapshot.text))

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Apply one change; its positions refer to the text after the changes before it."""
        text = change.text
        if isinstance(change, types.TextDocumentContentChangePartial):
            old, index = self.snapshot.text, self.snapshot.index
            span = Positions(index, self.snapshot.encoding).span(change.range)
            start, end = index.offset(span.line, span.column), index.offset(span.end_line, span.end_column)
            text = old[:start] + text + old[end:]
        self.snapshot = Snapshot(self.uri, self.version, text, self.snapshot.encoding)

    def advance(self, version: int | None) -> None:
        """Note a new version of the same text."""
        self.version = version
        if self.snapshot.version != version:
            self.snapshot = replace(self.snapshot, version=version)


class CellDocument(Document):
    """A cell of a notebook: a text to keep in step.  What is checked is the notebook."""

    def __init__(self, item: types.TextDocumentItem, encoding: Encoding, notebook: str) -> None:
        super().__init__(item, encoding)
        self.notebook = notebook
        """URI of the notebook."""

    @property
    def is_python(self) -> bool:
        return False

    @property
    def is_python_cell(self) -> bool:
        return super().is_python


class NotebookDocument(Document):
    """A notebook: its text is that of its Python cells, joined."""

    def __init__(self, uri: str, encoding: Encoding) -> None:
        super().__init__(types.TextDocumentItem(uri, "python", 0, ""), encoding)
        self.follow([], [])

    def follow(self, cells: Sequence[tuple[int, CellDocument]], others: Sequence[str]) -> None:
        """Take the cells as they are: Python ones with their numbers, and the URIs of all others."""
        snapshots = [(number, cell.snapshot) for number, cell in cells]
        self.version = (self.version or 0) + 1  # the client's may stay the same while a cell changes
        self.snapshot = NotebookSnapshot.of(self.uri, self.version, self.snapshot.encoding, snapshots, others)


class Documents(Workspace):
    """The workspace with our documents, and one key for all spellings of a URI."""

    def __init__(self, workspace: Workspace, encoding: Encoding) -> None:
        super().__init__(
            workspace.root_uri,
            types.TextDocumentSyncKind.Incremental,
            list(workspace.folders.values()),
            workspace.position_encoding,
        )
        self.encoding: Encoding = encoding
        self._open: dict[str, Document] = {}
        self._notebooks: dict[str, NotebookDocument] = {}
        self._closed: Document | None = None

    def __iter__(self) -> Iterator[Document]:
        """The text documents; cells are none."""
        return iter([document for document in self._open.values() if not isinstance(document, CellDocument)])

    @property
    def notebooks(self) -> tuple[NotebookDocument, ...]:
        return tuple(self._notebooks.values())

    def find(self, uri: str) -> Document | None:
        """The open document, cell or notebook with this URI."""
        key = uri_key(uri)
        return self._notebooks.get(key) or self._open.get(key)

    def text_document(self, uri: str) -> Document | None:
        """The open document or cell with this URI, which is edited as a text: no notebook."""
        return self._open.get(uri_key(uri))

    def containing(self, uri: str) -> Document | None:
        """The document that is checked to know about this one: itself, or the notebook of a cell."""
        document = self.find(uri)
        return self.find(document.notebook) if isinstance(document, CellDocument) else document

    def notebook(self, uri: str) -> NotebookDocument | None:
        """The open notebook with this URI."""
        return self._notebooks.get(uri_key(uri))

    def texts(self) -> dict[str, str]:
        """Texts of the open Python documents by path."""
        return {document.snapshot.path: document.snapshot.source for document in self if document.is_python}

    def is_current(self, snapshot: Snapshot) -> bool:
        """Whether this is still what the client shows."""
        document = self.find(snapshot.uri)
        return document is not None and document.snapshot is snapshot

    def get_text_document(self, doc_uri: str) -> TextDocument:
        return self.find(doc_uri) or super().get_text_document(doc_uri)

    def put_text_document(self, text_document: types.TextDocumentItem, notebook_uri: str | None = None) -> None:
        document = (
            Document(text_document, self.encoding)
            if notebook_uri is None
            else CellDocument(text_document, self.encoding, notebook_uri)
        )
        self._open[uri_key(text_document.uri)] = document

    def remove_text_document(self, doc_uri: str) -> None:
        self._closed = self._open.pop(uri_key(doc_uri), None)

    def just_closed(self, uri: str) -> Document | None:
        """The document that the message at hand has closed, as it was."""
        closed, self._closed = self._closed, None
        return closed if closed is not None and uri_key(closed.uri) == uri_key(uri) else None

    def update_text_document(
        self, text_doc: types.VersionedTextDocumentIdentifier, change: types.TextDocumentContentChangeEvent
    ) -> None:
        document = self._open.get(uri_key(text_doc.uri))
        if document is None:
            logger.warning("change of a document that is not open: %s", text_doc.uri)
            return
        document.version = text_doc.version
        document.apply_change(change)

    # -- notebooks -------------------------------------------------------------------------------

    def put_notebook_document(self, params: types.DidOpenNotebookDocumentParams) -> None:
        super().put_notebook_document(params)
        uri = params.notebook_document.uri
        self._notebooks[uri_key(uri)] = NotebookDocument(uri, self.encoding)
        self._follow(uri)

    def update_notebook_document(self, params: types.DidChangeNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        if self.get_notebook_document(notebook_uri=uri) is None:
            logger.warning("change of a notebook that is not open: %s", uri)
            return
        super().update_notebook_document(params)
        self._follow(uri)

    def remove_notebook_document(self, params: types.DidCloseNotebookDocumentParams) -> None:
        super().remove_notebook_document(params)
        key = uri_key(params.notebook_document.uri)
        self._notebooks.pop(key, None)
        for cell in list(self._open.values()):
            if isinstance(cell, CellDocument) and uri_key(cell.notebook) == key:
                self.remove_text_document(cell.uri)  # one that the client did not name

    def _follow(self, uri: str) -> None:
        """The notebook's text from its cells as they are."""
        stored, notebook = self.get_notebook_document(notebook_uri=uri), self._notebooks.get(uri_key(uri))
        if stored is None or notebook is None:
            return
        cells: list[tuple[int, CellDocument]] = []
        others: list[str] = []
        for number, cell in enumerate(stored.cells, 1):
            document = self._open.get(uri_key(cell.document))
            code = cell.kind == types.NotebookCellKind.Code
            if code and isinstance(document, CellDocument) and document.is_python_cell:
                cells.append((number, document))
            else:
                others.append(cell.document)
        notebook.follow(cells, others)
