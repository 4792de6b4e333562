"""Values on their way into a function and back: arguments become parameters, results the caller's."""

from __future__ import annotations

from typing import Any, TypeGuard

from graphmend_lsp.flow.values import (
    MISSING,
    NO_ROOTS,
    Bound,
    Closure,
    Kind,
    Root,
    Value,
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
        if value.keys is None or value.kind is Kind.MODULE
        else tuple((k, _signature(v, depth + 1)) for k, v in value.keys.items()),
        None if value.element is None else _signature(value.element, depth + 1),
        tuple(_signature(v, depth + 1) for v in value.options) if value.options else (),
    )
