"""The parameters of what is called, their annotations resolved as far as possible."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from typing import Any, Callable, NamedTuple, cast

_UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))  # int | None since Python 3.10


class Parameter(NamedTuple):
    """``hint`` is the annotation; its text where a name in it is not known, None where there is none."""

    name: str
    hint: Any
    default: Any
    required: bool
    by_position: bool
    several: bool
    """``*args``; parameters ``**kwargs`` are left out."""


def parameters(function: Callable[..., Any]) -> list[Parameter]:
    """Those of a function, a class's constructor or a bound method; none where these cannot be known."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    scope = _scope(function)
    return [
        Parameter(
            one.name,
            resolved(None if one.annotation is one.empty else one.annotation, scope),
            one.default,
            one.default is one.empty and one.kind is not one.VAR_POSITIONAL,
            one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD),
            one.kind is one.VAR_POSITIONAL,
        )
        for one in found
        if one.kind is not one.VAR_KEYWORD
    ]


def _scope(function: Any) -> dict[str, Any]:
    """The names that annotations are made of."""
    if isinstance(function, type):
        names = dict(vars(sys.modules.get(function.__module__, types)))
        init: Any = inspect.unwrap(function.__init__)
        return {**names, **getattr(init, "__globals__", {})}
    while isinstance(function, functools.partial):
        function = cast("Any", function).func
    return dict(getattr(inspect.unwrap(getattr(function, "__func__", function)), "__globals__", {}))


def resolved(hint: Any, scope: dict[str, Any]) -> Any:
    """The object of an annotation that is text, or the text where it cannot be evaluated (X | Y before Python 3.10)."""
    text = getattr(hint, "__forward_arg__", hint)
    if not isinstance(text, str):
        return hint
    try:
        return eval(text, dict(scope))
    except Exception:
        return text


def without_none(hint: Any) -> tuple[Any, bool]:
    """An annotation without ``Annotated`` and ``None``, the first of what else there is; whether it allows ``None``."""
    optional = False
    while True:
        if hasattr(hint, "__metadata__"):
            hint = hint.__origin__
        elif typing.get_origin(hint) in _UNIONS:
            kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)]
            optional = optional or len(kinds) < len(typing.get_args(hint))
            hint = kinds[0]
        else:
            break
    if isinstance(hint, str):
        text = hint.strip()
        if text.startswith("Optional[") and text.endswith("]"):
            return text[len("Optional[") : -1], True
        kinds = [kind.strip() for kind in text.split("|")] if "[" not in text else [text]
        kept = [kind for kind in kinds if kind != "None"]
        return (kept or kinds)[0], optional or len(kept) < len(kinds)
    return hint, optional


def is_named(kind: Any, *names: str) -> bool:
    """Whether a class, or one that it derives from, has one of these names: it is not imported here."""
    return isinstance(kind, type) and any(base.__name__ in names for base in kind.__mro__)
