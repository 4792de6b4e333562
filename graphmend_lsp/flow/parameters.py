"""What a parameter is when nobody shows a call: from its annotation, its default and its uses."""

from __future__ import annotations

import ast
from collections.abc import Callable
from weakref import WeakKeyDictionary

from graphmend_lsp.flow.ops import ARRAY_METHODS, TENSOR_ONLY_METHODS, function_fact, method_fact
from graphmend_lsp.flow.values import (
    PYTHON,
    UNKNOWN,
    Kind,
    Null,
    Value,
    Why,
    changed,
    container,
    join_all,
    number,
)
from graphmend_lsp.model.module import ClassInfo, FunctionInfo, FunctionNode, Module
from graphmend_lsp.model.walk import children, own_nodes, walk

_TENSOR_NAMES = frozenset(
    "Tensor FloatTensor LongTensor IntTensor BoolTensor HalfTensor DoubleTensor ByteTensor BFloat16Tensor ShortTensor "
    "CharTensor TensorType Parameter".split()
)
_LISTS = frozenset("List list Sequence Iterable Iterator Collection Set set FrozenSet frozenset Deque deque".split())
_TUPLES = frozenset({"Tuple", "tuple"})
_DICTS = frozenset({"Dict", "dict", "Mapping", "MutableMapping", "OrderedDict", "DefaultDict", "defaultdict"})
_JAXTYPING = frozenset(
    "Float Float16 Float32 Float64 BFloat16 Int Int32 Int64 UInt UInt8 Bool Num Shaped Real Complex Inexact "
    "Integer Key".split()
)
_PYTHON = {"int": "int", "float": "float", "bool": "bool", "str": "str", "complex": "complex", "bytes": "bytes"}
_CALLED = frozenset(
    "sum mean max min any all abs argmax argmin float long half bool masked_fill std var norm prod cumsum".split()
)
_TENSOR_ATTRIBUTES = frozenset({"device", "dtype", "requires_grad", "is_cuda", "grad_fn"})
_FACTORIES = frozenset({"torch.tensor", "torch.as_tensor", "torch.is_tensor", "torch.from_numpy", "torch.numel"})
_SIZES = frozenset(
    "zeros ones full empty rand randn arange linspace eye randint randperm ones_like device Size finfo iinfo "
    "manual_seed Generator no_grad set_grad_enabled autocast is_tensor tensor as_tensor from_numpy stack cat hstack "
    "vstack dstack einsum compile broadcast_tensors meshgrid block_diag cartesian_prod atleast_1d".split()
)


Resolve = Callable[[ast.expr, Module], "Value | tuple[ast.expr, Module] | None"]
"""What a name in an annotation is: objects of a class of the project, or another annotation (an alias)."""


_PYTHON_BUILTINS = frozenset(
    "range isinstance getattr setattr hasattr open str zip enumerate sum sorted list tuple dict set map filter iter "
    "next reversed".split()
)
"""Builtins that are rarely given a tensor."""


