"""[Keep]: a number that is taken out of a tensor only for arithmetic with tensors stays a tensor (dynamo-facts, E).

``x / y.max().item()`` becomes ``x / y.max().detach()``.  Never safe: a Python number is a double, which rounds
otherwise, and it never decides the result's type where a tensor may.  Beside arithmetic, comparisons and the operators
that take a tensor where they take a number (``clamp``, ``masked_fill``, ``torch.where``) may get it (measured, torch
2.13: same results and types), and ``max(count.item(), 1)`` is ``count.detach().clamp(min=1)``.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.values import UNKNOWN, Kind, Null
from graphmend_lsp.mend.base import Draft, ExpressionReplacement, Site
from graphmend_lsp.mend.sources import one_line
from graphmend_lsp.mend.spelling import torch_name
from graphmend_lsp.mend.uses import only_beside_tensors
from graphmend_lsp.model.walk import children, walk

ORDER = 30
KIND = "keep"
_CHANGES = "the arithmetic is done in the tensor's own precision, which may also decide the type of the result"
_OUTSIDE = ", and a value that the function is not defined for gives NaN instead of an exception"
_FUNCTIONS = frozenset(
    f"math.{name}"
    for name in "sqrt exp expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh erf erfc lgamma".split()
)
"""Functions of one number that torch has under the same name."""
_WHOLE = frozenset("uint8 int8 int16 int32 int64".split())
_BOUNDS = {"max": "min", "min": "max"}
"""What ``clamp`` is told where Python takes the larger, or the smaller, of two numbers."""
_OPERANDS = frozenset("add sub mul div true_divide eq ne lt le gt ge".split())
_BOUNDED = frozenset("clamp clip clamp_min clamp_max".split())
_SELECTED = frozenset({"masked_fill", "where"})
"""Operators that get a number behind a mask."""
_NAMED = frozenset({"min", "max", "value", "other"})


def propose(site: Site) -> list[Offer | Refusal]:
    made = _kept(site)
    if made is None:
        return []
    if isinstance(made, Refusal):
        return [made]
    changes = _CHANGES + (_OUTSIDE if site.event.name in _FUNCTIONS else "")
    title = f"Keep it a tensor: `{made.text}`"
    return [Offer(KIND, title, "unsafe", changes, ("dtype",)), Refusal(KIND, "dtype", changes)]


@dataclass(frozen=True)
class _Made:
    """What is replaced, and by what."""

    node: ast.expr
    text: str


def build(site: Site, offer: Offer) -> Draft | Refusal:
    made = _kept(site)
    if made is None or isinstance(made, Refusal):
        return made or Refusal(offer.kind, "unsupported", "there is no number")
    needs_torch = site.event.name in _FUNCTIONS and torch_name(site)[1]
    return Draft((ExpressionReplacement(made.node, made.text),), needs_torch=needs_torch)


def _kept(site: Site) -> _Made | Refusal | None:
    """What stands for the number, or why nothing can."""
    node = site.event.node
    if site.code != "GM401" or not isinstance(node, ast.Call):
        return None
    inner = _inner(site, node)
    if inner is None:
        return Refusal(KIND, "host-value", f"`{site.source(node)}` is needed as a value of Python")
    text = one_line(site.source(inner))
    if site.event.name in _FUNCTIONS:
        text = f"{torch_name(site)[0]}.{site.event.name.removeprefix('math.')}({text})"
    elif not isinstance(inner, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        text = f"({text})"
    made = _grown(site, _Made(node, f"{text}.detach()"), inner)
    if "\n" in made.text:
        return Refusal(KIND, "unsupported", "a comment stands inside the expression")
    if not only_beside_tensors(site, made.node, through_numbers=True, takes=_takes):
        return Refusal(KIND, "host-value", "the number is used for more than arithmetic with tensors")
    if not all(_one_number(facts, inner) for facts in (site.facts, *site.others)):
        return Refusal(KIND, "shape", f"`{site.source(inner)}` is not known to have no dimensions")
    return made


def _inner(site: Site, node: ast.Call) -> ast.expr | None:
    """The tensor whose number is taken as it is."""
    name = site.event.name
    if name == "item" and isinstance(node.func, ast.Attribute):
        return node.func.value
    if len(node.args) != 1 or node.keywords:
        return None
    if name == "int" and not all(_is_whole(facts, node.args[0]) for facts in (site.facts, *site.others)):
        return None
    return node.args[0] if name in ("float", "int", *_FUNCTIONS) else None


def _grown(site: Site, made: _Made, inner: ast.expr) -> _Made:
    """With the calls around it that tensors have, too: ``float()``, ``abs()``, and ``max()`` with a written number."""
    nodes = list(walk(site.event.stmt))
    parents = {id(child): node for node in nodes for child in children(node)}
    whole = all(_is_whole(facts, inner) for facts in (site.facts, *site.others))
    while True:
        call = parents.get(id(made.node))
        callee = site.value(call.func) if isinstance(call, ast.Call) else UNKNOWN
        if not isinstance(call, ast.Call) or call.keywords or callee.kind is not Kind.NAMESPACE:
            return made
        name = str(callee.ref).removeprefix("builtins.")
        if callee.ref in ("builtins.float", "builtins.abs") and len(call.args) == 1:
            made = _Made(call, made.text if name == "float" else f"{made.text}.abs()")
        elif callee.ref == "builtins.int" and len(call.args) == 1 and whole:
            made = _Made(call, made.text)
        elif callee.ref in ("builtins.max", "builtins.min") and len(call.args) == 2:
            other = call.args[1] if call.args[0] is made.node else call.args[0]
            if not all(_is_known(facts, other) for facts in (site.facts, *site.others)) or not (
                whole or call.args[0] is made.node
            ):
                return made  # of a NaN and a number Python takes the first
            made = _Made(call, f"{made.text}.clamp({_BOUNDS[name]}={site.source(other)})")
        else:
            return made


def _is_known(facts: Facts, node: ast.expr) -> bool:
    """Whether it is a number that is written, or known while tracing."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float)
    value = facts.values.get(id(node), UNKNOWN)
    known = value.kind is Kind.PYTHON and value.null is Null.NEVER and value.dtype in ("int", "float")
    return known and isinstance(node, (ast.Name, ast.Attribute))


