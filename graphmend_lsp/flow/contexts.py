"""Values on their way into a function and back: arguments become parameters, results the caller's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from graphmend_lsp.flow.values import (
    MISSING,
    NO_ROOTS,
    Bound,
    Closure,
    Kind,
    Root,
    Value,
    Why,
    all_roots,
    changed,
)


def rooted(value: Value, root: Root, depth: int = 0) -> Value:
    """Everything inside a container belongs to one root."""
    if depth > 4:
        return value
    if value.kind is Kind.TENSOR:
        return changed(value, roots=frozenset({root}), dtype=("any", root, depth), shape=None)
    if value.kind is not Kind.CONTAINER:
        return value
    return changed(
        value,
        roots=frozenset({root}),
        elements=None if value.elements is None else tuple(rooted(v, root, depth + 1) for v in value.elements),
        keys=None if value.keys is None else {k: rooted(v, root, depth + 1) for k, v in value.keys.items()},
        element=None if value.element is None else rooted(value.element, root, depth + 1),
    )


def rebased(value: Value, arguments: dict[str, Value], site: Root, depth: int = 0) -> Value:
    """A callee's value in the caller's terms: parameters become arguments, other storages new ones."""
    if depth > 4:
        return value
    roots: frozenset[Root] = NO_ROOTS
    for root in value.roots:
        if root[0] == "param":
            argument = arguments.get(str(root[1]))
            roots |= all_roots(argument) if argument is not None else frozenset({("unknown", *site)})
        elif root[0] in ("attr", "global", "unknown"):
            roots |= {root}
        else:
            roots |= {(*site, root[1] if len(root) > 1 else 0)}
    return changed(
        value,
        roots=roots,
        dtype=_rebased_token(value.dtype, arguments, site, "dtype") if value.kind is Kind.TENSOR else value.dtype,
        shape=_rebased_token(value.shape, arguments, site, "shape") if value.kind is Kind.TENSOR else value.shape,
        device=_rebased_token(value.device, arguments, site, "device") if value.kind is Kind.TENSOR else value.device,
        elements=None
        if value.elements is None
        else tuple(rebased(v, arguments, site, depth + 1) for v in value.elements),
        keys=None if value.keys is None else {k: rebased(v, arguments, site, depth + 1) for k, v in value.keys.items()},
        element=None if value.element is None else rebased(value.element, arguments, site, depth + 1),
    )


def _rebased_token(token: Any, arguments: dict[str, Value], site: Root, field: str) -> Any:
    if token is None or isinstance(token, str) or token == ():
        return token
    root: Any = token[1] if token[:1] in (("any",), ("floating",)) and len(token) > 1 else token
    head = root[0] if _is_root(root) else ""
    if head == "param" and len(root) == 2:
        argument = arguments.get(str(root[1]))
        if argument is None or argument.kind is not Kind.TENSOR:
            return None
        return getattr(argument, field)
    if head in ("attr", "global"):
        return token
    if token[:1] == ("floating",):
        return ("floating", (*site, token))
    return (*site, token)


def _is_root(token: Any) -> TypeGuard[Root]:
    return isinstance(token, tuple)


def signature_of(params: dict[str, Value]) -> Any:
    return tuple((name, _signature(value)) for name, value in params.items())


def _signature(value: Value, depth: int = 0) -> Any:
    """What of a value decides how a function behaves (evidence left out)."""
    if depth > 3:
        return value.kind
    const = value.const if isinstance(value.const, (int, float, str, bool, type(None))) else MISSING
    ref = value.ref
    if isinstance(ref, Closure):
        ref = ("closure", ref.function.node, id(ref.env))
    elif isinstance(ref, Bound):
        ref = ("bound", ref.name, ref.receiver.kind, ref.receiver.ref if isinstance(ref.receiver.ref, str) else None)
    return (
        value.kind,
        value.null,
        (type(const).__name__, const),
        ref,
        value.truth,
        value.mixed,
        value.array,
        value.dtype if isinstance(value.dtype, str) else (value.dtype or (None,))[0],
        value.shape == (),
        None if value.elements is None else tuple(_signature(v, depth + 1) for v in value.elements),
        None
        if value.keys is None or (value.kind is Kind.MODULE and isinstance(ref, str))
        else tuple((k, _signature(v, depth + 1)) for k, v in value.keys.items()),
        None if value.element is None else _signature(value.element, depth + 1),
        tuple(_signature(v, depth + 1) for v in value.options) if value.options else (),
    )


# -- facts that all callers share -----------------------------------------------------------------------

_MAX_NESTING = 6


class NotShared(BaseException):
    """What is found out depends on more than code of other files.

    No error, so nothing that isolates errors catches it.
    """


def from_anywhere(value: Value, name: str, why: Why, known: Callable[[Value], bool], depth: int = 0) -> Value:
    """An argument without anything that is of its call only: evidence, storages, tokens.

    ``why`` stands for its evidence; ``known`` says of a reference to code whether that is nobody's but shared, too.

    Raises:
        NotShared: there is more in it.
    """
    if depth > _MAX_NESTING:
        raise NotShared
    ref = value.ref
    if value.kind is Kind.PYTHON and ref is None and value.shape is value.why is None and not value.roots:
        if value.elements is value.keys is value.element is None and (value.dtype is None or type(value.dtype) is str):
            return value
    if ref is not None and not isinstance(ref, str):
        if not known(value):
            raise NotShared
        if isinstance(ref, Closure) and ref.bound is not None:
            ref = Closure(ref.function, from_anywhere(ref.bound, name, why, known, depth + 1), ref.env)
        elif isinstance(ref, Bound):
            receiver = from_anywhere(ref.receiver, name, why, known, depth + 1)
            ref = Bound(receiver, ref.name, ast.Constant(None))
    root: Root = ("param", name)
    top = depth == 0 and value.kind is Kind.TENSOR

    def inside(item: Value) -> Value:
        return from_anywhere(item, name, why, known, depth + 1)

    return changed(
        value,
        ref=ref,
        roots=frozenset({root}) if value.roots else NO_ROOTS,
        why=why if value.why is not None else None,
        dtype=value.dtype if top or isinstance(value.dtype, str) else _token(value.dtype, root, depth),
        shape=value.shape if top or value.shape == () else _token(value.shape, root, depth),
        device=value.device if top else _token(value.device, root, depth),
        elements=None if value.elements is None else tuple(inside(item) for item in value.elements),
        keys=None if value.keys is None else {key: inside(item) for key, item in value.keys.items()},
        element=None if value.element is None else inside(value.element),
        options=tuple(inside(item) for item in value.options),
    )


def _token(token: Any, root: Root, depth: int) -> Any:
    """Which of several values have the same one is not kept, only that there is one."""
    return root if token is not None and depth == 0 else None


def full_signature(params: Mapping[str, Value]) -> Any:
    """All that decides how a function behaves for arguments ``from_anywhere``."""
    return tuple((name, _full(value)) for name, value in params.items())


def _full(value: Value) -> Any:
    const = value.const
    try:
        hash(const)
    except TypeError:
        raise NotShared from None
    ref = value.ref
    if isinstance(ref, Closure):
        ref = ("closure", ref.function, None if ref.bound is None else _full(ref.bound), id(ref.env))
    elif isinstance(ref, Bound):
        ref = ("bound", ref.name, _full(ref.receiver))
    return (
        value.kind,
        value.null,
        (type(const), const),
        ref,
        value.truth,
        value.mixed,
        value.array,
        value.unbound,
        value.dtype,
        value.shape,
        bool(value.roots),
        value.why is None,
        None if value.elements is None else tuple(map(_full, value.elements)),
        None if value.keys is None else tuple((key, _full(item)) for key, item in value.keys.items()),
        None if value.element is None else _full(value.element),
        tuple(map(_full, value.options)),
    )


def evidence_of(value: Value, depth: int = 0) -> Why | None:
    """Why a value is what it is, or the first thing in it of which that is known."""
    if value.why is not None or depth > 4:
        return value.why
    inside = (
        *(value.elements or ()),
        *(value.keys or {}).values(),
        *(() if value.element is None else (value.element,)),
    )
    return next((why for item in inside if (why := evidence_of(item, depth + 1)) is not None), None)


def grounded(value: Value, function: ast.AST, evidence: Callable[[str], Why | None], depth: int = 0) -> Value:
    """What shared facts of a function return, with the evidence of the arguments of one call."""
    ref = value.ref
    inside = value.elements is not None or value.keys is not None or value.element is not None or value.options
    if depth > 4 or (value.why is None and not inside and not isinstance(ref, (Bound, Closure))):
        return value

    def within(item: Value) -> Value:
        return grounded(item, function, evidence, depth + 1)

    if isinstance(ref, Closure) and ref.bound is not None:
        ref = Closure(ref.function, within(ref.bound), ref.env)
    elif isinstance(ref, Bound):
        ref = Bound(within(ref.receiver), ref.name, ref.node)
    return changed(
        value,
        ref=ref,
        why=_with_evidence(value.why, function, evidence),
        elements=None if value.elements is None else tuple(map(within, value.elements)),
        keys=None if value.keys is None else {key: within(item) for key, item in value.keys.items()},
        element=None if value.element is None else within(value.element),
        options=tuple(map(within, value.options)),
    )


def _with_evidence(why: Why | None, function: ast.AST, evidence: Callable[[str], Why | None]) -> Why | None:
    links: list[Why] = []
    end = why
    while end is not None and (end.argument is None or end.argument[0] is not function):
        links.append(end)
        end = end.parent
    if end is None or end.argument is None:
        return why
    made = evidence(end.argument[1])
    for link in reversed(links):
        made = Why(link.place, link.path, link.message, made, link.argument)
    return made