def annotation(node: ast.expr, module: Module, resolve: Resolve, depth: int = 0) -> Value | None:
    """Value that an annotation stands for; None where it says nothing."""
    if depth > 8:
        return None
    if isinstance(node, ast.Constant):
        if node.value is None:
            return Value(Kind.PYTHON, null=Null.ALWAYS, const=None, truth=False)
        if isinstance(node.value, str):
            try:
                inner = ast.parse(node.value.strip(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
            return annotation(inner, module, resolve, depth + 1)
        return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        members: list[ast.expr] = []
        while isinstance(node, ast.BinOp):
            members.append(node.right)
            node = node.left
        return _union([annotation(n, module, resolve, depth + 1) for n in (node, *reversed(members))])
    if isinstance(node, ast.Subscript):
        return _generic(node, module, resolve, depth)
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return None
    dotted = module.dotted(node)
    last = node.attr if isinstance(node, ast.Attribute) else node.id
    name = (dotted or last).rpartition(".")[2]
    if name in _TENSOR_NAMES and not _local_class(node, module):
        return Value(Kind.TENSOR)
    if dotted is not None and dotted.startswith("builtins.") and name in _PYTHON:
        return number(_PYTHON[name])
    if name in _LISTS or name in _TUPLES:
        return container(type_name="tuple" if name in _TUPLES else "list")
    if name in _DICTS:
        return Value(Kind.CONTAINER, dtype="dict")
    if dotted in ("torch.device", "torch.dtype", "torch.Size"):
        return Value(Kind.PYTHON, dtype="size" if name == "Size" else dotted)
    if dotted == "torch.Generator":
        return Value(Kind.PYTHON, dtype="Generator")
    found = resolve(node, module)
    if isinstance(found, tuple):
        return annotation(found[0], found[1], resolve, depth + 1)
    return found


def _local_class(node: ast.expr, module: Module) -> bool:
    return isinstance(node, ast.Name) and isinstance(module.find(node.id), ClassInfo)


def _generic(node: ast.Subscript, module: Module, resolve: Resolve, depth: int) -> Value | None:
    base = node.value
    name = base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]

    def each(index: int) -> Value | None:
        return annotation(items[index], module, resolve, depth + 1) if index < len(items) else None

    if name == "Optional":
        inner = each(0)
        return None if inner is None else changed(inner, null=Null.MAYBE)
    if name == "Union":
        return _union([each(i) for i in range(len(items))])
    if name == "Annotated" or (name in _JAXTYPING and len(items) == 2):
        return each(0)
    if name in _LISTS:
        return container(element=each(0), type_name="list")
    if name in _TUPLES:
        if len(items) == 2 and isinstance(items[1], ast.Constant) and items[1].value is Ellipsis:
            return container(element=each(0), type_name="tuple")
        values = [each(i) for i in range(len(items))]
        return container(tuple(v or UNKNOWN for v in values), type_name="tuple")
    if name in _DICTS:
        return Value(Kind.CONTAINER, element=each(1), dtype="dict")
    if name in ("Literal",):
        return PYTHON
    if name == "Final" or name == "ClassVar":
        return each(0)
    return None


def _union(members: list[Value | None]) -> Value | None:
    nullable = any(m is not None and m.null is Null.ALWAYS for m in members)
    rest = [m for m in members if m is not None and m.null is not Null.ALWAYS]
    if not rest or len(rest) + nullable < len(members):
        return None
    kinds = {m.kind for m in rest}
    result = rest[0]
    if len(kinds) > 1:
        tensors = [m for m in rest if m.kind is Kind.TENSOR]
        others = tuple(m for m in rest if m.kind is not Kind.TENSOR)
        result = changed(tensors[0], mixed=True, options=others) if tensors else join_all(others) or UNKNOWN
    elif len(rest) > 1 and result.kind is Kind.PYTHON:
        result = PYTHON
    elif len(rest) > 1 and result.kind in (Kind.MODULE, Kind.INSTANCE):
        result = join_all(tuple(rest)) or UNKNOWN
    elif len(rest) > 1 and result.kind is Kind.CONTAINER:
        result = next((m for m in rest if m.element is not None), result)
        result = changed(result, elements=None)
    return changed(result, null=Null.MAYBE) if nullable or result.null else result


class Uses:
    """Where a function uses each of its names: one walk over the body, shared by all parameters."""

    def __init__(self, node: FunctionNode) -> None:
        self.by_name: dict[str, list[ast.AST]] = {}
        """For each name, the nodes of which a load of it is a direct part."""
        self.computed: dict[str, dict[str, None]] = {}
        """For each name, the names assigned from arithmetic or a comparison with it."""
        self.compared: dict[str, set[str]] = {}
        """For each name, the names that are one comparison of it with a number."""
        self.loops: dict[str, list[str]] = {}
        """For each name, the targets of loops and comprehensions over it."""
        self.stored: dict[str, tuple[int, int]] = {}
        self.self_updates: set[str] = set()
        self.counted: set[str] = set()
        """Names that are an index, or compared with an int where Python needs a bool."""
        for part in own_nodes(node):
            self._add(part)

    def _add(self, node: ast.AST) -> None:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name):
            self.counted.add(node.slice.id)
        elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
            self._add_test(node.test)
        for child in children(node):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
                self.by_name.setdefault(child.id, []).append(node)
            elif isinstance(child, (ast.BinOp, ast.Compare, ast.UnaryOp)) and isinstance(
                node, (ast.Attribute, ast.Assign)
            ):
                for name in _operands(child):
                    if isinstance(node, ast.Attribute):
                        self.by_name.setdefault(name, []).append(node)
                    else:
                        targets = [t.id for t in node.targets if isinstance(t, ast.Name)]
                        self.computed.setdefault(name, {}).update(dict.fromkeys(targets))
                        if isinstance(child, ast.Compare) and _is_number(child.comparators[0]):
                            self.compared.setdefault(name, set()).update(targets)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            self.by_name.setdefault(node.func.value.id, []).append(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            place = (node.lineno, node.col_offset)
            self.stored[node.id] = min(self.stored.get(node.id, place), place)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and any(
                    isinstance(n, ast.Name) and n.id == target.id for n in walk(node.value)
                ):
                    self.self_updates.add(target.id)
        elif isinstance(node, (ast.For, ast.comprehension)):
            if isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Name):
                self.loops.setdefault(node.iter.id, []).append(node.target.id)

    def _add_test(self, test: ast.expr) -> None:
        todo = [test]
        while todo:
            item = todo.pop()
            if isinstance(item, ast.BoolOp):
                todo += item.values
            elif isinstance(item, ast.UnaryOp):
                todo.append(item.operand)
            elif isinstance(item, ast.Compare) and isinstance(item.ops[0], (ast.Eq, ast.NotEq)):
                if isinstance(item.left, ast.Name) and _is_int(item.comparators[0]):
                    self.counted.add(item.left.id)

    @classmethod
    def of(cls, node: FunctionNode) -> Uses:
        """The uses in a function; trees never change, and those that an edit does not touch stay."""
        known = _known_uses.get(node)
        if known is None:
            known = _known_uses[node] = cls(node)
        return known

    def expressions(self, name: str) -> list[ast.expr]:
        found = [n for n in self.by_name.get(name, ()) if isinstance(n, ast.expr)]
        return sorted(found, key=_position)


