"""Where numbers and tensors that only the device knows go in their function, and what cannot be traced with them.

Dynamo (measured with 2.13) keeps a number of a tensor, and a size that is data, as a symbol.  What asks for the number
itself, in a branch or to count with, splits the graph; what AOTAutograd or inductor ask for makes compiling fail.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod

from graphmend_lsp.flow.values import Kind
from graphmend_lsp.mend.base import Site
from graphmend_lsp.model.walk import children, walk

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Div)
_PASS_ON = frozenset({"zip", "enumerate", "list", "tuple", "max", "min", "int", "sum", "reversed", "graph_int"})
"""Builtins whose result holds the numbers that they are given, or is computed of them."""
_MUST_KNOW = frozenset("range print str repr format float bool round divmod pow any all sorted set dict hash".split())
_HOST_MODULES = frozenset("itertools math numpy collections functools operator statistics logging warnings".split())
_NEED_NUMBERS = frozenset({"interpolate", "upsample"})
"""Functions of torch that take no symbols (measured, 2.13): the break would only move there."""
_HOLD = (ast.Tuple, ast.List, ast.UnaryOp, ast.Starred, ast.ListComp, ast.GeneratorExp)
_COUNTS = frozenset({"len", "size", "numel", "nelement"})
_REDUCES = frozenset("sum mean prod std var any all max min amax amin norm dim ndimension item".split())
"""Methods whose result, without arguments, has no rows."""
_FIXED = frozenset(
    "masked_scatter masked_scatter_ index_add index_add_ index_copy index_copy_ index_put index_put_ scatter scatter_"
    " scatter_add scatter_add_ scatter_reduce scatter_reduce_ isinstance is_tensor".split()
)
"""What takes rows and gives something that has none."""
_NEED_SIZES = _NEED_NUMBERS | frozenset(
    "tolist graph_list numpy unique unique_consecutive cumsum cumprod logcumsumexp einsum bmm baddbmm conv1d conv2d"
    " conv3d multi_head_attention_forward".split()
)
"""Operators that cannot do with a size that is data: Dynamo, AOTAutograd or inductor raises (measured, 2.13)."""
_CARRY = (*(ast.Tuple, ast.List, ast.Starred, ast.UnaryOp, ast.BinOp, ast.Compare, ast.IfExp, ast.Call, ast.Subscript),)


class Followed(ABC):
    """Where what some expressions give goes in their function: through names, containers and operators."""

    def __init__(self, site: Site, reads: list[ast.expr]) -> None:
        self._site = site
        self._reads = reads
        nodes = list(walk(site.function.node))
        self._parents = {id(child): node for node in nodes for child in children(node)}
        self._loads = [n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        self._names: set[str] = set()

    def fault(self) -> ast.expr | None:
        """An expression that torch.compile cannot trace with them; None if there is none."""
        todo: list[ast.expr] = list(self._reads)
        seen: set[int] = set()
        while todo:
            node = todo.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            found, names = self._follow(node)
            if found is not None:
                return found
            new = names - self._names
            self._names |= new
            todo += [load for load in self._loads if load.id in new]
        return None

    def _holder(self, node: ast.AST) -> ast.AST | None:
        """What a node stands in; of an argument by keyword the call."""
        parent = self._parents.get(id(node))
        return self._parents.get(id(parent)) if isinstance(parent, ast.keyword) else parent

    @abstractmethod
    def _follow(self, node: ast.expr) -> tuple[ast.expr | None, set[str]]:
        """What is wrong with where a value goes, and the names that it gets."""


class Numbers(Followed):
    """Where numbers of tensors go, and what has to know one of them while tracing."""

    def __init__(self, site: Site, reads: list[ast.expr]) -> None:
        super().__init__(site, reads)
        self._listed = site.event.name == "tolist" or site.code == "GM102"
        self.sizes = False
        """Whether torch gets one of the numbers, as a size or the like."""

    def _follow(self, node: ast.expr) -> tuple[ast.expr | None, set[str]]:
        while True:
            parent = self._holder(node)
            if isinstance(parent, ast.stmt):
                return self._given(parent, node)
            if isinstance(parent, ast.comprehension):
                if any(test is node for test in parent.ifs):
                    return node, set()
                return None, _bound(parent.target)
            if isinstance(parent, ast.BinOp):
                other = parent.right if parent.left is node else parent.left
                kind = self._site.value(other).kind
                if kind is Kind.TENSOR:
                    return None, set()
                if not isinstance(parent.op, _ARITHMETIC) or isinstance(other, (ast.List, ast.Tuple)):
                    return parent, set()
            elif isinstance(parent, ast.Call):
                if parent.func is node or not isinstance(parent.func, ast.Name):
                    dotted = self._site.module.dotted(parent.func) or ""
                    owner = parent.func.value if isinstance(parent.func, ast.Attribute) else parent.func
                    self.sizes |= dotted.startswith("torch.") or self._site.value(owner).kind is Kind.TENSOR
                    known = dotted.partition(".")[0] in _HOST_MODULES or dotted.rpartition(".")[2] in _NEED_NUMBERS
                    return (parent if known else None), set()
                name = parent.func.id
                if name in _MUST_KNOW or name not in _PASS_ON:
                    return (parent, set()) if name in _MUST_KNOW else (None, set())
            elif isinstance(parent, ast.Subscript):
                if parent.slice is node or isinstance(node, ast.Slice):
                    return parent, set()
            elif isinstance(parent, ast.NamedExpr):
                return None, _bound(parent.target)
            elif isinstance(parent, ast.Attribute):
                return None, set()  # a method of a list
            elif not isinstance(parent, _HOLD):
                return (parent if isinstance(parent, ast.expr) else node), set()
            if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
                return parent, set()
            assert isinstance(parent, ast.expr)
            node = parent

    def _given(self, stmt: ast.stmt, node: ast.expr) -> tuple[ast.expr | None, set[str]]:
        if isinstance(stmt, (ast.For, ast.AsyncFor)):
            return None, _bound(stmt.target)
        if isinstance(stmt, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
            plain = all(isinstance(n, (ast.Name, ast.Tuple, ast.List)) for target in targets for n in _parts(target))
            return (None if plain else node), {name for target in targets for name in _bound(target)}
        if isinstance(stmt, ast.Return):  # a list is taken for one of sizes
            return (None if self._listed else node), set()
        return (None if isinstance(stmt, ast.Expr) else node), set()


class Rows(Followed):
    """Where tensors of as many rows as only the device knows go, and what cannot be traced with them."""

    def _follow(self, node: ast.expr) -> tuple[ast.expr | None, set[str]]:
        while True:
            parent = self._holder(node)
            if isinstance(parent, ast.stmt):
                return self._named(parent, node)
            if isinstance(parent, ast.Attribute):
                outer = self._parents.get(id(parent))
                if isinstance(outer, ast.Call) and outer.func is parent:
                    parent = outer
                else:
                    return self._counted(parent) if parent.attr == "shape" else None, set()
            if isinstance(parent, ast.Call):
                name = _called(parent)
                if name in _COUNTS:
                    return self._counted(parent), set()
                if _fails(parent, name) or (isinstance(parent.func, ast.Name) and name in _PASS_ON):
                    return parent, set()
                if name in _FIXED or (name in _REDUCES and len(parent.args) + len(parent.keywords) == 0):
                    return None, set()
            elif isinstance(parent, ast.Subscript):
                at = parent.slice
                if isinstance(parent.ctx, ast.Store) or (at is not node and self._is_one_row(node, at)):
                    return None, set()
            elif isinstance(parent, ast.NamedExpr):
                return None, _bound(parent.target)
            elif isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
                return parent, set()
            elif isinstance(parent, ast.IfExp) and parent.test is node:
                return node, set()
            elif not isinstance(parent, _CARRY):
                return (parent if isinstance(parent, ast.expr) else node), set()
            assert isinstance(parent, ast.expr)
            node = parent

    def _is_one_row(self, node: ast.expr, at: ast.expr) -> bool:
        of_tensor = self._site.value(node).kind is Kind.TENSOR
        return of_tensor and isinstance(at, ast.Constant) and isinstance(at.value, int)

    def _counted(self, node: ast.expr) -> ast.expr | None:
        """What has to know how many there are."""
        return Numbers(self._site, [node]).fault()

    def _named(self, stmt: ast.stmt, node: ast.expr) -> tuple[ast.expr | None, set[str]]:
        if isinstance(stmt, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
            names = [n for target in targets for n in _parts(target) if isinstance(n, ast.Name)]
            return None, {name.id for name in names}
        return (None if isinstance(stmt, (ast.Return, ast.Expr)) else node), set()


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _fails(call: ast.Call, name: str) -> bool:
    """Whether an operator cannot be traced with a size that is data, or is compiled wrongly (all measured, 2.13)."""
    if name == "squeeze":
        dims = [*call.args, *(word.value for word in call.keywords)]
        return not any(isinstance(dim, ast.UnaryOp) or (isinstance(dim, ast.Constant) and dim.value) for dim in dims)
    return name in _NEED_SIZES or splits_rows(call)


def splits_rows(call: ast.Call) -> bool:
    """``x.reshape(3, -1)``: of ``(3 * n, 4)`` with a symbol ``n`` inductor (2.13) computes wrong numbers.

    Not of what was stacked from as many tensors, which has that dimension already.
    """
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("reshape", "view") or not call.args:
        return False
    given = call.args[0].elts if isinstance(call.args[0], (ast.Tuple, ast.List)) else call.args
    first, last = given[0], given[-1]
    if len(given) < 2 or not (isinstance(last, ast.UnaryOp) and isinstance(last.op, ast.USub)):
        return False
    if not isinstance(first, ast.Constant) or first.value == 1:
        return False
    made = call.func.value
    stacked = isinstance(made, ast.Call) and _called(made) == "stack" and made.args
    items = made.args[0] if stacked and isinstance(made, ast.Call) else None
    return not (isinstance(items, (ast.Tuple, ast.List)) and len(items.elts) == first.value)


def _parts(target: ast.expr) -> list[ast.expr]:
    return [target, *(n for each in getattr(target, "elts", ()) for n in _parts(each))]


def _bound(target: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
