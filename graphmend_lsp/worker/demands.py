"""What the first layers that a ``forward`` applies want its parameters to be, read off its source."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any, Callable, Mapping, NamedTuple, Sequence, cast

import torch
from torch import nn

from .shapes import Spec
from .signatures import parameters

_DEPTH = 6
_KEEPS_SHAPE = frozenset(
    "relu gelu silu elu tanh sigmoid leaky_relu dropout normalize softmax abs sqrt exp log clamp clip neg square"
    " float double half long int to type type_as contiguous clone detach cuda cpu masked_fill".split()
)
"""Functions and methods whose result has the shape of their first argument."""
_SIDE = {1: 32, 2: 32, 3: 16}
"""The sides of what is convolved, by dimensions."""


class Use(NamedTuple):
    """What is known of one parameter: the tensor a layer wants, its number of axes, and the keys of a dictionary."""

    spec: Spec | None = None
    rank: int = 0
    keys: tuple[str, ...] = ()


def uses(function: Callable[..., Any], depth: int = 0) -> dict[str, Use]:
    """By parameter, for the ones of which the source shows something."""
    node = _source(function)
    if node is None:
        return {}
    owner: Any = getattr(function, "__self__", None)
    names = [one.name for one in parameters(function)]
    reader = _Reader(owner, names, _self_name(node, owner), depth)
    for statement in node.body:
        reader.visit(statement)
    return {
        name: Use(reader.specs.get(name), reader.ranks.get(name, 0), tuple(reader.keys.get(name, ()))) for name in names
    }


def _source(function: Callable[..., Any]) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    try:
        code = inspect.unwrap(getattr(function, "__func__", function))
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    first = tree.body[0] if tree.body else None
    return first if isinstance(first, (ast.FunctionDef, ast.AsyncFunctionDef)) else None


def _self_name(node: ast.FunctionDef | ast.AsyncFunctionDef, owner: Any) -> str:
    arguments = [*getattr(node.args, "posonlyargs", []), *node.args.args]
    return arguments[0].arg if owner is not None and arguments else ""


class _Reader(ast.NodeVisitor):
    """Follows parameters as long as nothing changes their shape."""

    def __init__(self, owner: Any, names: Sequence[str], self_name: str, depth: int) -> None:
        self._owner = owner
        self._self = self_name
        self._depth = depth
        self._known = {name: name for name in names}
        self._loops: dict[str, Any] = {}
        self.specs: dict[str, Spec] = {}
        self.ranks: dict[str, int] = {}
        self.keys: dict[str, list[str]] = {}

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        root = self._root(node.value)
        for target in node.targets:
            if isinstance(target, ast.Tuple):
                self._unpacked(target, node.value)
            for part in ast.walk(target):
                if isinstance(part, ast.Name):
                    self._known.pop(part.id, None)
            if isinstance(target, ast.Name) and root is not None:
                self._known[target.id] = root

    def visit_If(self, node: ast.If) -> None:
        known = dict(self._known)
        self.generic_visit(node)
        test = node.test
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is):
            self._known = known  # what replaces a missing argument

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)

    def visit_For(self, node: ast.For) -> None:
        target, source = node.target, node.iter
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.args:
            source = source.args[0]
            if isinstance(target, ast.Tuple):
                target = target.elts[-1 if cast("ast.Name", cast("ast.Call", node.iter).func).id == "enumerate" else 0]
        if isinstance(source, ast.Subscript):
            source = source.value
        parts = self._object(source)
        if isinstance(target, ast.Name) and isinstance(parts, (nn.ModuleList, nn.Sequential)) and len(parts):
            self._loops[target.id] = next(iter(parts))
        for statement in node.body:
            self.visit(statement)

    def _unpacked(self, target: ast.Tuple, value: ast.expr) -> None:
        """``b, t, c = x.shape`` says how many axes there are."""
        function = value.func if isinstance(value, ast.Call) else value
        if not isinstance(function, ast.Attribute) or function.attr not in ("shape", "size"):
            return
        if isinstance(value, ast.Call) and value.args:
            return
        root = self._root(function.value)
        if root is not None and not any(isinstance(part, ast.Starred) for part in target.elts):
            self.ranks.setdefault(root, len(target.elts))

    def visit_Subscript(self, node: ast.Subscript) -> None:
        index: Any = getattr(node.slice, "value", None)  # of a constant, before Python 3.9 the constant itself
        index = getattr(index, "value", index)
        root = self._root(node.value)
        if root is not None and isinstance(index, str):
            known = self.keys.setdefault(root, [])
            if index not in known:
                known.append(index)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.generic_visit(node)
        for value, other in ((node.left, node.right), (node.right, node.left)):
            root, weight = self._root(value), self._object(other)
            if root is not None and isinstance(weight, torch.Tensor) and weight.dim():
                matrix = isinstance(node.op, ast.MatMult)
                axis = 0 if matrix and weight.dim() == 1 else -2 if matrix else -1
                self._wants(root, _last(int(weight.shape[axis]), _path(other)))

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in ("permute", "transpose") and isinstance(node.func, ast.Attribute):
            root = self._root(node.func.value)
            if name == "permute" and root is not None and len(node.args) > 1:
                self.ranks.setdefault(root, len(node.args))
            return
        layer = self._object(node.func)
        if isinstance(layer, nn.Module):
            self._applied(layer, node)
        elif inspect.ismethod(layer) and layer.__self__ is self._owner and self._depth < _DEPTH:
            self._handed_on(uses(layer, self._depth + 1), [one.name for one in parameters(layer)], node, "")
        elif len(node.args) > 1:
            root, weight = self._root(node.args[0]), self._object(node.args[1])
            if root is not None and isinstance(weight, torch.Tensor):
                self._function(name, root, weight, _path(node.args[1]))

    def _function(self, name: str, root: str, weight: torch.Tensor, path: str) -> None:
        """``F.linear(x, self.weight)`` and its like."""
        shape = [int(size) for size in weight.shape]
        if name == "linear" and len(shape) > 1:
            self._wants(root, _last(shape[1], path))
        elif name == "matmul" and len(shape) > 1:
            self._wants(root, _last(shape[-2], path))
        elif name == "embedding":
            self._wants(root, Spec(("batch", "seq"), torch.int64, path, shape[0], trailing=1))
        elif name in ("conv1d", "conv2d", "conv3d"):
            self._wants(root, _convolved(shape[1], len(shape) - 2, path))

    def _applied(self, layer: nn.Module, node: ast.Call) -> None:
        path = _path(node.func)
        origin = f"{path}: {type(layer).__name__}"
        known = wanted(layer)
        if known is not None:
            state = _state(layer)
            others = [known, known] if isinstance(layer, nn.MultiheadAttention) else [] if state is None else [state]
            for value, spec in zip(node.args, [known, *others]):
                root = self._root(value)
                if root is not None:
                    self._wants(root, spec._replace(origin=origin))
        elif self._depth < _DEPTH:
            function, found = _inside(layer, self._depth + 1)
            self._handed_on(found, [one.name for one in parameters(function)], node, path)

    def _handed_on(self, found: Mapping[str, Use], names: Sequence[str], node: ast.Call, path: str) -> None:
        given = [*zip(names, node.args), *((word.arg or "", word.value) for word in node.keywords)]
        for name, value in given:
            root, use = self._root(value), found.get(name)
            if root is None or use is None:
                continue
            if use.spec is not None:
                origin = f"{path}.{use.spec.origin}" if path else use.spec.origin
                self._wants(root, use.spec._replace(origin=origin))
            if use.rank:
                self.ranks.setdefault(root, use.rank)

    def _wants(self, root: str, spec: Spec) -> None:
        known = self.specs.get(root)
        if known is None or (known.dtype.is_floating_point and not spec.dtype.is_floating_point):
            self.specs[root] = spec

    def _root(self, node: ast.expr) -> str | None:
        """The parameter whose shape an expression has."""
        if isinstance(node, ast.Name):
            return self._known.get(node.id)
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
            return self._root(node.left) or self._root(node.right)
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Attribute) and function.attr in _KEEPS_SHAPE:
                return self._root(function.value) or (self._root(node.args[0]) if node.args else None)
            layer = self._object(function)
            if isinstance(layer, nn.Module) and node.args and _keeps_shape(layer):
                return self._root(node.args[0])
        return None

    def _object(self, node: ast.expr) -> Any:
        """What an expression on ``self`` is, None for any other."""
        if isinstance(node, ast.Name):
            if self._owner is not None and node.id == self._self:
                return self._owner
            return self._loops.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._object(node.value)
            try:
                return None if owner is None else getattr(owner, node.attr, None)
            except Exception:
                return None
        if isinstance(node, ast.Subscript):
            owner = self._object(node.value)
            if isinstance(owner, (nn.ModuleList, nn.Sequential)) and len(owner):
                return owner[0]
        return None


def _keeps_shape(layer: nn.Module) -> bool:
    return next(layer.parameters(), None) is None and type(layer).__module__.startswith(
        ("torch.nn.modules.activation", "torch.nn.modules.dropout", "torch.nn.modules.linear")
    )


def _path(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
        node = node.value
    return ".".join(reversed(parts)) or getattr(node, "id", "")


def _inside(layer: nn.Module, depth: int) -> tuple[Callable[..., Any], dict[str, Use]]:
    """What a module that is made of others wants: its first part that wants something, where it is a container."""
    if isinstance(layer, nn.Sequential):
        for name, part in layer.named_children():
            spec = wanted(part)
            if spec is None and next(part.parameters(), None) is not None:
                spec = first_use(_inside(part, depth + 1)[1]) if depth < _DEPTH else None
            if spec is not None:
                return _only, {"x": Use(spec._replace(origin=spec.origin or f"{name}: {type(part).__name__}"))}
        return _only, {}
    return layer.forward, uses(layer.forward, depth)


def _only(x: Any) -> Any:
    """As the ``forward`` of ``nn.Sequential``, whose parameter has another name."""
    return x


def first_use(found: Mapping[str, Use]) -> Spec | None:
    """The first tensor that something is known of."""
    return next((use.spec for use in found.values() if use.spec is not None), None)


def wanted(layer: nn.Module) -> Spec | None:
    """The first argument of a layer of torch, or of one with the same attributes."""
    if isinstance(layer, nn.MultiheadAttention):
        return Spec(("batch", "seq", int(cast("Any", layer).embed_dim)))
    if isinstance(layer, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)):
        return Spec(("batch", "seq", cast("Any", layer.self_attn).embed_dim))
    if isinstance(layer, (nn.TransformerEncoder, nn.TransformerDecoder)):
        return wanted(layer.layers[0])
    if isinstance(layer, nn.Transformer):
        return Spec(("batch", "seq", int(cast("Any", layer).d_model)))
    fields = cast("Any", layer)
    if isinstance(layer, (nn.Embedding, nn.EmbeddingBag)):
        return Spec(("batch", "seq"), torch.int64, high=layer.num_embeddings, trailing=1)
    if isinstance(layer, nn.RNNBase):
        return Spec(("batch", "seq", layer.input_size))
    if isinstance(layer, nn.RNNCellBase):
        return Spec(("batch", layer.input_size))
    if isinstance(layer, (nn.Linear, nn.Bilinear)):
        return _last(int(getattr(fields, "in_features", 0) or fields.in1_features), "")
    dimensions = _dimensions(layer)
    for name in ("in_channels", "num_features", "num_channels"):
        channels = getattr(layer, name, None)
        if isinstance(channels, int) and channels and type(layer).__module__.startswith("torch."):
            if name == "num_features" and dimensions == 1:
                return Spec(("batch", channels))
            return _convolved(channels, dimensions or 2, "")
    shape = getattr(layer, "normalized_shape", None)
    if isinstance(shape, (tuple, list)):
        sizes = tuple(int(size) for size in cast("Sequence[Any]", shape))
        return Spec(("batch", "seq", *sizes), trailing=len(sizes))
    if dimensions and type(layer).__module__.startswith("torch.nn.modules.pooling"):
        return _convolved(3, dimensions, "")
    width = getattr(layer, "nx", None)  # Conv1D of transformers
    return _last(width, "") if isinstance(width, int) else _scale(layer)


def _state(layer: nn.Module) -> Spec | None:
    """The second argument of a recurrent layer; not that of an LSTM, which is a pair."""
    if isinstance(layer, (nn.GRUCell, nn.RNNCell)):
        return Spec(("batch", layer.hidden_size))
    if isinstance(layer, (nn.GRU, nn.RNN)):
        number = layer.num_layers * (2 if layer.bidirectional else 1)
        return Spec((number, "batch" if layer.batch_first else "seq", layer.hidden_size))
    return None


def _scale(layer: nn.Module) -> Spec | None:
    """The user's own normalization: a vector by the name of a weight, and nothing else."""
    weights = dict(layer.named_parameters())
    scale = weights.get("weight", weights.get("scale", weights.get("gamma")))
    if scale is None or scale.dim() != 1 or next(layer.children(), None) is not None:
        return None
    return Spec(("batch", "seq", int(scale.shape[0])), trailing=1)


def _dimensions(layer: nn.Module) -> int:
    name = type(layer).__name__
    return int(name[-2]) if name[-2:] in ("1d", "2d", "3d") else 0


def _last(size: int, origin: str) -> Spec:
    return Spec(("batch", size), origin=origin, trailing=1)


def _convolved(channels: int, dimensions: int, origin: str) -> Spec:
    sides = ("height", "width") if dimensions == 2 else (_SIDE.get(dimensions, 32),) * dimensions
    return Spec(("batch", channels, *sides), origin=origin)
