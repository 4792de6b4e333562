"""[Counter]: an integer that a module counts on with becomes a tensor, which TorchDynamo does not guard by its value.

``self.count = 0`` in the constructor becomes a buffer that is not saved (dynamo-facts, section E; measured: 8
compilations, and eager after that, become one).  Code that is not compiled reads the number by ``.item()``.  Never
safe: other files may read it, or store a number there.

What only counts is written in place.  What compiled code computes with, too, is a new tensor at each call, as a Python
number is: of a buffer that is written, AOTAutograd keeps the buffer for the backward pass and not what was read of it,
so that ``self.n += 1; return x * self.n`` (``self.n.clone()`` as well) has the gradient of the next call, without an
error (measured, torch 2.13, aot_eager and inductor).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from graphmend_lsp.finding import Offer, Reason, Refusal
from graphmend_lsp.flow.events import Facts, Growth
from graphmend_lsp.flow.values import UNKNOWN, Kind, Null
from graphmend_lsp.mend.base import Draft, ExpressionReplacement, Replacement, Site
from graphmend_lsp.mend.constants.constructor import of_self, related
from graphmend_lsp.mend.sources import one_line, operand, replacements
from graphmend_lsp.mend.spelling import torch_name_in
from graphmend_lsp.mend.uses import beside_tensors
from graphmend_lsp.model.attributes import attributes_set
from graphmend_lsp.model.module import ClassInfo, FunctionInfo
from graphmend_lsp.model.walk import children, last_name, own_nodes, walk

ORDER = 50
KIND = "counter"
_BY_NAME = frozenset({"getattr", "setattr", "delattr", "attrgetter", "register_buffer", "__setattr__", "__getattr__"})
_HOOKS = ("__setattr__", "__getattr__", "__getattribute__", "register_buffer")
_TORCH_ATTRIBUTES = frozenset({"training", "_version"})
"""Numbers that ``nn.Module`` has itself."""
_UNSAID: dict[str, tuple[Reason, str]] = {
    "text": ("unsupported", "a text has no form as a tensor: keep it out of what is compiled"),
    "float": ("dtype", "a float is a double, which a tensor of the same precision is on few devices: pass it in"),
    "length": ("container-mutation", "a list that collects is best returned, or emptied before each call"),
}
_Changes = list[Replacement | ExpressionReplacement]


class _Refused(Exception):
    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason
        self.message = message


@dataclass
class _Made:
    constructor: FunctionInfo
    changes: dict[ast.AST, tuple[FunctionInfo, _Changes]] = field(
        default_factory=dict[ast.AST, "tuple[FunctionInfo, _Changes]"]
    )
    arithmetic: bool = False
    """Whether compiled code computes with it."""
    needs_torch: bool = False


def propose(site: Site) -> list[Offer | Refusal]:
    growth = site.event.grows
    if site.code != "GM701" or growth is None:
        return []
    try:
        made = _Counter(site, growth).made()
    except _Refused as refused:
        return [Refusal(KIND, refused.reason, refused.message)]
    name = one_line(site.source(growth.target))
    changes = (
        f"who reads `{name}` from outside gets a tensor, to store a number there raises a TypeError, it moves with the"
        " module, and wraps around at 2**63"
    )
    if made.arithmetic:
        changes += (
            "; arithmetic with it is done in the tensor's own precision, which may also decide the type of the result,"
            " and training after a call under `torch.inference_mode()` raises"
        )
    return [
        Offer(KIND, f"Count in a buffer: `{name}` becomes a tensor that is not saved", "unsafe", changes, ("dtype",))
    ]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    growth = site.event.grows
    if growth is None:
        return Refusal(offer.kind, "unsupported", "nothing counts here")
    try:
        made = _Counter(site, growth).made()
    except _Refused as refused:
        return Refusal(KIND, refused.reason, refused.message)
    own = made.changes.pop(site.function.node, (site.function, []))[1]
    elsewhere = tuple((function, tuple(changes)) for function, changes in made.changes.values())
    return Draft(tuple(own), needs_torch=made.needs_torch, elsewhere=elsewhere)


class _Counter:
    """Finds all uses of one counter in the file, and how each is written for a tensor."""

    def __init__(self, site: Site, growth: Growth) -> None:
        self.site = site
        target = growth.target
        cls = site.function.cls
        if growth.what != "number":
            raise _Refused(*_UNSAID[growth.what])
        own = isinstance(target, ast.Attribute) and _is_self(target.value, site.function)
        if not own or not isinstance(target, ast.Attribute) or cls is None or growth.owner != "module":
            raise _Refused(
                "unsupported",
                "only a number that a module holds itself can become a buffer: keep the count in a module",
            )
        self.cls: ClassInfo = cls
        self.name = target.attr
        constructor = cls.methods.get("__init__")
        if constructor is None or constructor.chunk is not site.chunk:
            raise _Refused("unsupported", f"`{self.name}` is not made in the constructor of `{cls.name}`")
        self.result = _Made(constructor)

    def made(self) -> _Made:
        self._names_are_free()
        methods = {id(node): method for method in self.cls.methods.values() for node in own_nodes(method.node)}
        uses: dict[ast.AST, tuple[FunctionInfo, list[ast.Attribute]]] = {}
        for node in self._mentions():
            method = methods.get(id(node))
            if method is None or not _is_self(node.value, method):
                line = node.lineno + self._shift(node)
                raise _Refused("unsupported", f"line {line} uses `.{self.name}` of what may be this module")
            uses.setdefault(method.node, (method, []))[1].append(node)
        found = [_Method(self.site, method, self.name, nodes) for method, nodes in uses.values()]
        self.result.arithmetic = any(method.compiled and method.reads for method in found)
        for method in found:
            self._method(method)
        return self.result

    # -- what else there may be ----------------------------------------------------------------------

    def _names_are_free(self) -> None:
        """``register_buffer`` raises if the module has such an attribute already."""
        if self.name in _TORCH_ATTRIBUTES:
            raise _Refused("unsupported", f"`{self.name}` is an attribute of every module")
        for cls in self.site.engine.mro(self.cls):
            if isinstance(cls, str):
                if cls not in ("object", "builtins.object") and not cls.startswith("torch.nn."):
                    raise _Refused("state-write", f"what `{cls}` does with a buffer that is not saved is not known")
                continue
            if any(name in cls.methods for name in _HOOKS):
                raise _Refused("state-write", f"`{cls.name}` has its own way of setting attributes")
            there = self.name in cls.attributes or self.name in cls.methods or self.name in cls.inner
            if cls is not self.cls:
                there = there or any(self.name in attributes_set(method.node) for method in cls.methods.values())
            if there:
                raise _Refused("unsupported", f"`{self.name}` is an attribute of class `{cls.name}`, too")

    def _mentions(self) -> Iterator[ast.Attribute]:
        """Every place of the file that may mean the counter."""
        module = self.site.module
        unrelated = [cls for cls in module.classes if not related(self.site, self.cls, cls)]
        others = {id(node) for cls in unrelated for node in of_self(cls)}
        for chunk in module.parsed.chunks:
            if self.name not in chunk.text:
                continue
            for top in chunk.nodes:
                called = {id(node.func) for node in walk(top) if isinstance(node, ast.Call)}
                for node in walk(top):
                    if _by_name(node, self.name):
                        raise _Refused("unsupported", f"`{self.name}` is read or set by its name, as a text")
                    if isinstance(node, ast.Attribute) and node.attr == self.name:
                        if id(node) not in others and id(node) not in called:
                            yield node

    def _shift(self, node: ast.AST) -> int:
        chunk = next(c for c in self.site.module.parsed.chunks if any(n is node for top in c.nodes for n in walk(top)))
        return chunk.shift

    # -- one method ------------------------------------------------------------------------------------

    def _method(self, method: _Method) -> None:
        changes: _Changes = []
        cuts: list[tuple[ast.expr, str]] = []
        registered = False
        constructor = method.function is self.result.constructor
        for use in method.reads:
            cuts += self._read(method, use)
        for use in method.writes:
            stmt = method.parents.get(id(use))
            if isinstance(stmt, ast.AugAssign) and isinstance(stmt.op, (ast.Add, ast.Sub)):
                changes += self._added(method, use, stmt)
            elif constructor and isinstance(stmt, (ast.Assign, ast.AnnAssign)):
                if registered:
                    raise _Refused("unsupported", f"`{self.name}` is set several times in the constructor")
                changes.append(self._register(method, stmt))
                registered = True
            elif isinstance(stmt, ast.Assign) and stmt.targets == [use]:
                changes += self._stored(method, use, stmt)
            else:
                spelled = one_line(self.site.source(use))
                raise _Refused("unsupported", f"`{spelled}` is set together with others, bound or deleted")
        if constructor and not registered:
            raise _Refused("unsupported", f"`{self.name}` is not made in the constructor of `{self.cls.name}`")
        changes += replacements(self.site, method.parents, cuts)
        if changes:
            self.result.changes[method.function.node] = (method.function, changes)

    def _register(self, method: _Method, stmt: ast.Assign | ast.AnnAssign) -> Replacement:
        value = stmt.value
        index = next((i for i, each in enumerate(method.function.body) if each is stmt), None)
        if index is None or value is None or (isinstance(stmt, ast.Assign) and len(stmt.targets) > 1):
            raise _Refused("control-flow", f"`{self.name}` is not made on every path through the constructor, alone")
        if not any(_makes_module(each) for each in method.function.body[:index]):
            raise _Refused(
                "state-write", f"`{self.name}` is made before the module itself: `super().__init__()` comes later"
            )
        if not method.is_int(value):
            raise self._no_int(value)
        torch, needed = torch_name_in(method.function)
        self.result.needs_torch |= needed
        given = one_line(self.site.source(value))
        receiver = one_line(self.site.source(stmt.targets[0] if isinstance(stmt, ast.Assign) else stmt.target))
        receiver = receiver.rpartition(".")[0]
        tensor = f"{torch}.tensor({given})" if _is_literal(value) else f"{torch}.tensor({given}, dtype={torch}.long)"
        return Replacement(stmt, stmt, (f'{receiver}.register_buffer("{self.name}", {tensor}, persistent=False)',))

    def _added(self, method: _Method, use: ast.Attribute, stmt: ast.AugAssign) -> _Changes:
        """``self.n += 1``."""
        if not method.is_int(stmt.value):
            raise self._no_int(stmt.value)
        if not self.result.arithmetic:
            return []
        spelled, text = (one_line(self.site.source(node)) for node in (use, stmt.value))
        sign = "+" if isinstance(stmt.op, ast.Add) else "-"
        return [Replacement(stmt, stmt, (f"{spelled} = {spelled} {sign} {operand(stmt.value, text)}",))]

    def _stored(self, method: _Method, use: ast.Attribute, stmt: ast.Assign) -> _Changes:
        """``self.n = self.n + 1`` and ``self.n = 0``."""
        value = stmt.value
        spelled, text = (one_line(self.site.source(node)) for node in (use, value))
        if not method.is_int(value):
            raise self._no_int(value)
        if not _exact(value):
            raise _Refused("dtype", f"`{text}` is not a sum that tensors compute alike")
        if self.result.arithmetic:
            if method.derives(value):
                return []
            torch, needed = torch_name_in(method.function)
            self.result.needs_torch |= needed
            zeros = f"{torch}.zeros_like({spelled})"
            zero = isinstance(value, ast.Constant) and value.value == 0
            return [Replacement(stmt, stmt, (f"{spelled} = {zeros}" + ("" if zero else f" + {operand(value, text)}"),))]
        if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)) and _same(value.left, use):
            if not method.derives(value.right):
                sign = "+" if isinstance(value.op, ast.Add) else "-"
                return [Replacement(stmt, stmt, (f"{spelled} {sign}= {one_line(self.site.source(value.right))}",))]
        return [Replacement(stmt, stmt, (f"{spelled}.fill_({text})",))]

    def _read(self, method: _Method, use: ast.Attribute) -> list[tuple[ast.expr, str]]:
        """How a place that reads the counter is written."""
        spelled = one_line(self.site.source(use))
        if method.compiled:
            contexts = self._contexts(method.function, method.facts)
            if not beside_tensors(use, contexts, through_numbers=True, sinks=method.stored, allows=_alike):
                line = use.lineno + self._shift(use)
                message = f"line {line} uses `{spelled}` for more than arithmetic with tensors, where code is compiled"
                raise _Refused("host-value", message)
            return []
        outer = method.parents.get(id(use))
        if isinstance(outer, ast.FormattedValue) and outer.conversion == -1:
            return []  # a tensor without dimensions is formatted as its number
        while outer is not None:
            if isinstance(outer, ast.JoinedStr):
                raise _Refused("unsupported", f"`{spelled}` stands inside an f-string")
            outer = method.parents.get(id(outer))
        return [(use, f"{spelled}.item()")]

    def _contexts(self, method: FunctionInfo, facts: Facts) -> list[Facts]:
        """The facts of a method in all contexts that are known."""
        if method.node is self.site.function.node:
            return [self.site.facts, *self.site.others]
        callers = self.site.callers.get(method.node, [])
        found = [f for caller in callers for f in caller.callees if f.function.node is method.node]
        return found or [facts]

    def _no_int(self, node: ast.expr) -> _Refused:
        return _Refused("dtype", f"`{one_line(self.site.source(node))}` is not known to be an int")


class _Method:
    """A method with its uses of the counter, in the order of the text."""

    def __init__(self, site: Site, function: FunctionInfo, name: str, uses: list[ast.Attribute]) -> None:
        facts = site.facts if function.node is site.function.node else site.engine.generic(function)
        if facts is None:
            raise _Refused("unsupported", f"what `{function.name}` does is not known")
        self.function = function
        self.facts: Facts = facts
        self.name = name
        self.compiled = function.node in site.entries or function.node in site.callers
        nodes = [function.node, *own_nodes(function.node)]
        self.parents = {id(child): node for node in nodes for child in children(node)}
        uses = sorted(uses, key=lambda node: (node.lineno, node.col_offset))
        self.writes = [use for use in uses if not isinstance(use.ctx, ast.Load)]
        stored = [self.parents.get(id(use)) for use in self.writes]
        self.stored = [stmt for stmt in stored if isinstance(stmt, ast.Assign)]
        within = {id(node) for stmt in self.stored for node in walk(stmt)}
        self.reads = [use for use in uses if isinstance(use.ctx, ast.Load) and id(use) not in within]
        """Those in ``self.n = self.n + 1`` left out."""
        self._derived = self._names()

    def _names(self) -> set[str]:
        """Names of numbers that come from the counter: tensors, where code is compiled."""
        found: set[str] = set()
        assigned = [node for node in own_nodes(self.function.node) if isinstance(node, ast.Assign)]
        for _ in assigned if self.compiled else ():
            before = len(found)
            for stmt in assigned:
                if self._derives(stmt.value, found):
                    found |= {target.id for target in stmt.targets if isinstance(target, ast.Name)}
            if len(found) == before:
                break
        return found

    def _derives(self, node: ast.expr, names: set[str]) -> bool:
        return any(
            (isinstance(n, ast.Attribute) and n.attr == self.name) or (isinstance(n, ast.Name) and n.id in names)
            for n in walk(node)
        )

    def derives(self, node: ast.expr) -> bool:
        """Whether an expression is computed from the counter, as a tensor."""
        return self._derives(node, self._derived)

    def is_int(self, node: ast.expr) -> bool:
        value = self.facts.values.get(id(node), UNKNOWN)
        return value.kind is Kind.PYTHON and value.dtype == "int" and value.null is Null.NEVER


def _is_self(node: ast.expr, function: FunctionInfo) -> bool:
    arguments = function.node.args
    first = (*arguments.posonlyargs, *arguments.args)[:1]
    return isinstance(node, ast.Name) and bool(first) and node.id == first[0].arg


def _same(node: ast.expr, use: ast.Attribute) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == use.attr and ast.dump(node.value) == ast.dump(use.value)


def _is_literal(node: ast.expr) -> bool:
    node = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return isinstance(node, ast.Constant) and type(node.value) is int


def _positive(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value > 0


def _exact(node: ast.expr) -> bool:
    """Whether tensors of integers compute the same as ints, short of what does not fit 64 bits."""
    if isinstance(node, ast.BinOp):
        small = isinstance(node.op, (ast.Add, ast.Sub)) or (
            isinstance(node.op, (ast.Mod, ast.FloorDiv)) and _positive(node.right)
        )
        return small and _exact(node.left) and _exact(node.right)
    return isinstance(node, (ast.Name, ast.Attribute)) or _is_literal(node)


def _alike(node: ast.BinOp) -> bool:
    """Arithmetic of numbers that tensors do, too, in their own precision, and that raises for both or neither."""
    if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        return True
    if isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod)):
        return _positive(node.right)
    if isinstance(node.op, ast.Pow):
        base = node.left
        return (isinstance(base, ast.Constant) and isinstance(base.value, float)) or _positive(node.right)
    return False


def _makes_module(stmt: ast.stmt) -> bool:
    """``super().__init__()``."""
    call = stmt.value if isinstance(stmt, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"


def _by_name(node: ast.AST, name: str) -> bool:
    """Whether an attribute is reached by its name, as a text."""
    if isinstance(node, ast.Subscript):
        owner = node.value.func if isinstance(node.value, ast.Call) else node.value
        by_name = last_name(owner) in ("vars", "__dict__", "_buffers")
        return by_name and isinstance(node.slice, ast.Constant) and node.slice.value == name
    if not isinstance(node, ast.Call) or last_name(node.func) not in _BY_NAME:
        return False
    return any(isinstance(part, ast.Constant) and part.value == name for part in node.args)
