"""What typing in a large file costs in language servers: CPU and wall time of each edit, of opening, and memory.

    python bench/latency FILE [--tools FOLDER] [--characters N] [--only NAME,...]

FILE is opened in each server in turn; statements are typed in several functions, key by key, then lines are pasted and
removed. After every edit the client waits for diagnostics and until the server rests. CPU is that of the server with
its threads and child processes, also as multiples of ``ast.parse`` of the file in the same minutes. ``--tools`` is the
``bin`` folder of an environment with other servers (ruff, ty, python-lsp-server, jedi-language-server, basedpyright).
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from client import Client

_SERVERS = {
    "graphmend": ["{python}", "-m", "graphmend_lsp", "server"],
    "ruff": ["{tools}/ruff", "server"],
    "ty": ["{tools}/ty", "server"],
    "jedi-language-server": ["{tools}/jedi-language-server"],
    "pylsp": ["{tools}/pylsp"],
    "basedpyright": ["{tools}/basedpyright-langserver", "--stdio"],
}
_STATEMENTS = ("scaled = hidden_states * 0.5 + 1.0  # ok", "if scaled.sum() > 0: scaled = -scaled")
_PASTE = "\n\ndef pasted(x, y):\n    if x.sum() > y:\n        x = x.clamp(-y, y)\n    return x\n"
_PLACES = 5
_OPENING = 300.0
"""Seconds: basedpyright reads all that a file of transformers imports, which is nearly all of transformers."""
_COLUMNS = (
    *("server", "open: CPU", "of ast.parse", "to diagnostics", "edit: CPU p50", "p95", "of ast.parse p50", "p95"),
    *("p50 where the text does not parse", "wall p50", "p95", "MiB after opening", "at the end"),
)


@dataclass
class Costs:
    """Seconds of CPU and wall time, by kind of edit."""

    open_cpu: float = 0.0
    open_wall: float = 0.0
    cpu: list[float] = field(default_factory=list[float])
    broken: list[float] = field(default_factory=list[float])
    """CPU of the edits that leave a text which does not parse; those are in ``cpu``, too."""
    wall: list[float] = field(default_factory=list[float])
    parse: list[float] = field(default_factory=list[float])
    memory: float = 0.0
    memory_after: float = 0.0
    silent: int = 0


def _parse_seconds(text: str) -> float:
    best = 9.0
    for _ in range(3):
        start = time.process_time()
        ast.parse(text)
        best = min(best, time.process_time() - start)
    return best


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


class Text:
    """The document as the client has it."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")

    def replace(self, line: int, column: int, end_line: int, end_column: int, new: str) -> str:
        start, end = self.lines[line][:column], self.lines[end_line][end_column:]
        self.lines[line : end_line + 1] = (start + new + end).split("\n")
        return "\n".join(self.lines)


def _edits(text: Text, characters: int) -> Iterator[tuple[int, int, int, int, str]]:
    """Ranges and what comes in their place: keys in several places, a paste, and its undoing."""
    found = [n for n, line in enumerate(text.lines) if re.match(r" {8}\w.* = .*\w\)?$", line)]
    places = [found[len(found) * (2 * i + 1) // (2 * _PLACES)] for i in range(_PLACES)]
    for number, place in enumerate(reversed(places)):
        typed = "\n        " + _STATEMENTS[number % len(_STATEMENTS)]
        column, line = len(text.lines[place]), place
        yield line, column, line, column, typed[:9]
        line, column = line + 1, 8
        for key in typed[9 : 9 + characters // _PLACES]:
            yield line, column, line, column, key
            column += 1
    end = len(text.lines) - 1
    yield end, len(text.lines[end]), end, len(text.lines[end]), _PASTE
    last = len(text.lines) - 1
    yield end, 0, last, len(text.lines[last]), ""


def measure(command: list[str], path: Path, characters: int) -> Costs:
    """One server's costs."""
    source = path.read_text()
    costs = Costs(parse=[_parse_seconds(source)])
    client = Client(command, path.parents[2])
    before, start = client.settled(), time.monotonic()
    client.open(path, source)
    client.diagnostics(_OPENING)
    costs.open_wall = time.monotonic() - start
    costs.open_cpu = client.settled(_OPENING) - before
    costs.memory = client.memory()
    text = Text(source)
    for number, edit in enumerate(_edits(text, characters)):
        if number % 40 == 0:
            costs.parse.append(_parse_seconds(source))
        before, start = client.cpu(), time.monotonic()
        new = text.replace(*edit)
        client.change(*edit, new)
        costs.silent += not client.diagnostics(10.0)
        costs.wall.append(time.monotonic() - start)
        costs.cpu.append(client.settled() - before)
        if not _parses(new):
            costs.broken.append(costs.cpu[-1])
    costs.memory_after = client.memory()
    client.end()
    return costs


def _at(values: list[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--tools", default="")
    parser.add_argument("--characters", type=int, default=200)
    parser.add_argument("--only", default=",".join(_SERVERS))
    options = parser.parse_args()
    print("| " + " | ".join(_COLUMNS) + " |")
    print("|" + " --- |" * len(_COLUMNS))
    for name in options.only.split(","):
        command = [part.format(python=sys.executable, tools=options.tools) for part in _SERVERS[name]]
        if "{tools}" in _SERVERS[name][0] and not Path(command[0]).exists():
            continue
        c = measure(command, options.file.resolve(), options.characters)
        parse = _at(c.parse, 0.5)
        row = [
            name,
            f"{c.open_cpu * 1000:,.0f} ms",
            f"{c.open_cpu / parse:.1f}",
            f"{c.open_wall * 1000:,.0f} ms",
            *(f"{_at(c.cpu, share) * 1000:,.0f} ms" for share in (0.5, 0.95)),
            *(f"{_at(c.cpu, share) / parse:.1f}" for share in (0.5, 0.95)),
            f"{_at(c.broken, 0.5) * 1000:,.0f} ms" if c.broken else "-",
            *(f"{_at(c.wall, share) * 1000:,.0f} ms" for share in (0.5, 0.95)),
            f"{c.memory:.0f}",
            f"{c.memory_after:.0f}",
        ]
        silent = f" ({c.silent} of {len(c.cpu)} edits without an answer in 10 s)" if c.silent else ""
        print("| " + " | ".join(row) + f" |{silent}", flush=True)
        print(f"{name}: ast.parse {parse * 1000:.0f} ms, {len(c.cpu)} edits, {len(c.broken)} broken", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
