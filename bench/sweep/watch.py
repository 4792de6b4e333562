"""In the measuring interpreter: what Dynamo breaks at, what it traced, and what ran in eager.

Needs the standard library and torch only. Places are kept by file relative to the folder that holds the packages.
"""

from __future__ import annotations

import dis
import logging
import re
import sys
from types import CodeType, FrameType
from typing import Any

# The instructions that tell that an expression was evaluated, by the first letters of their names.
_KINDS = (
    ("POP_JUMP", "test"),
    ("JUMP_IF", "test"),
    ("UNARY_NOT", "test"),
    ("CONTAINS_OP", "test"),
    ("FOR_ITER", "loop"),
    ("GET_ITER", "loop"),
    ("CALL", "call"),
    ("FORMAT_VALUE", "call"),
    ("BINARY_SUBSCR", "other"),
    ("STORE_SUBSCR", "other"),
    ("LOAD_ASSERTION_ERROR", "other"),
)
KIND_OF = {number: kind for number, name in enumerate(dis.opname) for start, kind in _KINDS if name.startswith(start)}

Place = tuple[str, int, int, int, int, str]  # file, line, column, end line, end column (0-based UTF-8 bytes), kind


class Breaks(logging.Handler):
    """Each graph break that Dynamo logs, with the whole stack of the user's code."""

    def __init__(self, base: str) -> None:
        super().__init__(logging.DEBUG)
        self.base = base
        self.rows: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if "raph break" in text:
            self.rows.append(self._parsed(text))

    def _parsed(self, text: str) -> dict[str, Any]:
        head, _, below = text.partition("User code traceback:")
        stack = [
            [self._relative(file), int(line), name]
            for file, line, name in re.findall(r'File "([^"]+)", line (\d+), in (.+)', below or text)
        ]
        at = re.search(r"user code at (.+?):(\d+)", text)
        if at and not stack:
            stack = [[self._relative(at[1]), int(at[2]), "?"]]
        return {
            "stack": stack,
            "titles": re.findall(r"(?m)^(?:Graph Break Reason: )?(\S.*)\n\s+Explanation:", head) or [text[:200]],
            "ids": [f"GB{number}" for number in re.findall(r"gb(\d{4})\.html", head)],
            "context": "".join(re.findall(r"Developer debug context: (.*)", head)[:1])[:300],
            "skipped": "Skipping the function" in head or "will skip tracing the frame" in text or "GB7000" in head,
        }

    def _relative(self, file: str) -> str:
        return file[len(self.base) :] if file.startswith(self.base) else file


def listen(base: str) -> Breaks:
    """Collect every break event in full. ``base`` ends with a separator."""
    import torch
    import torch._dynamo

    dynamo: Any = torch
    dynamo._logging.set_logs(graph_breaks=True)  # first: it replaces the handlers
    handler = Breaks(base)
    for name in list(logging.root.manager.loggerDict):
        if name.endswith("__graph_breaks"):
            logger = logging.getLogger(name)
            logger.handlers[:] = [handler]
            logger.propagate = False
            logger.setLevel(logging.DEBUG)
    checker = getattr(dynamo._dynamo.utils, "graph_break_dup_warning_checker", None)
    if checker is not None:  # else the stack of the second break at a place is left out
        checker.add = lambda key: True
    return handler


class Traced:
    """The instructions that Dynamo has gone through symbolically, in files below ``base``."""

    def __init__(self, base: str, packages: tuple[str, ...]) -> None:
        self.folders = tuple(f"{base}{package}/" for package in packages)
        self.base = base
        self.seen: set[tuple[str, Any, str]] = set()
        self.functions: set[tuple[str, int, str]] = set()

    def install(self) -> None:
        from torch._dynamo.symbolic_convert import InstructionTranslatorBase as Translator

        original: Any = Translator.step
        seen, folders, functions = self.seen, self.folders, self.functions

        def step(self: Any) -> Any:
            pointer = self.instruction_pointer
            if pointer is not None:
                instruction = self.instructions[pointer]
                kind = KIND_OF.get(instruction.opcode)
                if kind is not None:
                    code = self.f_code
                    if code.co_filename.startswith(folders):
                        seen.add((code.co_filename, instruction.positions, kind))
                        functions.add((code.co_filename, code.co_firstlineno, code.co_name))
            return original(self)

        Translator.step = step

    def places(self) -> list[Place]:
        found: set[Place] = set()
        for file, at, kind in self.seen:
            if at is not None and at.lineno is not None:
                found.add((file[len(self.base) :], at.lineno, at.col_offset, at.end_lineno, at.end_col_offset, kind))
        return sorted(found, key=str)


class Ran:
    """The instructions that ran in eager, in files below ``base``, by tracing every one of them."""

    def __init__(self, base: str, packages: tuple[str, ...]) -> None:
        self.folders = tuple(f"{base}{package}/" for package in packages)
        self.base = base
        self.seen: set[tuple[CodeType, int]] = set()

    def __enter__(self) -> Ran:
        sys.settrace(self._call)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(self.folders):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _step(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "opcode":
            self.seen.add((frame.f_code, frame.f_lasti))
        return self._step

    def places(self) -> list[Place]:
        found: set[Place] = set()
        tables: dict[CodeType, list[Any]] = {}
        for code, offset in self.seen:
            if code not in tables:
                tables[code] = list(code.co_positions())
            kind = KIND_OF.get(code.co_code[offset])
            line, end_line, column, end_column = tables[code][offset // 2]
            if kind is not None and line is not None:
                found.add((code.co_filename[len(self.base) :], line, column, end_line, end_column, kind))
        return sorted(found, key=str)
