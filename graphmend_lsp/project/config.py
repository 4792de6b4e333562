"""``[tool.graphmend]`` of the nearest ``pyproject.toml`` that has one.

A mistake in the table is reported and otherwise skipped: it never stops a check.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

from graphmend_lsp.finding import Problem, Severity
from graphmend_lsp.project import plain, selectors
from graphmend_lsp.project.files import reason
from graphmend_lsp.project.torch_release import installed_torch, parse_release
from graphmend_lsp.settings import RuntimeMode, Settings

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

T = TypeVar("T")
_UNSET = (0, 0)  # no torch-version in the table


@dataclass(frozen=True)
class LoadedConfig:
    """The configuration that holds for a folder; ``root`` is where its patterns start."""

    root: str
    settings: Settings = field(default_factory=Settings)
    exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    unsafe_fixes: bool = False
    problems: tuple[Problem, ...] = ()
    python: str | None = None
    """The interpreter that the user's code runs in: a path relative to ``root``, or a command."""
    inputs: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """From ``FILE`` or ``FILE::ENTRY`` to functions that make its arguments (``FILE::FUNCTION``)."""
    init_inputs: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    capture: Mapping[str, str] = field(default_factory=dict[str, str])
    """From ``FILE`` or ``FILE::ENTRY`` to the command whose first call of the entry is profiled."""
    path: str | None = None
    baseline: str | None = None
    """The file of known findings: an absolute path."""

    @cached_property
    def _excluded(self) -> GitIgnoreSpec:
        return _spec(self.exclude)

    def excludes(self, path: str) -> bool:
        """Whether ``exclude`` leaves out this file or folder (a folder is written with a slash at its end)."""
        return bool(self.exclude) and (rel := self._relative(path)) is not None and self._excluded.match_file(rel)

    def settings_for(self, path: str) -> Settings:
        """The settings of one file: ``per-file-ignores`` added, whatever ``select`` says."""
        relative = self._relative(path) if self.per_file_ignores else None
        if relative is None:
            return self.settings
        matching = [codes for pattern, codes in self.per_file_ignores.items() if _spec((pattern,)).match_file(relative)]
        ignored = [code for codes in matching for code in codes]
        return replace(self.settings, ignore=(*self.settings.ignore, *ignored)) if ignored else self.settings

    def inputs_of(self, path: str, entry: str = "") -> tuple[str, ...]:
        """The functions that make the arguments of an entry, else of its file's."""
        return self._named(self.inputs, path, entry)

    def init_inputs_of(self, path: str, entry: str = "") -> tuple[str, ...]:
        """The same for the constructor's arguments."""
        return self._named(self.init_inputs, path, entry)

    def capture_of(self, path: str, entry: str = "") -> str:
        """The command that calls an entry, else one of its file's; "" for none."""
        return next(iter(self._named({name: (text,) for name, text in self.capture.items()}, path, entry)), "")

    def _named(self, table: Mapping[str, tuple[str, ...]], path: str, entry: str) -> tuple[str, ...]:
        relative = self._relative(path) if table else None
        if relative is None:
            return ()
        return table.get(f"{relative}::{entry}") or table.get(relative) or ()

    def _relative(self, path: str) -> str | None:
        try:
            relative = os.path.relpath(path, self.root)
        except ValueError:  # another drive
            return None
        if relative == os.pardir or relative.startswith(os.pardir + os.sep):
            return None
        return relative.replace(os.sep, "/") + ("/" if path.endswith(("/", os.sep)) else "")


@lru_cache(maxsize=256)
def _spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(patterns)


def load_for(path: str) -> LoadedConfig:
    """The configuration for a file or folder, which need not exist."""
    folder = os.path.abspath(path)
    if not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    problems: list[Problem] = []
    project: str | None = None
    for directory in _upwards(folder):
        candidate = os.path.join(directory, "pyproject.toml")
        try:
            state = os.stat(candidate)
        except (OSError, ValueError):
            continue
        if not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
            continue  # a pipe may never end; a folder is a mistake that the user hears of
        project = project or directory
        loaded = _load(candidate, state.st_mtime_ns, state.st_size)
        if loaded is None:
            continue
        if loaded.path is None:  # not TOML: say so and look further up
            problems += loaded.problems
            continue
        return _with_torch(replace(loaded, problems=(*problems, *loaded.problems)))
    return _with_torch(LoadedConfig(project or folder, problems=tuple(problems)))


