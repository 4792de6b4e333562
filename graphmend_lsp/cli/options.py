"""Options that several commands share, and what they do to a configuration."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphmend_lsp.settings import Settings


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Paths, standard input, and the choice of rules."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders (default: .); - is standard input")
    parser.add_argument("--stdin-filename", metavar="FILE", help="the path that the text of standard input belongs to")
    add_rule_arguments(parser)
    parser.add_argument(
        "--force-exclude", action="store_true", help="leave out what is excluded, even if it is named here"
    )
    parser.add_argument("--exit-zero", action="store_true", help="exit 0 even if there are findings")


def add_rule_arguments(parser: argparse.ArgumentParser) -> None:
    """The choice of rules, entries and torch."""
    parser.add_argument("--select", action="append", metavar="CODES", type=_codes, help="only these rules (GM101,GM2)")
    parser.add_argument("--ignore", action="append", metavar="CODES", type=_codes, help="without these rules")
    parser.add_argument(
        "--entry", action="append", metavar="NAME", type=_names, help="a function or class that is compiled; repeatable"
    )
    parser.add_argument("--torch-version", metavar="X.Y", type=_release, help="the torch release to assume")
    parser.add_argument(
        "--symbols", action="store_true", help="also offer to keep numbers of tensors in the graph as symbols"
    )


@dataclass(frozen=True)
class Overrides:
    """What the command line says over the configuration; None where it says nothing."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    torch_version: tuple[int, int] | None = None
    symbols: bool = False

    def with_entry(self, name: str) -> Overrides:
        """The same with one more entry."""
        return replace(self, entries=(*self.entries, name))

    def over(self, settings: Settings) -> Settings:
        """``settings`` as the command line wants them: ``--select`` starts anew, the rest adds."""
        if self.select is not None:
            settings = replace(settings, select=self.select, ignore=())
        return replace(
            settings,
            ignore=(*settings.ignore, *self.ignore),
            entries=(*settings.entries, *self.entries),
            torch_version=self.torch_version or settings.torch_version,
            symbols=self.symbols or settings.symbols,
        )


def overrides(options: argparse.Namespace) -> Overrides:
    """The overrides in parsed options."""
    return Overrides(
        select=None if options.select is None else _flat(options.select),
        ignore=_flat(options.ignore),
        entries=_flat(options.entry),
        torch_version=options.torch_version,
        symbols=options.symbols,
    )


def _flat(groups: Sequence[tuple[str, ...]] | None) -> tuple[str, ...]:
    return tuple(item for group in groups or () for item in group)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip()))


def _codes(text: str) -> tuple[str, ...]:
    from graphmend_lsp.project import selectors

    found: list[str] = []
    for name in _names(text):
        code = selectors.normalise(name)
        if code is None:
            raise argparse.ArgumentTypeError(f"no rule answers to {name!r} (graphmend rule lists them)")
        found.append(code)
    return tuple(found)


def _release(text: str) -> tuple[int, int]:
    from graphmend_lsp.project.torch_release import parse_release

    release = parse_release(text)
    if release is None:
        raise argparse.ArgumentTypeError(f"not a release such as 2.13: {text!r}")
    return release
