"""Calls of torch's operators and of ``torch.nn`` layers."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from graphmend_lsp.flow import host, tensors
from graphmend_lsp.flow.call_base import Arguments, CallBase, short
from graphmend_lsp.flow.expressions import INT, POINTER, is_list_of_flags
from graphmend_lsp.flow.named_results import result_names
from graphmend_lsp.flow.ops import OpFact, function_fact, method_fact, module_fact
from graphmend_lsp.flow.values import (
    COMPUTED,
    COMPUTED_LIST,
    NONE,
    PYTHON,
    UNKNOWN,
    Bound,
    Closure,
    Kind,
    Null,
    Value,
    changed,
    container,
    holds_tensor,
    join_all,
    number,
)
from graphmend_lsp.model.walk import own_nodes, walk

_SAME_SHAPE = frozenset("clamp clip clamp_min clamp_max zeros_like ones_like empty_like".split())


class TorchCalls(CallBase):
    """Evaluates calls into torch."""

    def torch_call(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        if name in host.CHECKS or name == "torch._assert":
            return self._check(name, arguments, node)
        if name == "torch.compile" and arguments.values:
            return arguments.values[0]
        if name in host.DISABLERS:
            return self._disabled(name, arguments)
        if name in host.OPERATORS or name in host.DISABLED:
            return UNKNOWN  # a function that is not traced
        if name in ("torch.utils.checkpoint.checkpoint", "torch.cond", "torch.autograd.graph.save_on_cpu"):
            return self._higher_order(name, arguments, node)
        if name.startswith("torch.nn.") and not name.startswith("torch.nn.functional."):
            return self._torch_module(name, arguments, node)
        if name == "torch.Generator":
            return Value(Kind.PYTHON, dtype="Generator")
        if name in ("torch.Size",):
            return Value(Kind.PYTHON, dtype="size", element=INT)
        fact = function_fact(name)
        if fact is None:
            return self._unknown_torch(name, arguments, node)
        fact = tensors.decided(fact, arguments.values, arguments.keywords)
        self._draws_from(arguments, node)
        first = arguments.values[0] if arguments.values else next(iter(arguments.keywords.values()), None)
        if fact.returns in ("tensor", "tensors") and name not in ("torch.tensor", "torch.as_tensor"):
            self.first_was_used(node)
        return self._op(fact, name, first, arguments, node, method=False)

    def _disabled(self, name: str, arguments: Arguments) -> Value:
        """``torch.compiler.disable(f)``: a function whose calls leave the graph; without ``f``, what makes one."""
        given = arguments.get(0, "fn")
        if given is None:
            return Value(Kind.NAMESPACE, ref=name) if arguments.exact else UNKNOWN
        if given.kind not in _CALLED:
            return UNKNOWN
        return Value(Kind.METHOD, ref=Bound(given, DISABLED, ast.Constant(None)))

    def _draws_from(self, arguments: Arguments, node: ast.Call) -> None:
        """A generator cannot be an argument in a graph."""
        given = arguments.keywords.get("generator")
        if given is not None and given.dtype == "Generator" and given.null is Null.NEVER:
            self.host_call("generator=", node)

    def _unknown_torch(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        last = name.rpartition(".")[2]
        if name.startswith(
            ("torch._dynamo.", "torch.compiler.", "torch.cuda.", "torch.distributed.", "torch.backends.")
        ):
            return PYTHON
        if name.startswith("torch.optim.") and last[:1].isupper():
            return Value(Kind.PYTHON, dtype="Optimizer")
        if name.endswith(".apply"):
            return self.fresh(node, next((v for v in arguments.values if v.kind is Kind.TENSOR), None))
        if name.startswith("torch._foreach_") or name.endswith("_"):
            self.write(None, node, f"`{short(self.source(node))}` writes in place")
        return self.unknown_call(arguments, node)

    def _higher_order(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        if name == "torch.utils.checkpoint.checkpoint" and arguments.values:
            keywords = {k: v for k, v in arguments.keywords.items() if k not in _CHECKPOINT_OPTIONS}
            return self.apply(arguments.values[0], Arguments(arguments.values[1:], keywords, arguments.exact), node)
        return self.module_output(arguments, node)

    def _torch_module(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        """Construction of a torch.nn class."""
        if name == "torch.nn.Parameter" or name == "torch.nn.parameter.Parameter":
            return changed(self.fresh(node, arguments.values[0] if arguments.values else None), dtype=None)
        if name in ("torch.nn.Buffer", "torch.nn.parameter.Buffer") and arguments.values:
            return arguments.values[0]
        if name.startswith("torch.nn.init."):
            first = arguments.values[0] if arguments.values else UNKNOWN
            self.write(first, node, f"`{short(self.source(node))}` writes in place")
            return first
        if name.startswith(("torch.nn.utils.", "torch.nn.parallel.", "torch.nn.attention.")):
            return UNKNOWN
        return self.engine.torch_module(name, arguments.values, arguments.keywords, exact=arguments.exact)

    def _op(
        self, fact: OpFact, name: str, first: Value | None, arguments: Arguments, node: ast.Call, *, method: bool
    ) -> Value:
        """The result of one operator; reports reads and dynamic shapes."""
        values = arguments.all()
        operands = ([first] if method and first is not None else []) + [
            v for v in values if v.kind in (Kind.TENSOR, Kind.PYTHON, Kind.SCALAR)
        ]
        inside = [first, *values] if first is not None else values
        if "out" in arguments.keywords:
            self.write(arguments.keywords["out"], node, f"`{short(self.source(node))}` writes in place")
        for target in fact.mutates:
            victim = arguments.keywords.get(target) if target in arguments.keywords else first
            if victim is not None:
                self.write(victim, node, f"`{short(self.source(node))}` writes in place")
        if fact.random:
            self.facts.random = True
        if fact.numbers:
            self._numbers_given(fact, name, arguments, node)
        reads_tensor = (fact.dynamic or fact.host_read) and holds_tensor(join_all(tuple(inside)))
        if fact.dynamic and (reads_tensor or method):
            self.host_read("dynamic", node, name, first or UNKNOWN)
        if fact.host_read:
            if not reads_tensor and not method:
                return PYTHON
            self.host_read("extract", node, name, first or UNKNOWN)
            listed = name.rpartition(".")[2] == "tolist"
            return self.read_from(first, _scalar_type(fact), COMPUTED_LIST if listed else COMPUTED)
        return self._result(fact, name, first, operands, arguments, node)

    def _numbers_given(self, fact: OpFact, name: str, arguments: Arguments, node: ast.Call) -> None:
        """Report tensors where the operator takes numbers: sizes, dimensions, counts.

        One that is passed in as it is has a value that TorchDynamo may take from the example (measured, 2.13).
        """
        if not fact.params:
            return
        last = len(fact.params) - 1
        given = [(fact.params[min(at, last)], value) for at, value in enumerate(arguments.values)]
        nodes: list[ast.expr] = list(node.args)
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg in arguments.keywords:
                given.append((keyword.arg, arguments.keywords[keyword.arg]))
                nodes.append(keyword.value)
        if not arguments.exact or len(nodes) != len(given):
            return
        for (parameter, value), at in zip(given, nodes, strict=True):
            if parameter in fact.numbers:
                found = next((each for each in (value, *(value.elements or ())) if self.computed(each)), None)
                if found is not None:
                    self.host_read("index", at, name, found)

    def _result(
        self,
        fact: OpFact,
        name: str,
        first: Value | None,
        operands: list[Value],
        arguments: Arguments,
        node: ast.Call,
    ) -> Value:
        if fact.returns in ("bool", "int", "float", "str"):
            return number(fact.returns)
        if fact.returns in ("dtype", "device", "size"):
            return Value(Kind.PYTHON, dtype="size" if fact.returns == "size" else f"torch.{fact.returns}", element=INT)
        if fact.returns == "none":
            return NONE
        if fact.returns == "python":
            if name.endswith("size"):
                return Value(Kind.PYTHON, dtype="size", element=INT)
            return PYTHON
        result = self._tensor_result(fact, name, first, operands, arguments, node)
        if fact.returns == "tensors":
            item = changed(result, shape=("item", id(node)))
            if fact.count:
                items = tuple(changed(item, roots=item.roots | {("op", id(node), i)}) for i in range(fact.count))
                names = result_names(name)
                keys = dict(zip(names, items, strict=True)) if len(names) == len(items) else None
                return container(items, keys=keys, type_name="tuple")
            return container(element=item, type_name="tuple")
        if fact.returns == "ndarray":
            return changed(result, array=True, dtype=None)
        return result

    def _tensor_result(
        self,
        fact: OpFact,
        name: str,
        first: Value | None,
        operands: list[Value],
        arguments: Arguments,
        node: ast.Call,
    ) -> Value:
        root = ("op", id(node))
        tensors_in = [v for v in operands if v.kind is Kind.TENSOR]
        source = first if first is not None and first.kind is Kind.TENSOR else (tensors_in[0] if tensors_in else None)
        if not fact.random:
            self.note_made(node, [*operands, *arguments.all()], sized=bool(fact.numbers))
        last = name.rpartition(".")[2]
        shape = self._shape(fact, last, source, tensors_in, arguments, root)
        dtype = self._dtype(fact, last, source, operands, arguments)
        roots = frozenset({root})
        if fact.alias != "no" and source is not None:
            roots = source.roots if fact.alias == "yes" else source.roots | roots
        elif fact.alias != "no" and first is not None and first.kind is not Kind.PYTHON:
            roots = roots | {("unknown", id(node))}
        why = source.why if source is not None else None
        if why is None:
            inner = next((v.element for v in arguments.all() if v.kind is Kind.CONTAINER and v.element), None)
            why = inner.why if inner is not None and inner.kind is Kind.TENSOR else None
        device = tensors.device_of(tensors_in) if tensors_in else None
        if last in ("cuda", "cpu") or (last in ("to", "type") and not _only_dtype(arguments)):
            device = None
        return Value(
            Kind.TENSOR,
            null=Null.MAYBE if fact.nullable else Null.NEVER,
            dtype=dtype,
            shape=shape,
            device=device,
            roots=roots,
            why=why or self.why(node, f"`{short(self.source(node))}` is a tensor"),
            mixed=any(v.mixed for v in tensors_in),
            array=any(v.array for v in tensors_in) and not name.startswith("torch."),
        )

    def _shape(
        self, fact: OpFact, last: str, source: Value | None, operands: list[Value], arguments: Arguments, root: Any
    ) -> Any:
        if last in ("zeros", "ones", "full", "empty", "rand", "randn") and arguments.values:
            size = arguments.values[0]
            return () if size.elements == () else root
        if last in ("tensor", "as_tensor", "scalar_tensor") and arguments.values:
            data = arguments.values[0]
            if data.kind is Kind.PYTHON and data.dtype in ("int", "float", "bool"):
                return ()
        if last.startswith("new_") and not last.endswith("_like"):
            return root
        if fact.shape == "scalar":
            reduces = any(k in arguments.keywords for k in ("dim", "axis", "keepdim"))
            return root if reduces or _positional(arguments, source) > 0 else ()
        if fact.reduction and last not in ("max", "min") and _drops_dimensions(arguments, source):
            # Whatever the dimensions are, the result has another shape than what was reduced.
            return ("reduced", source.shape, root) if source is not None and source.shape != () else root
        if fact.shape == "same" or last in _SAME_SHAPE:
            same = tensors.shape_of(operands, root) if operands else root
            return tensors.relaid("contiguous" if "memory_format" in arguments.keywords else last, same, root)
        return tensors.view_shape(last, source.shape, root) if fact.alias != "no" and source is not None else root

    def _dtype(self, fact: OpFact, last: str, source: Value | None, operands: list[Value], arguments: Arguments) -> Any:
        given = arguments.keywords.get("dtype")
        if last == "to" and given is None:
            given = next((v for v in arguments.values if v.dtype == "torch.dtype" or _dtype_ref(v)), None)
            if given is None and arguments.values and arguments.values[0].kind is Kind.TENSOR:
                return arguments.values[-1].dtype
            if given is None:
                moved = all(v.dtype in ("str", "torch.device") for v in arguments.values) and not arguments.keywords
                return source.dtype if source is not None and moved else None
        if last in ("tensor", "as_tensor") and arguments.values and is_list_of_flags(arguments.values[0]):
            return "bool"
        if last in ("cpu", "cuda") and source is not None:
            return source.dtype
        if last == "type_as" and arguments.values:
            return arguments.values[-1].dtype
        if given is not None and (fact.dtype_argument or last == "to"):
            return _dtype_of(given)
        if last in tensors.CASTS and source is not None and last not in ("type",):
            return tensors.CASTS[last]
        if last in ("any", "all"):
            return "bool"  # uint8 in gives uint8 out: assumed not to be used as a mask type
        if last in ("clamp", "clip", "clamp_min", "clamp_max"):
            return tensors.promote(operands)
        if last == "empty_like" and source is not None:
            return source.dtype  # what samples of it hold is by chance
        return tensors.result_dtype(fact.result_dtype, source, operands)

    def _check(self, name: str, arguments: Arguments, node: ast.Call) -> Value:
        first = 1 if name.endswith("_with") else 0
        condition = arguments.get(first, "condition" if name == "torch._assert" else "cond")
        read = condition is not None and condition.kind is Kind.SCALAR
        if condition is not None and (condition.kind is Kind.TENSOR or (read and self._reads_inside(node))):
            self.emit("check", node, name=name, value=condition)
        elif name.startswith("torch._check_tensor_all") and condition is not None and condition.kind is not Kind.PYTHON:
            self.emit("check", node, name=name, value=condition)
        elif name != "torch._assert" and not _constant_message(arguments.get(first + 1, "message"), self.state.env):
            self.emit("check", node, name=name, value=condition)
        self.facts.raises = True
        return NONE

    def _reads_inside(self, node: ast.Call) -> bool:
        inside = {id(n) for n in walk(node)}
        return any(kind == "extract" and at in inside for kind, at in self.events)

    # -- layers ----------------------------------------------------------------------------------

    def layer_call(self, ref: str, callee: Value, arguments: Arguments, node: ast.Call) -> Value:
        """The result of calling a layer of ``torch.nn``."""
        self.host_call(f"{ref}.forward", node)
        fact = module_fact(ref)
        if fact is None or fact.container:
            return self.module_output(arguments, node)
        first = arguments.values[0] if arguments.values else None
        self.first_was_used(node)
        if fact.random:
            self.facts.random = True
        if fact.state:
            self.write(None, node, f"`{short(self.source(node))}` updates its statistics in training")
        if fact.returns == "tensors" or (fact.indices and _true(callee, "return_indices")):
            return container(element=self.fresh(node, first), type_name="tuple")
        if fact.returns == "python":
            return self.module_output(arguments, node)
        result = self.fresh(node, first, floating=fact.heavy)
        if not fact.heavy and first is not None and first.kind is Kind.TENSOR:
            result = changed(result, dtype=first.dtype)
            writes = inplace(ref, callee)
            if writes is not False:
                self.write(first, node, f"`{short(self.source(node))}` writes in place")
            if writes is True:
                return changed(result, roots=first.roots, shape=first.shape)
            if fact.alias and (writes is None or ref not in INPLACE or ref.endswith(_GIVES_INPUT)):
                result = changed(result, roots=result.roots | first.roots)
        return result

    # -- methods ---------------------------------------------------------------------------------

    def tensor_method(self, receiver: Value, name: str, arguments: Arguments, node: ast.Call) -> Value:
        if name == "data_ptr":
            return Value(Kind.PYTHON, dtype=POINTER)
        if name == "untyped_storage":
            return Value(Kind.PYTHON, dtype="Storage")
        if receiver.array:
            self.host_call(f"ndarray.{name}", node)
        passed = name == "requires_grad_" and not self.computed(receiver)
        self.host_call(f"Tensor.{name}{' input' if passed else ''}", node)
        fact = method_fact(name)
        if fact is None:
            return UNKNOWN
        if fact.kind == "attribute":
            return UNKNOWN
        fact = tensors.decided(fact, arguments.values, arguments.keywords)
        self._draws_from(arguments, node)
        if (receiver.array and name in ("item", "tolist") and self.eager) or (
            name == "item" and self.known_float(receiver)
        ):
            return PYTHON
        if fact.metadata:
            return self._result(fact, name, receiver, [receiver], arguments, node)
        return self._op(fact, name, receiver, arguments, node, method=True)


DISABLED = "<disabled>"
"""The name of a function in ``torch.compiler.disable(function)``."""
_CALLED = frozenset({Kind.FUNCTION, Kind.METHOD, Kind.MODULE, Kind.INSTANCE, Kind.NAMESPACE})
_GIVES_INPUT = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d")
"""Layers that return the very tensor they got, in evaluation (measured, 2.13)."""
INPLACE = {
    f"torch.nn.{name}": position
    for position, names in enumerate(
        (
            "ReLU ReLU6 SELU Hardswish Hardsigmoid SiLU Mish",
            "ELU CELU LeakyReLU Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout",
            "Hardtanh RReLU Threshold",
        )
    )
    for name in names.split()
}
"""Layers that take ``inplace``, and at which position of their constructor."""


def inplace(name: str, module: Value) -> bool | None:
    """Whether a layer writes into its argument; None if it may."""
    position = INPLACE.get(name)
    if position is None:
        return False
    if module.keys is None:
        return None
    given = module.keys.get("inplace", module.keys.get(f"#{position}"))
    if given is None:
        return None if "**" in module.keys else False
    return given.const if isinstance(given.const, bool) else None


def _constant_message(message: Value | None, env: Mapping[str, Value]) -> bool:
    """Whether TorchDynamo can take the message of a check: a local function that closes over constants only."""
    if message is None or message.null is Null.ALWAYS or message.kind is Kind.UNKNOWN:
        return True
    if message.kind is not Kind.FUNCTION or not isinstance(message.ref, Closure):
        return message.kind is not Kind.PYTHON or message.null is not Null.NEVER
    function = message.ref.function
    if function.parent is None:
        return False
    names = {n.id for n in own_nodes(function.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return not any(_variable(env[name]) for name in names if name in env)


def _variable(value: Value) -> bool:
    """A local that is certainly no constant of the graph."""
    return value.kind is Kind.MODULE or holds_tensor(value)


def _true(module: Value, name: str) -> bool:
    given = (module.keys or {}).get(name)
    return given is not None and given.const is True


def _scalar_type(fact: OpFact) -> str | None:
    return fact.returns if fact.returns in ("bool", "int", "float") else None


def _only_dtype(arguments: Arguments) -> bool:
    return all(v.dtype == "torch.dtype" or _dtype_ref(v) for v in arguments.values) and all(
        k in ("dtype", "copy", "non_blocking", "memory_format") for k in arguments.keywords
    )


def _dtype_ref(value: Value) -> bool:
    return value.kind is Kind.NAMESPACE and isinstance(value.ref, str) and tensors.dtype_name(value.ref) is not None


def _positional(arguments: Arguments, source: Value | None) -> int:
    """How many positional arguments follow the tensor."""
    return len(arguments.values) - (1 if source is not None and source in arguments.values else 0)


def _drops_dimensions(arguments: Arguments, source: Value | None) -> bool:
    named = any(k in arguments.keywords for k in ("dim", "axis"))
    positional = _positional(arguments, source)
    return (named or positional == 1) and positional <= 1 and "keepdim" not in arguments.keywords


def _dtype_of(value: Value) -> Any:
    if value.kind is Kind.NAMESPACE and isinstance(value.ref, str):
        return tensors.dtype_name(value.ref)
    if value.dtype == "torch.dtype" and value.shape is not None:
        return value.shape[1]  # what `x.dtype` gives: ("dtype of", its token)
    return None


_CHECKPOINT_OPTIONS = frozenset({"use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug"})
