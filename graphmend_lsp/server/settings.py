"""Settings of a file: the project's ``pyproject.toml``, and over it what the editor says."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast, get_args

from graphmend_lsp.check import NoProgram, ProgramView
from graphmend_lsp.finding import Severity
from graphmend_lsp.project import installed, layout, selectors, torch_release
from graphmend_lsp.project.baseline import Baseline, BaselineError, load
from graphmend_lsp.project.config import load_for
from graphmend_lsp.project.program import DiskProgram, SourceCache
from graphmend_lsp.server.translate import as_object
from graphmend_lsp.settings import RuntimeMode, Settings

Extent = Literal["openFiles", "all"]

_OTHERS = frozenset({"trace"})
"""Settings that clients keep beside ours, for themselves."""


@dataclass(frozen=True)
class EditorOptions:
    """The fields of ``Settings`` that the editor sets, and what was wrong with the rest."""

    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    problems: tuple[str, ...] = ()
    python: str = ""
    """The interpreter to run the user's code in; a path, or a command."""
    trusted: bool = True
    """Whether the user trusts the workspace: else nothing of it is run, not even by a command."""
    extent: Extent | None = None
    """Which files have diagnostics; None takes the default, the open ones."""

    def over(self, other: EditorOptions) -> EditorOptions:
        """These options where they are given, else those of ``other``; trusted is only what both trust."""
        trusted = self.trusted and other.trusted
        return EditorOptions(
            {**other.fields, **self.fields},
            tuple(dict.fromkeys((*other.problems, *self.problems))),
            (self.python or other.python) if trusted else "",
            trusted,
            self.extent or other.extent,
        )

    @classmethod
    def read(cls, raw: object) -> EditorOptions:
        """Options from ``initializationOptions`` or the configuration: an object, flat or under "settings".

        Names may be written ``torchVersion``, ``torch-version`` or ``torch_version``.  A mistake is
        noted and otherwise skipped.
        """
        if raw is None or raw == []:  # so Lua writes a table without entries
            return cls()
        trusted = True
        try:
            options = as_object(raw)
            trusted = _trusted(options.pop("trusted", None))  # beside "settings" it counts, too
            nested = options.get("settings")
            options = options if nested is None else as_object(nested)
        except ValueError as error:
            return cls(problems=(f"settings: {error}",), trusted=trusted)
        fields: dict[str, Any] = {}
        problems: list[str] = []
        python = ""
        extent: Extent | None = None
        for name, value in options.items():
            key = _key(name)
            if key in _OTHERS:
                continue
            if key == "workspace_diagnostics":
                extent = cast("Extent", value) if value in get_args(Extent) else None
                if value is not None and extent is None:
                    problems.append(f'setting {name!r}: must be "openFiles" or "all"')
                continue
            if key == "python":
                python = value if isinstance(value, str) else ""
                if value is not None and not isinstance(value, str):
                    problems.append(f"setting {name!r}: must be a string")
                continue
            if key == "trusted":
                trusted = trusted and _trusted(value)
                continue
            convert = _OPTIONS.get(key)
            if convert is None:
                problems.append(f"unknown setting {name!r}")
            elif value is not None:
                try:
                    fields[key] = convert(value)
                except ValueError as error:
                    problems.append(f"setting {name!r}: {error}")
        return cls(fields, tuple(problems), python if trusted else "", trusted, extent)


