"""What happens beside the results: graph breaks, recompilations, and everything that is said."""

from __future__ import annotations

import importlib
import io
import logging
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PACKAGES = ("transformers", "chronos", "table2_standins")


class Dynamo(logging.Handler):
    """The texts of Dynamo's `graph_breaks` and `recompiles` artifacts. `explain()` misses breaks that these name."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.texts: list[str] = []
        importlib.import_module("torch._dynamo")  # without it the loggers do not exist
        log: Any = importlib.import_module("torch._logging")
        log.set_logs(graph_breaks=True, recompiles=True)  # first: it replaces the handlers
        for name in list(logging.root.manager.loggerDict):
            if name.endswith(("__graph_breaks", "__recompiles")):
                logger = logging.getLogger(name)
                logger.handlers[:] = [self]
                logger.propagate = False
                logger.setLevel(logging.DEBUG)

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())

    def breaks(self, start: int = 0) -> list[dict[str, Any]]:
        """The break events since `start`."""
        return [event(text) for text in self.texts[start:] if "raph break" in text]

    def recompiles(self, start: int = 0) -> int:
        return sum("ecompil" in text.partition("\n")[0] for text in self.texts[start:])


def event(text: str) -> dict[str, Any]:
    """File and line, id and title of one break event. The title is the line before "Explanation:"."""
    at = re.search(r"user code at (.+?):(\d+)", text)
    stack = re.findall(r'File "([^"]+)", line (\d+)', text)
    where = at.groups() if at else (stack[-1] if stack else ("?", "0"))
    number = re.search(r"gb(\d{4})\.html", text)
    title = re.search(r"(?m)^(?:Graph Break Reason: )?(.*)\n\s+Explanation:", text)
    return {
        "file": within(where[0]),
        "line": int(where[1]),
        "id": f"GB{number[1]}" if number else None,
        "title": title[1].strip() if title else text[:200],
    }


def within(path: str) -> str:
    """A file of one of the packages, from the package's folder on: the same in every copy."""
    parts = path.replace("\\", "/").split("/")
    for package in PACKAGES:
        if package in parts:
            return "/".join(parts[parts.index(package) :])
    return parts[-1]


def imported() -> list[str]:
    """The packages' files that this process has imported."""
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] in PACKAGES]
    files = [getattr(module, "__file__", None) or "" for module in modules]
    return sorted({within(file) for file in files if file.endswith(".py")})


@contextmanager
def running() -> Iterator[set[str]]:
    """The packages' files whose functions are called meanwhile."""
    codes: set[Any] = set()

    def called(frame: Any, kind: str, _: Any) -> None:
        if kind == "call":
            codes.add(frame.f_code)

    files: set[str] = set()
    sys.setprofile(called)
    try:
        yield files
    finally:
        sys.setprofile(None)
        found = {within(code.co_filename) for code in codes}
        files.update(file for file in found if file.partition("/")[0] in PACKAGES)


class _Records(logging.Handler):
    def __init__(self, said: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self.said = said

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(f"log {record.levelname} {record.name}: {record.getMessage()}")


class _Printed(io.StringIO):
    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self.said = said

    def write(self, text: str) -> int:
        if text.strip():
            self.said.append(f"printed {text}")
        return len(text)


@contextmanager
def listening() -> Iterator[list[str]]:
    """One list of log records, warnings and prints, in their order. Dynamo's own warnings are left out."""
    said: list[str] = []
    records = _Records(said)
    for package in PACKAGES:
        logging.getLogger(package).addHandler(records)

    def show(message: Any, category: type, filename: str, *rest: Any, **more: Any) -> None:
        if not re.search(r"[\\/]torch[\\/]_(dynamo|inductor|functorch)[\\/]", filename):
            said.append(f"warning {category.__name__}: {message}")

    printed, sys.stdout = sys.stdout, _Printed(said)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show
            yield said
    finally:
        sys.stdout = printed
        for package in PACKAGES:
            logging.getLogger(package).removeHandler(records)
