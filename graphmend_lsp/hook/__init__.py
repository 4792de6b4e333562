"""Mend code in memory while it is imported; no file is touched.

``install`` is for launch scripts of one's own, ``graphmend run`` does it for any script.  See docs/run.md.

What stands between a process and its mended code when everything is cached is imported at every start: it takes
neither the analysis nor anything else that is slow to import (``dataclasses``, ``re``, LibCST, rich ...).
"""

from __future__ import annotations

from collections.abc import Iterable

from graphmend_lsp.hook.options import VARIABLE, Options, split

__all__ = ["VARIABLE", "install", "install_from_environment", "uninstall"]


def install(
    packages: Iterable[str] | str,
    *,
    unsafe: bool = False,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    entries: Iterable[str] = (),
    children: bool = True,
) -> None:
    """Mend the named packages when they are imported from now on.

    ``packages`` are dotted names (``transformers``; submodules are included) or paths of folders and files.
    ``unsafe``, ``select``, ``ignore`` and ``entries`` mean what they mean for ``graphmend fix``.  With
    ``children`` the Python processes that this one starts mend the same.

    Warns (``RuntimeWarning``) of modules that are imported already: they stay as they are.

    Raises:
        ValueError: not a package name or path, or one that is never mended.
    """
    from graphmend_lsp.hook import children as inheritance
    from graphmend_lsp.hook import loader

    names, folders = split([packages] if isinstance(packages, str) else packages)
    chosen = None if select is None else tuple(select)
    options = Options(names, folders, unsafe, chosen, tuple(ignore), tuple(entries))
    loader.add(options, stacklevel=3)
    if children:
        inheritance.announce(options)


def install_from_environment() -> bool:
    """Install what the variable ``GRAPHMEND_HOOK`` asks for; whether it asks for anything.

    It holds names as for ``install``, separated by commas, or what ``graphmend run`` puts there for its children.

    Raises:
        ValueError: it cannot be read.
    """
    from graphmend_lsp.hook import children as inheritance
    from graphmend_lsp.hook import loader

    found = inheritance.announced()
    for options in found:
        loader.add(options, stacklevel=3)
    return bool(found)


def uninstall() -> None:
    """Mend nothing any more, here and in processes started from now on.  What is imported stays mended."""
    from graphmend_lsp.hook import children as inheritance
    from graphmend_lsp.hook import loader

    loader.remove()
    inheritance.withdraw()
