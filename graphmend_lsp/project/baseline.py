"""A file of findings that are known and left for later: what is in it is not reported.

A finding is known by its file, its rule and its fingerprint (``fingerprint.py``), never by a line.  The same finding
twice in a function is two: where the file has one of them, the other one is new.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, cast

from graphmend_lsp import __version__
from graphmend_lsp.check import Analysis
from graphmend_lsp.finding import Finding
from graphmend_lsp.project import files, plain
from graphmend_lsp.project.fingerprint import numbered, statement
from graphmend_lsp.text import LineIndex

FORM = 1
"""Of the file; another form of what is in it needs another number."""
_MAX_WORDS = 100
"""Characters of a statement that are written for the reader."""


class BaselineError(Exception):
    """A baseline that cannot be read or written; the message is for the user and names no path."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, order=True, slots=True)
class Entry:
    """``count`` findings that are alike; ``function`` and ``statement`` are for those who read the file."""

    code: str
    function: str
    statement: str
    fingerprint: str
    count: int = 1

    @property
    def key(self) -> tuple[str, str]:
        return self.code, self.fingerprint


@dataclass(frozen=True)
class Baseline:
    """What is known, by file: paths are written from the folder of ``path``, with ``/``."""

    path: str
    files: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict[str, "tuple[Entry, ...]"])

    def name(self, path: str) -> str:
        """A file as the baseline names it, whatever links lead to the two."""
        try:
            found = os.path.relpath(os.path.realpath(path), os.path.realpath(os.path.dirname(self.path)))
        except ValueError:  # another drive
            found = path
        return found.replace(os.sep, "/")

    def place(self, name: str) -> str:
        """The path of a file that the baseline names."""
        return os.path.normpath(os.path.join(os.path.realpath(os.path.dirname(self.path)), name.replace("/", os.sep)))

    def known(self, path: str, findings: Iterable[Finding], text: str) -> frozenset[int]:
        """The places in ``findings``, which are those of one file, of what is in the baseline."""
        allowed = {entry.key: entry.count for entry in self.files.get(self.name(path), ())}
        if not allowed:
            return frozenset()
        rows = enumerate(numbered(findings, LineIndex(text)))
        return frozenset(
            place for place, (finding, mark, number) in rows if number <= allowed.get((finding.code, mark), 0)
        )

    def text(self) -> str:
        """The file's content: sorted, so that two people's changes of it meet as seldom as can be."""
        rows = {
            name: [
                {
                    "code": entry.code,
                    "function": entry.function,
                    "statement": entry.statement,
                    "fingerprint": entry.fingerprint,
                    "count": entry.count,
                }
                for entry in sorted(entries)
            ]
            for name, entries in sorted(self.files.items())
            if entries
        }
        content = {"version": FORM, "graphmend": __version__, "findings": rows}
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        return text.encode("utf-8", "backslashreplace").decode("utf-8")  # half a character is escaped, as in JSON

    def write(self) -> None:
        """Replace the file.

        Raises:
            BaselineError: it cannot be written.
        """
        try:
            files.create(self.path, self.text())
        except (files.SourceError, UnicodeEncodeError) as error:
            raise BaselineError(str(error)) from None


def entries_of(findings: Iterable[Finding], text: str) -> tuple[Entry, ...]:
    """What a baseline holds of the findings of one file; ``text`` is what their places refer to."""
    index = LineIndex(text)
    found: dict[tuple[str, str], Entry] = {}
    for finding, mark, number in numbered(findings, index):
        words = " ".join(statement(finding, index).split())
        words = words if len(words) <= _MAX_WORDS else words[: _MAX_WORDS - 1] + "…"
        words = words.encode("utf-8", "replace").decode("utf-8")
        found[finding.code, mark] = Entry(finding.code, finding.function, words, mark, number)
    return tuple(sorted(found.values()))


def load(path: str) -> Baseline:
    """The baseline at an absolute path.

    Raises:
        BaselineError: there is none, or it is not one that this release can read.
    """
    try:
        state = os.stat(path)
    except FileNotFoundError:
        raise BaselineError("no such baseline; --write-baseline makes one") from None
    except OSError as error:
        raise BaselineError(files.reason(error)) from None
    except ValueError as error:
        raise BaselineError(str(error)) from None
    made = _load(path, state.st_mtime_ns, state.st_size)
    if isinstance(made, BaselineError):
        raise BaselineError(str(made), made.line)
    return made


@lru_cache(maxsize=64)
def _load(path: str, mtime_ns: int, size: int) -> Baseline | BaselineError:
    try:
        return _parsed(path)
    except BaselineError as error:
        return error


def _parsed(path: str) -> Baseline:
    try:
        content: object = json.loads(plain.read(path, plain.MOST_DATA)[1].decode("utf-8-sig"))
    except OSError as error:
        raise BaselineError(files.reason(error)) from None
    except json.JSONDecodeError as error:
        message = f"not a baseline: not JSON ({error.msg}); --write-baseline makes it anew"
        raise BaselineError(message, error.lineno) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise BaselineError(f"not a baseline: {error}; --write-baseline makes it anew") from None
    if not isinstance(content, dict) or "version" not in content or "findings" not in content:
        raise BaselineError("not a baseline: it has no version or no findings; --write-baseline makes one")
    document = cast("dict[str, Any]", content)
    if document["version"] != FORM:
        by = document.get("graphmend")
        raise BaselineError(
            f"a baseline of form {document['version']!r}{f', by graphmend {by}' if by else ''}; this release "
            f"({__version__}) reads form {FORM}: --write-baseline makes it anew"
        )
    rows = document["findings"]
    if not isinstance(rows, dict):
        raise BaselineError("not a baseline: findings is not a table; --write-baseline makes one")
    found: dict[str, tuple[Entry, ...]] = {}
    for name, listed in cast("dict[str, Any]", rows).items():
        entries = [_entry(row) for row in cast("list[Any]", listed)] if isinstance(listed, list) else [None]
        if None in entries:
            raise BaselineError(f"not a baseline: what it says of {name} is not understood; --write-baseline makes one")
        found[name] = _merged(entry for entry in entries if entry is not None)
    return Baseline(path, found)


def _entry(row: object) -> Entry | None:
    if not isinstance(row, dict):
        return None
    fields = cast("dict[str, Any]", row)
    texts = [fields.get(key, "") for key in ("code", "function", "statement", "fingerprint")]
    count = fields.get("count", 1)
    if not all(isinstance(text, str) for text in texts) or not texts[0] or not texts[3]:
        return None
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        return None
    return Entry(texts[0], texts[1], texts[2], texts[3], count)


def _merged(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """A merge of two branches may leave one entry twice: the larger count holds."""
    found: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        known = found.get(entry.key)
        if known is None or known.count < entry.count:
            found[entry.key] = entry
    return tuple(found.values())


def demoted(analysis: Analysis, baseline: Baseline | None) -> Analysis:
    """What an editor shows: findings that are known are hints, with all their offers."""
    known = frozenset[int]() if baseline is None else baseline.known(analysis.path, analysis.findings, analysis.text)
    if not known:
        return analysis
    findings = (replace(f, severity="hint") if number in known else f for number, f in enumerate(analysis.findings))
    return replace(analysis, findings=tuple(findings))