def _takes(facts: Facts, holder: ast.AST, node: ast.expr) -> bool | ast.expr:
    """Whether an expression or statement would take a tensor for a number in it; see ``uses.Takes``."""
    if isinstance(holder, ast.Compare):
        other = holder.comparators[0] if holder.left is node else holder.left
        orders = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
        return len(holder.ops) == 1 and isinstance(holder.ops[0], orders) and _is_tensor(facts, other)
    if isinstance(holder, ast.AugAssign):
        arithmetic = isinstance(holder.op, (ast.Add, ast.Sub, ast.Mult, ast.Div))
        return arithmetic and holder.value is node and _is_tensor(facts, holder.target)
    if isinstance(holder, ast.Assign):
        target = holder.targets[0]
        return len(holder.targets) == 1 and isinstance(target, ast.Subscript) and _is_tensor(facts, target.value)
    if isinstance(holder, ast.keyword):
        return any(
            _argument_taken(facts, call, node)
            for call in walk(facts.function.node)
            if isinstance(call, ast.Call) and holder in call.keywords
        )
    if isinstance(holder, ast.Call) and _larger(facts, holder, node):
        return holder
    return isinstance(holder, ast.Call) and _argument_taken(facts, holder, node)


def _larger(facts: Facts, call: ast.Call, node: ast.expr) -> bool:
    """Whether it is the larger, or the smaller, of the number and one that is written, which tensors have, too.

    Of a NaN and a number Python takes the first, and the device the NaN.
    """
    callee = facts.values.get(id(call.func), UNKNOWN)
    if callee.kind is not Kind.NAMESPACE or callee.ref not in ("builtins.max", "builtins.min"):
        return False
    return len(call.args) == 2 and not call.keywords and call.args[0] is node and _is_known(facts, call.args[1])


def _argument_taken(facts: Facts, call: ast.Call, node: ast.expr) -> bool:
    """Whether an operator of a tensor takes one without dimensions for its only number."""
    if not isinstance(call.func, ast.Attribute) or any(isinstance(a, ast.Starred) for a in call.args):
        return False
    name = call.func.attr
    if name not in _OPERANDS | _BOUNDED | _SELECTED:
        return False
    owner, rest = call.func.value, list(call.args)
    if facts.function.module.dotted(call.func) == f"torch.{name}":
        if name == "where":
            others = [arg for arg in rest[1:] if arg is not node]
            return len(rest) == 3 and len(others) == 1 and not call.keywords and _is_tensor(facts, others[0])
        if not rest or rest[0] is node:
            return False
        owner, *rest = rest
    rest = rest[1:] if name in _SELECTED else rest
    rest += [keyword.value for keyword in call.keywords if keyword.arg in _NAMED]
    given = [arg for arg in rest if not (isinstance(arg, ast.Constant) and arg.value is None)]
    plain = all(keyword.arg in _NAMED for keyword in call.keywords)
    return plain and given == [node] and _is_tensor(facts, owner)


def _is_tensor(facts: Facts, node: ast.expr) -> bool:
    value = facts.values.get(id(node), UNKNOWN)
    return value.kind is Kind.TENSOR and not value.array and not value.mixed


def _is_whole(facts: Facts, node: ast.expr) -> bool:
    return _is_tensor(facts, node) and facts.values[id(node)].dtype in _WHOLE


def _one_number(facts: Facts, node: ast.expr) -> bool:
    return _is_tensor(facts, node) and facts.values[id(node)].shape == ()
