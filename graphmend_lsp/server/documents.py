"""Open documents: text kept in step with the client, and what is known about it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from lsprotocol import types
from pygls.workspace import TextDocument, Workspace

from graphmend_lsp.check import Analysis, ProgramView
from graphmend_lsp.parse import Parsed
from graphmend_lsp.profile.targets import Outline
from graphmend_lsp.server.translate import Positions, path_of, uri_key
from graphmend_lsp.settings import Settings
from graphmend_lsp.text import Encoding, LineIndex, split_lines

logger = logging.getLogger(__name__)

_BOM = "\ufeff"


@dataclass(frozen=True)
class Snapshot:
    """One version of one document."""

    uri: str
    version: int | None
    text: str
    encoding: Encoding

    @property
    def path(self) -> str:
        return path_of(self.uri)

    @property
    def source(self) -> str:
        """The text as the analysis reads it: without a byte order mark, as files are read, too."""
        return self.text.removeprefix(_BOM)

    @cached_property
    def positions(self) -> Positions:
        """Positions in ``source``."""
        return Positions(self.index, self.encoding, len(self.text) - len(self.source))

    @cached_property
    def index(self) -> LineIndex:
        return LineIndex(self.text)


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
        super().__init__(item.uri, item.text, item.version, item.language_id)
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
            self.snapshot = Snapshot(self.uri, version, self.snapshot.text, self.snapshot.encoding)


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

    def __iter__(self) -> Iterator[Document]:
        return iter(list(self._open.values()))

    def find(self, uri: str) -> Document | None:
        """The open document with this URI."""
        return self._open.get(uri_key(uri))

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
        self._open[uri_key(text_document.uri)] = Document(text_document, self.encoding)

    def remove_text_document(self, doc_uri: str) -> None:
        self._open.pop(uri_key(doc_uri), None)

    def update_text_document(
        self, text_doc: types.VersionedTextDocumentIdentifier, change: types.TextDocumentContentChangeEvent
    ) -> None:
        document = self.find(text_doc.uri)
        if document is None:
            logger.warning("change of a document that is not open: %s", text_doc.uri)
            return
        document.version = text_doc.version
        document.apply_change(change)
