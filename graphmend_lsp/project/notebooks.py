"""Notebook files (``.ipynb``): their cells, and the file with other sources of them.

Only the sources of changed cells are written anew, in the form that they have (a string, or a list of lines with the
file's spacing), and in them only the changed lines.  All else, outputs and escapes included, stays as it is.
"""

from __future__ import annotations

import codecs
import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from graphmend_lsp.notebook import Cell, Joined, join
from graphmend_lsp.project.files import SourceError, SourceFile, content
from graphmend_lsp.project.jsontext import Value, value_at
from graphmend_lsp.project.plain import MOST_DATA
from graphmend_lsp.text import LineIndex, split_lines

_PIECE = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[^\\]+", re.DOTALL)
_ESCAPED = re.compile(r"(?<!\\)(?:\\\\)*\\u(?!00[0-7])[0-9a-fA-F]{4}")
_LINE_ENDS = {"\\n": "\n", "\\u000a": "\n", "\\r": "\r", "\\u000d": "\r"}


@dataclass(frozen=True)
class NotebookFile:
    """A notebook as it was read: the file, its code cells, and where in the file their sources stand."""

    source: SourceFile
    joined: Joined
    places: tuple[Value, ...]

    @property
    def lines(self) -> tuple[int, ...]:
        """The line of the file in which each line of the joined text stands.

        Notebooks keep each line of a cell on a line of its own; where one does not, the source's line counts for all.
        """
        index = LineIndex(self.source.text)
        found: list[int] = []
        for place, cell in zip(self.places, self.joined.cells, strict=True):
            own: list[int] = []
            for string in [place] if place.raw.startswith('"') else place.items():
                line = index.position(string.start)[0]
                own += [line] * max(len(split_lines(json.loads(string.raw))) - 1, 1)
            count = cell.index.line_count
            own = (own or [index.position(place.start)[0]])[:count]
            found += [*own, *own[-1:] * (count + 1 - len(own))]  # an empty line stands behind the cell
        return tuple(found)

    def with_cells(self, cells: Joined) -> str:
        """The text of the file with the sources of ``cells``, which are the same cells.

        Raises:
            SourceError: it would not be that.
        """
        text = self.source.text
        for place, old, new in reversed(list(zip(self.places, self.joined.cells, cells.cells, strict=True))):
            if old.source != new.source:
                text = text[: place.start] + _written(place, old.source, new.source) + text[place.end :]
        if [source for _, source in _code_cells(json.loads(text))] != [cell.source for cell in cells.cells]:
            raise SourceError("internal error: the notebook written is not the one mended; not written; please report")
        return text


def read(path: str) -> NotebookFile:
    """A notebook.

    Raises:
        SourceError: it cannot be read, or is no notebook with Python in it.
    """
    return decode(content(path, MOST_DATA), path)


def decode(data: bytes, path: str) -> NotebookFile:
    """A notebook from the bytes of its file.

    Raises:
        SourceError: it is no notebook with Python in it.
    """
    bom = data.startswith(codecs.BOM_UTF8)
    try:
        text = data[len(codecs.BOM_UTF8) if bom else 0 :].decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(f"not utf-8 text (byte 0x{data[error.start]:02x} in line {line})") from None
    try:
        content: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise SourceError(f"not a notebook: not JSON (line {error.lineno}: {error.msg})") from None
    except RecursionError:
        raise SourceError("not a notebook: nested too deeply to read") from None
    cells = _code_cells(content)
    places = _places(text)
    if len(places) != len(cast("list[Any]", cast("dict[str, Any]", content)["cells"])):
        raise SourceError("not a notebook: a cell has no source")
    joined = join(Cell(source, number) for number, source in cells)
    return NotebookFile(
        SourceFile(path, text, "utf-8", bom, data), joined, tuple(places[number - 1] for number, _ in cells)
    )


