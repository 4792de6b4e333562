"""Between our types and the protocol's: the only module that knows client units.

Ours are 1-based lines and 0-based columns in code points; a client's are 0-based lines and columns in
the units of the negotiated encoding.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, unquote, urlsplit

from lsprotocol import types
from pygls.uris import from_fs_path

from graphmend_lsp.finding import Evidence, Finding, Severity
from graphmend_lsp.server.client import Client
from graphmend_lsp.text import Edit, Encoding, LineIndex, Span, to_code_points, units

if TYPE_CHECKING:
    from graphmend_lsp.server.snapshots import Snapshot

SOURCE = "GraphMend"
_DRIVE = re.compile(r"/[a-zA-Z]:")

_SEVERITIES: dict[Severity, types.DiagnosticSeverity] = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
    "hint": types.DiagnosticSeverity.Hint,
}


@dataclass(frozen=True)
class Positions:
    """Positions in one text, ours and the client's.

    ``skipped`` is the length of a byte order mark, which our columns do not count; ``above`` how many lines of ours
    stand above the text, where it is a cell of a notebook.
    """

    index: LineIndex
    encoding: Encoding
    skipped: int = 0
    above: int = 0

    def position(self, line: int, column: int) -> types.Position:
        """Our position in client units."""
        line -= self.above
        if line > self.index.line_count:
            line, column = self.index.line_count, sys.maxsize
        text = self.index.line(line)
        column = max(column, 0) + (self.skipped if line == 1 else 0)
        return types.Position(max(line - 1, 0), units(text[:column], self.encoding))

    def range(self, span: Span) -> types.Range:
        """Our range in client units."""
        return types.Range(self.position(span.line, span.column), self.position(span.end_line, span.end_column))

    def place(self, position: types.Position) -> tuple[int, int]:
        """A client's position in ours, clamped to the line and to the text."""
        line = position.line + 1
        if line > self.index.line_count:
            line, column = self.index.position(len(self.index.text))
        else:
            column = to_code_points(self.index.line(line), position.character, self.encoding)
        return line + self.above, max(column - self.skipped, 0) if line == 1 else column

    def span(self, range_: types.Range) -> Span:
        """A client's range in ours; a reversed one is turned round."""
        start, end = sorted((self.place(range_.start), self.place(range_.end)))
        return Span(*start, *end)

    def text_edit(self, edit: Edit) -> types.TextEdit:
        return types.TextEdit(self.range(edit.span), edit.text)


def is_uri(uri: str) -> bool:
    """Whether the parts of a URI can be told apart."""
    try:
        urlsplit(uri)
    except ValueError:  # "http://["
        return False
    return True


def path_of(uri: str) -> str:
    """File-system path of a URI; for other schemes ("untitled:Untitled-1") the URI itself."""
    return _file_path(uri) or uri


def uri_of(path: str) -> str:
    """URI of a path as ``path_of`` gives it."""
    if not os.path.isabs(path) and ":" in path:
        return path
    try:
        return from_fs_path(path) or path
    except ValueError:  # a name that is not UTF-8
        return "file://" + quote(os.fsencode(path))


def uri_key(uri: str) -> str:
    """One key for all spellings of a URI (``file:///c%3A/x`` is ``file:///C:/x``)."""
    path = _file_path(uri)
    if path is None:
        return unquote(uri)
    _, mark, fragment = uri.partition("#")  # a cell of a notebook
    return "file:" + path + mark + fragment


def _file_path(uri: str) -> str | None:
    """The path in a ``file:`` URI, or None if no file can have it.

    Bytes that are not UTF-8 are kept as ``os.fsdecode`` keeps them; pygls loses them.
    """
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file":
        return None
    path, host = unquote(parts.path, errors="surrogateescape"), unquote(parts.netloc)
    if host and path:
        path = f"//{host}{path}"
    elif _DRIVE.match(path):
        path = path[1].lower() + path[2:]
    try:
        os.fsencode(path)
    except UnicodeEncodeError:  # half a character
        return None
    if "\0" in path:
        return None
    return path.replace("/", "\\") if sys.platform == "win32" else path


