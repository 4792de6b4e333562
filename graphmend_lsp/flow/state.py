"""The state of the interpreter at one point of a function."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphmend_lsp.flow.values import UNKNOWN, Null, Value, Why, changed, join


@dataclass(slots=True, eq=False)
class State:
    """Names and their values; ``written`` is a write that can have happened; ``dead`` is unreachable."""

    env: dict[str, Value] = field(default_factory=dict[str, Value])
    written: Why | None = None
    dead: bool = False

    def copy(self) -> State:
        return State(dict(self.env), self.written, self.dead)


def merge(a: State, b: State) -> State:
    """The state where two paths meet."""
    if a.dead:
        return b
    if b.dead:
        return a
    env: dict[str, Value] = {}
    for name, value in a.env.items():
        other = b.env.get(name)
        if other is value:
            env[name] = value
        else:
            env[name] = _maybe_unbound(value) if other is None else join(value, other)
    for name, value in b.env.items():
        if name not in a.env:
            env[name] = _maybe_unbound(value)
    return State(env, a.written or b.written)


def _maybe_unbound(value: Value) -> Value:
    return value if value.unbound else changed(value, unbound=True)


def same(a: State, b: State) -> bool:
    """Whether two states say the same (used to end the iteration over a loop)."""
    if a.env.keys() != b.env.keys() or (a.written is None) != (b.written is None):
        return False
    return all(value is b.env[name] or _similar(value, b.env[name]) for name, value in a.env.items())


def _similar(a: Value, b: Value) -> bool:
    return (
        a.kind is b.kind
        and a.null is b.null
        and a.roots == b.roots
        and a.dtype == b.dtype
        and a.shape == b.shape
        and a.truth == b.truth
        and a.unbound == b.unbound
        and a.mixed == b.mixed
        and (a.const is b.const or a.const == b.const)
        and a.ref == b.ref
        and _similar_optional(a.element, b.element)
        and (a.options is b.options or _similar_options(a.options, b.options))
    )


def _similar_optional(a: Value | None, b: Value | None) -> bool:
    if a is None or b is None:
        return a is b
    return a is b or _similar(a, b)


def _similar_options(a: tuple[Value, ...], b: tuple[Value, ...]) -> bool:
    return len(a) == len(b) and all(x.kind is y.kind and x.ref == y.ref for x, y in zip(a, b, strict=True))


def unknown(null: Null = Null.MAYBE) -> Value:
    return UNKNOWN if null is Null.NEVER else Value(UNKNOWN.kind, null=null)