_known_uses: WeakKeyDictionary[FunctionNode, Uses] = WeakKeyDictionary()


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _is_int(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _operands(node: ast.expr) -> set[str]:
    """Names that are direct operands of arithmetic or a comparison."""
    found: set[str] = set()
    todo: list[ast.expr] = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, ast.Name):
            found.add(item.id)
        elif isinstance(item, ast.BinOp):
            todo += [item.left, item.right]
        elif isinstance(item, ast.Compare):
            found.update(n.id for n in (item.left, *item.comparators) if isinstance(n, ast.Name))
        elif isinstance(item, ast.UnaryOp):
            todo.append(item.operand)
    return found


def used_as_tensor(
    function: FunctionInfo, name: str, is_torch_module: Callable[[ast.expr], bool]
) -> tuple[ast.expr, str] | None:
    """A use in the body that only a tensor allows: the node, and the use in words.

    Uses behind a new binding of the name are those of another value, unless it is made from the old one.
    """
    uses = Uses.of(function.node)
    limit = uses.stored.get(name)
    if limit is None or name in uses.self_updates:
        limit = None
    for node in uses.expressions(name):
        if limit is not None and _position(node) > limit:
            break
        found = _use(node, name, function, is_torch_module) or _use_of_result(node, name)
        if found is not None:
            return found
    for derived in uses.computed.get(name, ()):
        for node in uses.expressions(derived):
            if isinstance(node, ast.Attribute) and _numeric(node):
                return node, f"`.{node.attr}` of a result computed from `{name}`"
            if derived in uses.compared.get(name, ()) and _chooses(node, name, derived):
                return node, f"`{name}` is indexed by a comparison with it"
    return None


