"""Which files a command looks at."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from graphmend_lsp.finding import Problem
from graphmend_lsp.project import layout
from graphmend_lsp.project.config import LoadedConfig, load_for
from graphmend_lsp.project.skipped import is_skipped

SUFFIXES = (".py",)
WITH_NOTEBOOKS = (*SUFFIXES, layout.NOTEBOOK)


@dataclass(frozen=True)
class Discovered:
    """Files to look at, sorted by path (absolute), each with the configuration of its folder.

    ``problems`` are paths that could not be read, ``config_problems`` mistakes in configurations.
    """

    files: tuple[tuple[str, LoadedConfig], ...]
    problems: tuple[Problem, ...]
    config_problems: tuple[Problem, ...]


class _Configs:
    """Configurations by folder, for one run."""

    def __init__(self) -> None:
        self._by_folder: dict[str, LoadedConfig] = {}

    def of(self, folder: str) -> LoadedConfig:
        found = self._by_folder.get(folder)
        if found is None:
            found = self._by_folder[folder] = load_for(folder)
        return found

    def problems(self) -> Iterator[Problem]:
        yield from dict.fromkeys(p for config in self._by_folder.values() for p in config.problems)


def discover(paths: Iterable[str], suffixes: tuple[str, ...] = SUFFIXES, *, force_exclude: bool = False) -> Discovered:
    """The Python files at and under ``paths``, or the files with other suffixes.

    A file named explicitly is always in, unless ``force_exclude`` lets the configured exclusions count for it, too;
    what stands below a folder passes the default and the configured ones.  Folders that are symbolic links are not
    entered unless named.
    """
    configs = _Configs()
    problems: list[Problem] = []
    found: dict[str, LoadedConfig] = {}
    real: set[str] = set()
    for path in paths:
        absolute = os.path.abspath(path)
        try:
            mode = os.stat(absolute).st_mode
        except (OSError, ValueError) as error:
            missing = isinstance(error, FileNotFoundError)
            problems.append(Problem(absolute, None, "no such file or directory" if missing else str(error)))
            continue
        if not stat.S_ISDIR(mode):
            config = configs.of(os.path.dirname(absolute))
            if force_exclude and config.excludes(absolute):
                continue
            found[absolute] = config
            real.add(os.path.realpath(absolute))
            continue
        for file, target, config in _walk(absolute, suffixes, configs, problems):
            if target not in real:
                real.add(target)
                found[file] = config
    ordered = tuple((path, found[path]) for path in sorted(found))
    return Discovered(ordered, tuple(problems), tuple(configs.problems()))


def is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a plain file or leads to one; one that leads to itself, or that went meanwhile, is none."""
    try:
        return entry.is_file()
    except OSError:
        return False


def is_folder(entry: os.DirEntry[str], *, links: bool = True) -> bool:
    """The same for a folder; ``links`` False takes no link to one."""
    try:
        return entry.is_dir(follow_symlinks=links)
    except OSError:
        return False


def _walk(
    top: str, suffixes: tuple[str, ...], configs: _Configs, problems: list[Problem]
) -> Iterator[tuple[str, str, LoadedConfig]]:
    """The files under a folder, each with its path without symbolic links and the configuration of its folder."""
    pending = [(top, os.path.realpath(top))]
    while pending:
        folder, real = pending.pop()
        config = configs.of(folder)
        links: list[str] = []
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            problems.append(Problem(folder, None, (error.strerror or str(error)).lower()))
            continue
        for entry in listed:
            if is_folder(entry, links=False):
                if not (is_skipped(entry.path) or config.excludes(entry.path + "/")):
                    pending.append((entry.path, os.path.join(real, entry.name)))
            elif entry.name.endswith(suffixes) and is_file(entry) and not config.excludes(entry.path):
                if entry.is_symlink():
                    links.append(entry.path)  # after the plain files: a link to one of them is the same file
                else:
                    yield entry.path, os.path.join(real, entry.name), config
        yield from ((link, os.path.realpath(link), config) for link in links)