def _key(name: str) -> str:
    """``torchVersion`` and ``torch-version`` as ``torch_version``."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).replace("-", "_").lower()


def is_ours(settings: Mapping[str, object]) -> bool:
    """Whether an object holds settings of ours and nothing else."""
    known = {*_OPTIONS, *_OTHERS, "workspace_diagnostics", "python", "trusted", "settings"}
    python = settings.get("python")
    if python is not None and not isinstance(python, str):
        return False  # that of other servers
    return bool(settings) and all(_key(name) in known for name in settings)


def _trusted(value: object) -> bool:
    """Only what says nothing or yes is trusted; a mistake is not."""
    return value is None or value is True


def _strings(value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) != len(items):
        raise ValueError("must be a list of strings")
    return tuple(texts)


def _codes(value: object) -> tuple[str, ...]:
    codes: list[str] = []
    for item in _strings(value):
        code = selectors.normalise(item)
        if code is None:
            raise ValueError(f"names no rule: {item!r}")
        codes.append(code)
    return tuple(codes)


def _severities(value: object) -> dict[str, Severity]:
    levels: dict[str, Severity] = {}
    for item, level in as_object(value).items():
        code = selectors.normalise(item)
        if code is None or level not in get_args(Severity):
            raise ValueError(f"{item!r}: {level!r} is not a rule and one of {', '.join(get_args(Severity))}")
        levels.update(dict.fromkeys(selectors.expand(code), cast("Severity", level)))
    return levels


def _release(value: object) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)(?!\d)", value) if isinstance(value, str) else None
    if found is None:
        raise ValueError('must be a release such as "2.13"')
    return int(found[1]), int(found[2])


def _runtime(value: object) -> RuntimeMode:
    if value not in get_args(RuntimeMode):
        raise ValueError('must be "vendored" or "package"')
    return cast("RuntimeMode", value)


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


_OPTIONS: dict[str, Callable[[object], Any]] = {
    "select": _codes,
    "ignore": _codes,
    "entries": _strings,
    "severity": _severities,
    "torch_version": _release,
    "runtime": _runtime,
    "symbols": _boolean,
}


@dataclass(frozen=True)
class FileSettings:
    """What holds for one file: ``excluded`` files get no findings, those in the ``baseline`` are hints."""

    settings: Settings
    excluded: bool = False
    problems: tuple[str, ...] = ()
    baseline: Baseline | None = None


class Project:
    """Settings and the surrounding program of each file.  Reads the disk: call it in the worker.

    ``options`` hold for what is in none of the ``folders``, which are workspace folders with their own.
    """

    def __init__(
        self,
        roots: tuple[str, ...] = (),
        options: EditorOptions = EditorOptions(),
        folders: Mapping[str, EditorOptions] | None = None,
        sources: SourceCache | None = None,
    ) -> None:
        self.roots = roots
        self.options = options
        self.folders: Mapping[str, EditorOptions] = folders or {}
        self._sources = sources or SourceCache()
        self._program = DiskProgram(roots, cache=self._sources)

    def changed(self, roots: tuple[str, ...], options: EditorOptions, folders: Mapping[str, EditorOptions]) -> Project:
        """The project with other folders or options and the files that are known; itself if these are the same."""
        if (roots, options, folders) == (self.roots, self.options, self.folders):
            return self
        return Project(roots, options, folders, self._sources)

    @property
    def trusted(self) -> bool:
        """Whether the user trusts all of the workspace."""
        return self.options.trusted and all(options.trusted for options in self.folders.values())

    def folder_of(self, path: str) -> str | None:
        """The workspace folder that a file is in, the innermost one."""
        holding = (root for root in self.roots if path == root or path.startswith(os.path.join(root, "")))
        return max(holding, key=len, default=None)

    def options_for(self, path: str) -> EditorOptions:
        """What the editor says for a file."""
        folder = self.folder_of(path)
        return self.folders.get(folder, self.options) if folder is not None else self.options

    def see(self, buffers: Mapping[str, str]) -> None:
        """Take these texts for the files at these paths."""
        self._sources.overlay = buffers

    def refresh(self) -> None:
        """A file was saved: what is known of the files on disk, and of what is installed, is looked at again."""
        for each in (layout, installed, torch_release):
            each.forget()
        self._program.refresh()

    def settings(self, path: str) -> FileSettings:
        """The settings of a file, or of one that has no path yet."""
        stored = os.path.isabs(path)
        place = path if stored else next(iter(self.roots), None)
        fields = self.options_for(place or path).fields
        if place is None:
            return FileSettings(replace(Settings(), **fields))
        config = load_for(place)
        problems = tuple(f"{p.path}{'' if p.line is None else f':{p.line}'}: {p.message}" for p in config.problems)
        config = replace(config, settings=replace(config.settings, **fields))
        if not stored:
            return FileSettings(config.settings, problems=problems)
        baseline: Baseline | None = None
        if config.baseline is not None:
            try:
                baseline = load(config.baseline)
            except BaselineError as error:
                line = "" if error.line is None else f":{error.line}"
                problems += (f"{config.baseline}{line}: {error}",)
        return FileSettings(config.settings_for(path), config.excludes(path), problems, baseline)

    def program(self, path: str, settings: Settings) -> ProgramView:
        """The program as this file sees it."""
        if not os.path.isabs(path):
            return NoProgram()
        return self._program.for_file(path, settings.runtime)
