"""What the evaluation of calls shares: arguments, results of operators, host effects."""

from __future__ import annotations

import ast
from typing import Any

from graphmend_lsp.flow import tensors
from graphmend_lsp.flow.expressions import Expressions
from graphmend_lsp.flow.untraceable import untraceable
from graphmend_lsp.flow.values import NONE, PYTHON, UNKNOWN, Closure, Kind, Value, tensor


class Arguments:
    """Evaluated arguments of a call; ``exact`` is False if ``*``/``**`` hide some."""

    def __init__(self, values: list[Value], keywords: dict[str, Value], exact: bool) -> None:
        self.values = values
        self.keywords = keywords
        self.exact = exact

    def all(self) -> list[Value]:
        return [*self.values, *self.keywords.values()]

    def get(self, position: int, name: str) -> Value | None:
        if name in self.keywords:
            return self.keywords[name]
        return self.values[position] if position < len(self.values) else None


class CallBase(Expressions):
    """Parts of ``Calls`` that do not know what is called."""

    def apply(self, callee: Value, arguments: Arguments, node: ast.Call) -> Value:
        """The result of a call."""
        raise NotImplementedError

    def module_call(self, callee: Value, arguments: Arguments, node: ast.Call) -> Value:
        """The result of calling an ``nn.Module``."""
        raise NotImplementedError

    def project_call(self, closure: Closure, arguments: Arguments, node: ast.Call) -> Value:
        if node is self.discarded:
            return UNKNOWN
        return self.engine.invoke(closure, arguments.values, arguments.keywords, node, self, exact=arguments.exact)

    def known_float(self, value: Value) -> bool:
        """Whether a number can be taken out of what numpy made of numbers, in this release."""
        return tensors.is_known_float(value) and untraceable("numpy number", self.engine.release) is None

    def unknown_call(self, arguments: Arguments, node: ast.Call) -> Value:
        for value in arguments.all():
            self.flow("call", value, node)
        self.may_write(node)
        return UNKNOWN

    def module_output(self, arguments: Arguments, node: ast.Call, path: str = "") -> Value:
        del path
        for value in arguments.all():
            self.flow("call", value, node)
        roots = frozenset({("unknown", id(node))})
        return Value(Kind.UNKNOWN, dtype="module-output", roots=roots)

    def first_was_used(self, node: ast.Call) -> None:
        """What an operator takes first is a tensor, not None, or it raises."""
        if node.args:
            value = self.facts.values.get(id(node.args[0]))
            if value is not None:
                self._was_used(node.args[0], value)

    def fresh(self, node: ast.expr, like: Value | None, *, floating: bool = False) -> Value:
        root = ("op", id(node))
        why = like.why if like is not None and like.kind is Kind.TENSOR else None
        return tensor(
            why=why or self.why(node, f"`{short(self.source(node))}` is a tensor"),
            dtype=("floating", root) if floating else None,
            shape=root,
            device=like.device if like is not None and like.kind is Kind.TENSOR else None,
            roots=frozenset({root}),
        )

    def effect(self, kind: Any, name: str, arguments: Arguments, node: ast.Call) -> Value:
        del arguments
        if name not in self.engine.silent:
            self.emit(kind, node, name=name)
            self.facts.effects = True
        return NONE if not name.endswith((".write", "isEnabledFor")) else PYTHON


def short(source: str, limit: int = 60) -> str:
    text = " ".join(source.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