def _chooses(node: ast.expr, name: str, mask: str) -> bool:
    """``name[mask]`` of a mask that was compared with it, and ``~mask``: a truth of Python is used for neither."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert)
    return isinstance(node, ast.Subscript) and _is_name(node.slice, mask) and _is_name(node.value, name)


def iterated_as_tensors(
    function: FunctionInfo, name: str, is_torch_module: Callable[[ast.expr], bool]
) -> tuple[ast.expr, str] | None:
    """A loop or comprehension over the parameter whose elements are used as tensors."""
    uses = Uses.of(function.node)
    for target in uses.loops.get(name, ()):
        for node in uses.expressions(target):
            found = _use(node, target, function, is_torch_module)
            if found is not None:
                return found
    return None


def used_as_python(function: FunctionInfo, name: str) -> bool:
    """Whether some use is one that no tensor allows, or one that says nothing for a tensor."""
    uses = Uses.of(function.node)
    return name in uses.counted or any(_python_use(node, name) for node in uses.by_name.get(name, ()))


def _python_use(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Attribute):
        return _is_name(node.value, name) and method_fact(node.attr) is None
    if isinstance(node, ast.Call):
        if _is_name(node.func, name):
            return True
        builtin = node.func.id if isinstance(node.func, ast.Name) and any(_is_name(a, name) for a in node.args) else ""
        return builtin in _PYTHON_BUILTINS
    if isinstance(node, (ast.For, ast.comprehension)):
        return _is_name(node.iter, name)
    if isinstance(node, ast.Compare):
        return any(isinstance(c, ast.Constant) and isinstance(c.value, str) for c in (node.left, *node.comparators))
    if isinstance(node, ast.Subscript):
        return _is_name(node.value, name)
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        return _is_name(node.test, name)
    return isinstance(node, ast.Starred) or (isinstance(node, ast.keyword) and node.arg is None)


def _numeric(node: ast.Attribute) -> bool:
    return node.attr in TENSOR_ONLY_METHODS or node.attr in _CALLED


def _use_of_result(node: ast.expr, name: str) -> tuple[ast.expr, str] | None:
    """``(x > 0).sum()``."""
    if isinstance(node, ast.Attribute) and not isinstance(node.value, ast.Name) and _numeric(node):
        return node, f"`.{node.attr}` of a result computed from `{name}`"
    return None


def _position(node: ast.expr) -> tuple[int, int]:
    return (node.lineno, node.col_offset)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)


def _use(
    node: ast.expr, name: str, function: FunctionInfo, is_torch_module: Callable[[ast.expr], bool]
) -> tuple[ast.expr, str] | None:
    if isinstance(node, ast.Attribute) and _is_name(node.value, name):
        if node.attr in TENSOR_ONLY_METHODS:
            return node, f"`{name}.{node.attr}`"
        if node.attr in ("shape", "ndim", *_TENSOR_ATTRIBUTES) and node.attr not in ("device", "dtype"):
            return node, f"`{name}.{node.attr}`"
        return None
    if isinstance(node, ast.Call):
        return _call_use(node, name, function, is_torch_module)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        if _is_name(node.left, name) or _is_name(node.right, name):
            return node, f"`{name}` in a matrix product"
    if isinstance(node, ast.Subscript) and _is_name(node.value, name):
        index = node.slice
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        odd = any(isinstance(p, ast.Constant) and (p.value is None or p.value is Ellipsis) for p in parts)
        if odd or (isinstance(index, ast.Tuple) and any(isinstance(p, ast.Slice) for p in parts)):
            return node, f"`{name}` is indexed like a tensor"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert) and _is_name(node.operand, name):
        return node, f"`~{name}`"
    return None


def _call_use(
    node: ast.Call, name: str, function: FunctionInfo, is_torch_module: Callable[[ast.expr], bool]
) -> tuple[ast.expr, str] | None:
    func = node.func
    if isinstance(func, ast.Attribute) and _is_name(func.value, name):
        if func.attr in _CALLED or func.attr in ARRAY_METHODS:
            return node, f"`{name}.{func.attr}()`"
        fact = method_fact(func.attr)
        if func.attr in ("size", "dim", "view", "reshape", "to", "numel", "nelement") and fact is not None:
            if func.attr != "to" or node.args:
                return (node, f"`{name}.{func.attr}()`") if func.attr not in ("to",) else None
        return None
    if not node.args or not any(_is_name(a, name) for a in node.args):
        return None
    dotted = function.module.dotted(func)
    if dotted is not None and dotted.startswith("torch.") and dotted not in _FACTORIES:
        fact = function_fact(dotted)
        last = dotted.rpartition(".")[2]
        functional = fact is not None and fact.returns in ("tensor", "tensors", "bool") and last not in _SIZES
        if functional and (_is_name(node.args[0], name) or (fact is not None and fact.pointwise)):
            return node, f"`{last}({name})`"
        return None
    if is_torch_module(func) and _is_name(node.args[0], name):
        return node, f"`{ast.unparse(func)}({name})`"
    return None


def reason(use: tuple[ast.expr, str], name: str, why: Callable[[ast.expr, str], Why]) -> Why:
    node, words = use
    return why(node, f"`{name}` is used as a tensor: {words}")