def _upwards(folder: str) -> list[str]:
    found = [folder]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return found


def _with_torch(config: LoadedConfig) -> LoadedConfig:
    """Fill in the installed torch where the table names none (``_UNSET`` until here)."""
    if config.path is not None and config.settings.torch_version != _UNSET:
        return config
    release = installed_torch(config.root) or Settings().torch_version
    return replace(config, settings=replace(config.settings, torch_version=release))


@lru_cache(maxsize=512)
def _load(path: str, mtime_ns: int, size: int) -> LoadedConfig | None:
    """One ``pyproject.toml``: None without the table, ``path`` None where it is not TOML."""
    root = os.path.dirname(path)
    try:
        data = plain.read(path, plain.MOST_BYTES)[1]
    except OSError as error:
        return LoadedConfig(root, problems=(Problem(path, None, reason(error)),))
    if b"graphmend" not in data:
        return None
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        text = data.decode("utf-8-sig")
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        line = re.search(r"at line (\d+)", str(error))
        return LoadedConfig(root, problems=(Problem(path, int(line[1]) if line else None, f"not valid TOML: {error}"),))
    tool: Any = document.get("tool")
    table: Any = cast("dict[str, Any]", tool).get("graphmend") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        return LoadedConfig(root, problems=(Problem(path, None, "tool.graphmend must be a table"),), path=path)
    return _Reader(path, text, cast("dict[str, Any]", table)).config()


class _Wrong(Exception):
    """A value that its key does not take; the message follows the key's name."""


class _Reader:
    """Turns one table into a configuration, collecting what is wrong with it."""

    def __init__(self, path: str, text: str, table: dict[str, Any]) -> None:
        self.path = path
        self.text = text
        self.table = table
        self.problems: list[Problem] = []
        self.key = ""
        """The key whose value is being read."""

    def config(self) -> LoadedConfig:
        for key in self.table:
            if key not in _KEYS:
                self._problem(key, f"unknown key {key!r}")
        select = self._get("select", self._selectors, ())
        extend = self._get("extend-select", self._selectors, ())
        settings = Settings(
            select=(*select, *extend) if select else (),
            ignore=self._get("ignore", self._selectors, ()),
            entries=self._get("entries", _strings, ()),
            severity=self._get("severity", self._severities, {}),
            torch_version=self._get("torch-version", _release, _UNSET),
            runtime=self._get("runtime", _runtime, "vendored"),
            symbols=self._get("symbols", _boolean, False),
        )
        exclude = self._get("exclude", self._patterns, ())
        ignores = self._get("per-file-ignores", self._per_file, {})
        return LoadedConfig(
            os.path.dirname(self.path),
            settings,
            exclude,
            ignores,
            self._get("unsafe-fixes", _boolean, False),
            python=self._get("python", _string, None),
            inputs=self._get("inputs", _functions, {}),
            init_inputs=self._get("init-inputs", _functions, {}),
            capture=self._get("capture", _commands, {}),
            baseline=self._get("baseline", self._file, None),
            problems=tuple(self.problems),
            path=self.path,
        )

    def _get(self, key: str, convert: Callable[[Any], T], default: T) -> T:
        if key not in self.table:
            return default
        self.key = key
        try:
            return convert(self.table[key])
        except _Wrong as error:
            self._problem(key, f"{key} {error}")
            return default

    def _problem(self, key: str, message: str) -> None:
        self._report(self._start(key), message)

    def _item_problem(self, item: str, message: str) -> None:
        """Something in the value of the present key: a string, or a key of a table."""
        start = self._start(self.key)
        found = re.compile(rf"[\"']{re.escape(item)}[\"']|\b{re.escape(item)}[ \t]*=").search(self.text, start or 0)
        self._report(start if found is None else found.start(), f"{self.key} {message}")

    def _report(self, offset: int | None, message: str) -> None:
        line = None if offset is None else self.text.count("\n", 0, offset) + 1
        self.problems.append(Problem(self.path, line, f"[tool.graphmend] {message}"))

    def _start(self, key: str) -> int | None:
        """Where a key stands, by its first appearance at the start of a line below the table's header."""
        header = re.search(r"^[ \t]*\[+[ \t]*tool[ \t]*\.[ \t]*\"?graphmend\b", self.text, re.MULTILINE)
        start = header.start() if header else 0
        pattern = rf"^[ \t]*(?:\[[^\n]*\.)?[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*(?:=|\.|\])"
        found = re.compile(pattern, re.MULTILINE).search(self.text, start)
        if found is None:
            return None
        return found.end() - len(found[0].lstrip())

    def _selectors(self, value: Any) -> tuple[str, ...]:
        found: list[str] = []
        for item in _strings(value):
            code = selectors.normalise(item)
            if code is None:
                self._item_problem(item, f"names no rule: {item!r}")
            else:
                found.append(code)
        return tuple(found)

    def _file(self, value: Any) -> str | None:
        name = _string(value)
        if not name:
            raise _Wrong("must be the path of a file")
        return os.path.abspath(os.path.join(os.path.dirname(self.path), name))

    def _patterns(self, value: Any) -> tuple[str, ...]:
        return tuple(item for item in _strings(value) if self._usable(item))

    def _usable(self, pattern: str) -> bool:
        try:
            _spec((pattern,))
        except ValueError as error:
            self._item_problem(pattern, f"has a bad pattern {pattern!r}: {error}")
            return False
        return True

    def _per_file(self, value: Any) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for pattern, codes in _table(value).items():
            if self._usable(pattern):
                found[pattern] = tuple(c for s in self._selectors(codes) for c in selectors.expand(s))
        return found

    def _severities(self, value: Any) -> dict[str, Severity]:
        found: dict[str, Severity] = {}
        levels: list[tuple[str, Severity]] = []
        for item, level in _table(value).items():
            code = selectors.normalise(item)
            if code is None:
                self._item_problem(item, f"names no rule: {item!r}")
            elif level not in get_args(Severity):
                self._item_problem(item, f"of {item} must be one of {', '.join(get_args(Severity))}")
            else:
                levels.append((code, level))
        for code, level in sorted(levels, key=lambda pair: len(pair[0])):  # the longer prefix wins
            found.update(dict.fromkeys(selectors.expand(code), level))
        return found


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[Any]", value)):
        raise _Wrong("must be a list of strings")
    return tuple(cast("list[str]", value))