def _code_cells(content: object) -> list[tuple[int, str]]:
    """Numbers and sources of the code cells of a notebook's JSON."""
    if not isinstance(content, dict):
        raise SourceError("not a notebook: not an object")
    notebook = cast("dict[str, Any]", content)
    version = notebook.get("nbformat")
    if isinstance(version, int) and version < 4:
        raise SourceError(f"notebook format {version} is too old: save it with a current Jupyter (format 4)")
    cells: object = notebook.get("cells")
    if not isinstance(version, int) or not isinstance(cells, list):
        raise SourceError("not a notebook: it has no format number or no cells")
    language = _language(notebook.get("metadata"))
    if language and not re.match(r"i?python|xpython", language.lower()):
        raise SourceError(f"not checked: a notebook of {language}, not of Python")
    found: list[tuple[int, str]] = []
    for number, cell in enumerate(cast("list[Any]", cells), 1):
        source = _source(cell)
        if source is None:
            raise SourceError(f"not a notebook: cell {number} has no source")
        if cell.get("cell_type") == "code":
            found.append((number, source))
    return found


def _source(cell: Any) -> str | None:
    source = cast("dict[str, Any]", cell).get("source") if isinstance(cell, dict) else None
    if isinstance(source, str):
        return source
    lines: list[Any] = cast("list[Any]", source) if isinstance(source, list) else [None]
    return "".join(lines) if all(isinstance(line, str) for line in lines) else None


def _language(metadata: object) -> str:
    """The language of the notebook's kernel; "" where it does not say."""
    sections = cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {}
    for section, key in (("language_info", "name"), ("kernelspec", "language"), ("kernelspec", "name")):
        values: object = sections.get(section)
        value: object = cast("dict[str, Any]", values).get(key) if isinstance(values, dict) else None
        if isinstance(value, str) and value and (key != "name" or section != "kernelspec" or value in _OTHER_KERNELS):
            return value
    return ""


_OTHER_KERNELS = frozenset(("ir", "bash", "javascript", "deno", "rust"))
"""Kernels by name, which is free otherwise ("torch-env")."""


def _places(text: str) -> list[Value]:
    """Where the sources of all cells stand."""
    cells = value_at(text, 0).member("cells")
    assert cells is not None
    places = [cell.member("source") for cell in cells.items()]
    return [place for place in places if place is not None]


# -- sources as JSON ---------------------------------------------------------------------------------


def _written(place: Value, old: str, new: str) -> str:
    """The JSON of a changed source, with its unchanged lines as they are written now."""
    if place.raw.startswith('"'):
        return '"' + "".join(_encoded(place, old, new)) + '"'
    items = list(place.items())
    opening = place.text[place.start : items[0].start] if items else "["
    closing = place.text[items[-1].end : place.end] if items else "]"
    if len(items) > 1:
        between = place.text[items[0].end : items[1].start]
    elif len(opening) > 1:
        between = "," + opening[1:]
    else:
        between = ", " if place.text[place.start - 1] == " " else ","
    lines = _encoded(place, old, new)
    if not lines[-1]:
        del lines[-1]  # no item of its own
    return opening + between.join(f'"{line}"' for line in lines) + closing


def _encoded(place: Value, old: str, new: str) -> list[str]:
    """The lines of ``new`` as they stand between the quotes of JSON strings; the last one may be empty."""
    raw = _raw_lines([place] if place.raw.startswith('"') else place.items())
    before, after = [_body(line) for line in split_lines(old)], split_lines(new)
    escape = place.text.isascii() and _ESCAPED.search(place.text) is not None
    lines: list[str] = []
    matcher = difflib.SequenceMatcher(None, before, [_body(line) for line in after], autojunk=False)
    for kind, start, _, first, last in matcher.get_opcodes():
        for number in range(first, last):
            line = after[number]
            body = _body(line)
            text = raw[start + number - first] if kind == "equal" else _json(body, escape)
            lines.append(text + _json(line[len(body) :], escape))
    return lines


def _body(line: str) -> str:
    return line.rstrip("\r\n")


def _json(text: str, escape: bool) -> str:
    lone = any("\ud800" <= char <= "\udfff" for char in text)  # half a pair can only be written as an escape
    return json.dumps(text, ensure_ascii=escape or lone)[1:-1]


def _raw_lines(strings: Iterable[Value]) -> list[str]:
    """The lines of the JSON strings together, as they are written, without their endings."""
    lines: list[str] = []
    current: list[str] = []
    after_return = False
    for string in strings:
        for piece in _PIECE.findall(string.raw[1:-1]):
            end = _LINE_ENDS.get(piece.lower())
            if end is None:
                current.append(piece)
            elif not (after_return and end == "\n"):
                lines.append("".join(current))
                current = []
            after_return = end == "\r"
    return [*lines, "".join(current)]
