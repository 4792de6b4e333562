"""Parameters that hold a tensor in the calls that are compiled, and may hold something else in others.

``def f(x, n=None)`` is called with a tensor here and with nothing there.  What a branch did with the other kind of
value must go on working: ``torch.logical_not(None)`` does not, and ``None * 2`` was never computed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from graphmend_lsp.flow.engine import Engine
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.values import Kind, Null, Value
from graphmend_lsp.mend import scope
from graphmend_lsp.mend.base import Site
from graphmend_lsp.model.module import FunctionInfo
from graphmend_lsp.model.walk import own_nodes, walk


@dataclass(frozen=True)
class Optional:
    """``loose`` may be no tensors; ``nullable`` of them may be None where the branch begins."""

    loose: frozenset[str] = frozenset()
    nullable: frozenset[str] = frozenset()


def optional_parameters(site: Site, test: ast.expr) -> Optional:
    """What is known of the parameters of the function at a site, at the branch with this test."""
    loose: set[str] = set()
    nullable: set[str] = set()
    for name, (may_differ, may_be_none) in _declared(site.engine, site.function).items():
        if may_differ:
            loose.add(name)
        if may_be_none:
            nullable.add(name)
    for facts in (site.facts, *site.others):
        _in_call(facts, loose, nullable)
    given = {name for name in loose if any(_holds(f, name) for f in (site.facts, *site.others))}
    asked = _asked(site, test) | _asked_before(site)
    return Optional(frozenset(_derived(site, given)), frozenset((given & nullable) - asked))


def _derived(site: Site, loose: set[str]) -> set[str]:
    """The names, and those that are computed from nothing but them."""
    found = set(loose)
    for _ in range(2):
        for node in own_nodes(site.function.node):
            if isinstance(node, ast.Assign) and is_loose(node.value, frozenset(found), site.facts):
                found |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return found


def _declared(engine: Engine, function: FunctionInfo) -> dict[str, tuple[bool, bool]]:
    """For each parameter: whether its default or annotation allows something else than a tensor, and None."""
    args = function.node.args
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    found: dict[str, tuple[bool, bool]] = {}
    for arg, default in (
        *zip(positional, defaults, strict=True),
        *zip(args.kwonlyargs, args.kw_defaults, strict=True),
    ):
        none = isinstance(default, ast.Constant) and default.value is None
        other = default is not None
        if arg.annotation is not None:
            declared = engine.annotation(arg.annotation, function.module)
            if declared is not None:
                other = other or declared.kind is not Kind.TENSOR or declared.null is not Null.NEVER
                none = none or declared.null is not Null.NEVER
        found[arg.arg] = (other, none)
    return found


def _in_call(facts: Facts, loose: set[str], nullable: set[str]) -> None:
    for name, value in facts.params.items():
        if value.kind is not Kind.TENSOR and value.kind is not Kind.UNKNOWN:
            loose.add(name)
        if value.null is Null.ALWAYS:
            nullable.add(name)


def _holds(facts: Facts, name: str) -> bool:
    value = facts.params.get(name)
    return value is not None and value.kind is Kind.TENSOR


def is_loose(node: ast.expr, loose: frozenset[str], values: Facts) -> bool:
    """Whether an expression is a tensor only where optional parameters are, and has a value where they are not."""
    value = values.values.get(id(node))
    if isinstance(node, ast.Name):
        params = values.params
        return node.id in loose and (node.id not in params or (value is not None and _same(value, params[node.id])))
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
    elif isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp):
        operands = [node.operand]
    elif isinstance(node, ast.BoolOp):
        operands = node.values
    elif isinstance(node, ast.NamedExpr):
        operands = [node.value]
    elif isinstance(node, ast.IfExp):
        operands = [node.body, node.orelse]
    else:
        return False
    tensors = [o for o in operands if _is_tensor(values.values.get(id(o)))]
    return bool(tensors) and all(is_loose(o, loose, values) for o in tensors)


def _is_tensor(value: Value | None) -> bool:
    return value is not None and value.kind is Kind.TENSOR


def _same(value: Value, parameter: Value) -> bool:
    """Whether a name still holds what the parameter held."""
    return frozenset(root for root in value.roots if root[0] != "join") <= parameter.roots


def _asked(site: Site, test: ast.expr) -> set[str]:
    """Names that are no None where a side is computed: the test would have raised, or a static part of it asks."""
    data = {id(d.node) for d in site.event.test.data} if site.event.test is not None else set[int]()
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    found: set[str] = set()
    for part in parts:
        if any(id(node) in data for node in walk(part)):
            first = part.values[0] if isinstance(part, ast.BoolOp) else part
            return found | dereferenced([first])
        found |= {node.id for node in walk(part) if isinstance(node, ast.Name)}
    return found


def dereferenced(nodes: Iterable[ast.AST]) -> set[str]:
    """Names of which something is computed that fails for None."""
    found: set[str] = set()
    for root in nodes:
        for node in walk(root):
            if isinstance(node, (ast.Attribute, ast.Subscript)):
                found |= _names([node.value])
            elif isinstance(node, ast.BinOp):
                found |= _names([node.left, node.right])
            elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
                found |= _names([node.operand])
            elif isinstance(node, ast.Compare) and all(isinstance(op, _ORDER) for op in node.ops):
                found |= _names([node.left, *node.comparators])
            elif isinstance(node, ast.Call):
                found |= _names([*node.args, *(k.value for k in node.keywords)])
    return found


_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _asked_before(site: Site) -> set[str]:
    """Names that are used in front of the branch, or that tests there mention: taken as told not to be None."""
    found: set[str] = set()
    node: ast.AST | None = site.event.stmt
    while isinstance(node, ast.stmt):
        block = scope.block_of(site.function, node) or []
        earlier = block[: next((i for i, s in enumerate(block) if s is node), 0)]
        parent = scope.parent_of(site.function, node)
        tests = [s.test for s in (*earlier, parent) if isinstance(s, (ast.If, ast.Assert, ast.While))]
        found |= {n.id for test in tests for n in walk(test) if isinstance(n, ast.Name)}
        found |= dereferenced(s for s in earlier if isinstance(s, _SIMPLE))
        node = parent
    return found


def _names(nodes: list[ast.expr]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name)}
