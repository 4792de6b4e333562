"""The piece of source around a span, with line numbers and carets under the span."""

from __future__ import annotations

import unicodedata

from graphmend_lsp.cli.terminal import Paint
from graphmend_lsp.text import LineIndex, Span

CONTEXT = 2
TAB = 4
MAX_LINES = 6  # of a span; more are left out in its middle
MAX_WIDTH = 160


def source_frame(index: LineIndex, span: Span, paint: Paint) -> tuple[int, list[str]]:
    """The width of the line numbers and the lines of the frame."""
    first, last = span.line, max(span.line, min(span.end_line, index.line_count))
    if span.end_column == 0 and last > first:
        last -= 1  # the span ends with the line break before it
    above, below = first, last
    while above > max(1, first - CONTEXT):
        above -= 1
    while below < min(index.line_count, last + CONTEXT):
        below += 1
    while above < first and not index.line(above).strip():
        above += 1
    while below > last and not index.line(below).strip():
        below -= 1
    width = len(str(below))
    bar = paint(" " * (width + 1) + "|", "blue")
    rows = [bar]
    skip = range(first + MAX_LINES // 2, last - MAX_LINES // 2 + 1) if last - first >= MAX_LINES else range(0)
    for number in range(above, below + 1):
        if number in skip:
            if number == skip[0]:
                rows.append(paint("." * width, "blue"))
            continue
        line = index.line(number)
        start = end = 0
        if first <= number <= last:
            indent = len(line) - len(line.lstrip())
            start = span.column if number == first else indent
            end = span.end_column if number == span.end_line else len(line.rstrip())
        text, left, marks = _row(line, start, max(end, start))
        rows.append((paint(f"{number:>{width}} |", "blue") + f" {text}").rstrip())
        if first <= number <= last and (marks or first == last):
            rows.append(f"{bar} {' ' * left}{paint('^' * max(marks, 1), 'bold', 'red')}")
    rows.append(bar)
    return width, rows


def _row(line: str, start: int, end: int) -> tuple[str, int, int]:
    """A line as shown, and where in it the marks begin and how many there are, in terminal cells."""
    cells = [_cell(char) for char in line]
    used = 0
    for place, char in enumerate(line):
        if char == "\t":
            cells[place] = (" " * (TAB - used % TAB), TAB - used % TAB)
        used += cells[place][1]
    cells += [(" ", 1)] * (end - len(cells))
    prefix = ""
    if used > MAX_WIDTH:
        begin = max(0, min(start - MAX_WIDTH // 4, len(line) - MAX_WIDTH))
        stop = begin + MAX_WIDTH
        prefix = "... " if begin else ""
        suffix = [("...", 3)] if stop < len(line) else []
        cells, start, end = cells[begin:stop] + suffix, start - begin, min(end, stop) - begin
    left = len(prefix) + sum(width for _, width in cells[:start])
    marks = sum(width for _, width in cells[start:end])
    return prefix + "".join(text for text, _ in cells), left, marks


def _cell(char: str) -> tuple[str, int]:
    """How a character is shown and how many terminal cells it takes; nothing reaches the terminal as a command."""
    if " " <= char <= "~":
        return char, 1
    category = unicodedata.category(char)
    if category == "Cc":
        return (chr(0x2400 + ord(char)), 1) if ord(char) < 0x20 else ("\N{REPLACEMENT CHARACTER}", 1)
    if category in ("Cf", "Cs", "Zl", "Zp"):  # direction marks, joiners, lone surrogates, line separators
        return "\N{REPLACEMENT CHARACTER}", 1
    if category in ("Mn", "Me"):
        return char, 0
    return char, 2 if unicodedata.east_asian_width(char) in "WF" else 1