def severity(value: Severity) -> types.DiagnosticSeverity:
    return _SEVERITIES[value]


@dataclass(frozen=True)
class FindingKey:
    """Enough to find a finding again after a round trip through the client."""

    uri: str
    version: int | None
    code: str
    function: str
    span: Span

    @classmethod
    def of(cls, finding: Finding, uri: str, version: int | None) -> FindingKey:
        return cls(uri, version, finding.code, finding.function, finding.span)

    def to_data(self) -> dict[str, Any]:
        span = self.span
        return {
            "uri": self.uri,
            "version": self.version,
            "code": self.code,
            "function": self.function,
            "span": [span.line, span.column, span.end_line, span.end_column],
        }

    @classmethod
    def from_data(cls, data: object) -> FindingKey:
        """The key in ``data``, which a client may have changed.

        Raises:
            ValueError: it is not one of ours.
        """
        fields = as_object(data)
        uri, version, code, function = (fields.get(name) for name in ("uri", "version", "code", "function"))
        span = fields.get("span")
        if not (isinstance(uri, str) and isinstance(code, str) and isinstance(function, str)):
            raise ValueError("expected an object with uri, version, code, function and span")
        if not (version is None or isinstance(version, int)):
            raise ValueError("version is not a number")
        numbers = cast("list[object]", span) if isinstance(span, list) else []
        whole = [number for number in numbers if isinstance(number, int)]
        if len(numbers) != 4 or len(whole) != 4:
            raise ValueError("span is not a list of four numbers")
        return cls(uri, version, code, function, Span(*whole))


def as_object(data: object) -> dict[str, object]:
    """``data`` as a JSON object.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(data, dict):
        raise ValueError("expected an object")
    return {str(name): value for name, value in cast("dict[object, object]", data).items()}


def diagnostic(
    finding: Finding,
    *,
    snapshot: Snapshot,
    client: Client,
    other_text: Callable[[str], LineIndex | None],
) -> types.Diagnostic:
    """The diagnostic for a finding; ``other_text`` gives the text of another file by path."""
    related = [*finding.evidence, *_why_not(finding)]
    message = finding.message
    if not client.related_information:
        message = "\n".join([message, *(_folded(step, finding, snapshot) for step in related)])
    described = client.code_description and finding.gb_url
    return types.Diagnostic(
        range=snapshot.at(finding.span)[1].range(finding.span),
        message=message,
        severity=severity(finding.severity),
        code=finding.code,
        code_description=types.CodeDescription(href=described) if described else None,
        source=SOURCE,
        related_information=[_related(step, snapshot, other_text) for step in related]
        if client.related_information and related
        else None,
        data=FindingKey.of(finding, snapshot.uri, snapshot.version).to_data() if client.diagnostic_data else None,
    )


def _why_not(finding: Finding) -> Iterable[Evidence]:
    """Where no safe offer exists: the reasons, as further steps."""
    if any(offer.safety == "safe" for offer in finding.offers):
        return
    for refusal in finding.refusals:
        yield Evidence(
            refusal.span or finding.span, f"no safe fix ({refusal.kind}, {refusal.reason}): {refusal.message}"
        )


def _folded(step: Evidence, finding: Finding, snapshot: Snapshot) -> str:
    line = step.span.line
    place = snapshot.words(line, finding.span.line) if step.path is None else f"{step.path}:{line}"
    return f"{place}: {step.message}"


def _related(
    step: Evidence, snapshot: Snapshot, other_text: Callable[[str], LineIndex | None]
) -> types.DiagnosticRelatedInformation:
    uri, positions = snapshot.at(step.span) if step.path is None else ("", snapshot.positions)
    if step.path is not None:
        uri = uri_of(step.path)
        index = other_text(step.path)
        if index is None:  # unreadable: columns as they are
            start = types.Position(max(step.span.line - 1, 0), step.span.column)
            end = types.Position(max(step.span.end_line - 1, 0), step.span.end_column)
            return types.DiagnosticRelatedInformation(types.Location(uri, types.Range(start, end)), step.message)
        positions = Positions(index, positions.encoding)
    return types.DiagnosticRelatedInformation(types.Location(uri, positions.range(step.span)), step.message)