def _string(value: Any) -> str | None:
    if not isinstance(value, str):
        raise _Wrong("must be a string")
    return value


def _functions(value: Any) -> dict[str, tuple[str, ...]]:
    """``{"FILE[::ENTRY]" = "FILE::FUNCTION"}``, or a list of such functions."""
    found: dict[str, tuple[str, ...]] = {}
    for target, functions in _table(value).items():
        names = _strings([functions] if isinstance(functions, str) else functions)
        if any("::" not in name for name in names):
            raise _Wrong(f'of {target} must be "FILE::FUNCTION"')
        found[target.replace("\\", "/")] = names
    return found


def _commands(value: Any) -> dict[str, str]:
    """``{"FILE[::ENTRY]" = "python train.py"}``."""
    found: dict[str, str] = {}
    for target, command in _table(value).items():
        if not isinstance(command, str) or not command.strip():
            raise _Wrong(f'of {target} must be a command such as "python train.py"')
        found[target.replace("\\", "/")] = command
    return found


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong("must be a table")
    return cast("dict[str, Any]", value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("must be true or false")
    return value


def _release(value: Any) -> tuple[int, int]:
    release = parse_release(value) if isinstance(value, str) else None
    if release is None:
        raise _Wrong('must be a release such as "2.13"')
    return release


def _runtime(value: Any) -> RuntimeMode:
    if value not in get_args(RuntimeMode):
        raise _Wrong('must be "vendored" or "package"')
    return value


_KEYS = frozenset(
    (
        "select",
        "ignore",
        "extend-select",
        "entries",
        "exclude",
        "per-file-ignores",
        "unsafe-fixes",
        "runtime",
        "symbols",
        "severity",
        "torch-version",
        "python",
        "inputs",
        "init-inputs",
        "capture",
        "baseline",
    )
)
