"""Expressions: their values, and the tests inside them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from graphmend_lsp.flow import host, sizes, tensors
from graphmend_lsp.flow.events import Datum, EventKind, Test
from graphmend_lsp.flow.narrowing import Narrowing
from graphmend_lsp.flow.ops import method_fact
from graphmend_lsp.flow.state import State
from graphmend_lsp.flow.untraceable import untraceable
from graphmend_lsp.flow.values import (
    COMPUTED,
    COMPUTED_LIST,
    MISSING,
    NONE,
    PYTHON,
    UNKNOWN,
    Bound,
    Closure,
    Kind,
    Null,
    Value,
    changed,
    constant,
    container,
    holds_tensor,
    join,
    join_all,
    number,
    tensor,
)
from graphmend_lsp.model.module import ClassInfo, Module, target_names
from graphmend_lsp.model.walk import last_name, walk

BOOL = number("bool")
INT = number("int")
STR = number("str")
_SIZE = Value(Kind.PYTHON, dtype="size", element=INT)
_BINARY_METHOD: dict[type[ast.operator], str] = {
    ast.Add: "__add__",
    ast.Sub: "__sub__",
    ast.Mult: "__mul__",
    ast.Div: "__truediv__",
    ast.FloorDiv: "__floordiv__",
    ast.Mod: "__mod__",
    ast.Pow: "__pow__",
    ast.MatMult: "__matmul__",
    ast.BitAnd: "__and__",
    ast.BitOr: "__or__",
    ast.BitXor: "__xor__",
    ast.LShift: "__lshift__",
    ast.RShift: "__rshift__",
}
_BOOL_OPS = frozenset({"__and__", "__or__", "__xor__"})
_PARAMETERS = frozenset({"weight", "bias", "running_mean", "running_var", "in_proj_weight", "in_proj_bias"})
_PROPERTIES = frozenset({"property", "cached_property", "lazy_property", "abstractproperty"})
APPLY = "<apply>"
"""The name of ``apply`` of a ``torch.autograd.Function``."""
FORMATTED = "formatted"
"""The ``ref`` of a text that was made from a tensor by an f-string or ``str.format``."""
PATH = "pathlib.Path"
POINTER = "pointer"
"""The type of what ``data_ptr()`` gives."""
_RECORD_METHODS = frozenset({"get", "keys", "values", "items", "to_tuple", "pop", "update", "_replace"})


class Expressions(Narrowing):
    """Evaluates expressions in ``self.state``."""

    def eval(self, node: ast.expr) -> Value:
        method = self._EXPRESSIONS.get(type(node))
        value = method(self, node) if method is not None else UNKNOWN
        self.facts.values[id(node)] = value
        return value

    # -- leaves ----------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant) -> Value:
        return constant(node.value)

    def _name(self, node: ast.Name) -> Value:
        value = self.state.env.get(node.id)
        if value is not None:
            return value
        return self.engine.global_value(self.module, node.id)

    def _joined(self, node: ast.JoinedStr) -> Value:
        parts = [self._formatted(part) for part in node.values if isinstance(part, ast.FormattedValue)]
        return next((part for part in parts if part.ref == FORMATTED), STR)

    def _formatted(self, node: ast.FormattedValue) -> Value:
        value = self.eval(node.value)
        asked = node.conversion in (ord("r"), ord("s"))
        if value.kind is Kind.TENSOR and asked:
            self.emit("text", node.value, name="repr" if node.conversion == ord("r") else "str", value=value)
        if node.format_spec is not None:
            self.eval(node.format_spec)
        return STR if asked else formatted(value)

    def text_used(self, node: ast.expr | ast.stmt, *values: Value) -> None:
        """More than being kept is asked of a tensor's text, which TorchDynamo makes only after the graph has run."""
        text = next((value for value in values if value.ref == FORMATTED), None)
        if text is None or self.learns or isinstance(self.stmt, (ast.Raise, ast.Assert)) or _says(self.stmt):
            return
        self.emit("text", node, name="f-string", value=text)

    # -- operators -------------------------------------------------------------------------------

    def _binary(self, node: ast.BinOp) -> Value:
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):  # a sum of thousands of terms leans to the left
            chain.append(chain[-1].left)
        left = self.eval(chain[-1].left)
        while chain:
            item = chain.pop()
            left = self.facts.values[id(item)] = self._binary_of(item, left)
        return left

    def _binary_of(self, node: ast.BinOp, left: Value) -> Value:
        right = self.eval(node.right)
        self._was_used(node.left, left)
        self._was_used(node.right, right)
        if isinstance(node.op, ast.Mod) and (left.dtype == "str" or isinstance(node.left, ast.JoinedStr)):
            self.text_used(node, left, right)
            if left.kind is Kind.PYTHON and holds_tensor(right):
                self.emit("text", node, name="%", value=right)
            return STR
        return self.binary(node.op, left, right, node)

    def binary(self, op: ast.operator, left: Value, right: Value, node: ast.expr | ast.stmt) -> Value:
        """Value of ``left op right``."""
        self.text_used(node, left, right)
        if POINTER in (left.dtype, right.dtype):
            self.host_call("Tensor.data_ptr", node)  # taking it is traced, looking at it is not
        if left.kind is Kind.TENSOR or right.kind is Kind.TENSOR:
            return self._tensor_binary(op, left, right, node)
        if _module_output(left) or _module_output(right):
            return tensor(roots=frozenset({("op", id(node))}), why=left.why or right.why)
        if left.kind is Kind.SCALAR or right.kind is Kind.SCALAR:
            return changed(left if left.kind is Kind.SCALAR else right, const=MISSING, truth=None, dtype=None)
        if left.kind is Kind.CONTAINER and right.kind is Kind.CONTAINER:
            if left.elements is not None and right.elements is not None and isinstance(op, ast.Add):
                return container(left.elements + right.elements, type_name=left.dtype or "")
            return container(element=_join2(left.element, right.element), type_name=left.dtype or "")
        if left.kind is Kind.CONTAINER or right.kind is Kind.CONTAINER:
            holder = left if left.kind is Kind.CONTAINER else right
            return container(element=holder.element, type_name=holder.dtype or "")
        if left.kind is Kind.PYTHON and right.kind is Kind.PYTHON:
            return _python_binary(op, left, right)
        if Kind.UNKNOWN in (left.kind, right.kind):
            return UNKNOWN
        return PYTHON

    def _tensor_binary(self, op: ast.operator, left: Value, right: Value, node: ast.expr | ast.stmt) -> Value:
        name = _BINARY_METHOD.get(type(op), "")
        operands = [left, right]
        for value in operands:
            if value.kind is Kind.CONTAINER or value.kind in (Kind.MODULE, Kind.INSTANCE, Kind.FUNCTION):
                return UNKNOWN
        first = left if left.kind is Kind.TENSOR else right
        if isinstance(op, ast.MatMult):
            dtype, shape = tensors.promote(operands), ("op", id(node))
        elif name in _BOOL_OPS:
            both = all(v.dtype == "bool" for v in operands if v.kind is Kind.TENSOR)
            dtype, shape = ("bool" if both else tensors.promote(operands)), tensors.shape_of(operands, ("op", id(node)))
        else:
            dtype, shape = tensors.promote(operands), tensors.shape_of(operands, ("op", id(node)))
            if isinstance(op, ast.Div) and dtype != tensors.NUMPY_FLOAT and not tensors.is_floating(dtype):
                dtype = None
        unknown = any(v.kind is Kind.UNKNOWN for v in operands)
        self.note_made(node, operands)
        return Value(
            Kind.TENSOR,
            dtype=None if unknown else dtype,
            shape=None if unknown and not isinstance(op, ast.MatMult) else shape,
            device=tensors.device_of(operands),
            roots=frozenset({("op", id(node))}),
            why=first.why or left.why or right.why,
            mixed=left.mixed or right.mixed,
            array=left.array or right.array,
        )

    def _unary(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            test = self.test(node.operand, nested=True)
            if any(d.kind == "truth" for d in test.data):
                value = self.facts.values.get(id(node.operand), UNKNOWN)
                self.datum("not", node, value, node.operand)
                return Value(Kind.SCALAR, why=value.why)
            self._read_alone(test)
            return BOOL if test.truth is None else constant(not test.truth)
        value = self.eval(node.operand)
        if value.kind is Kind.TENSOR and isinstance(node.op, ast.UAdd):
            return value  # the very same tensor
        if value.kind is Kind.TENSOR:
            return changed(value, roots=frozenset({("op", id(node))}), const=MISSING)
        if value.kind is Kind.PYTHON and value.const is not MISSING and isinstance(value.const, (int, float)):
            try:
                return constant(-value.const if isinstance(node.op, ast.USub) else +value.const)
            except TypeError:
                return PYTHON
        return value if value.kind is not Kind.PYTHON else changed(value, const=MISSING, truth=None)

    def _compare(self, node: ast.Compare) -> Value:
        left = self.eval(node.left)
        results: list[Value] = []
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.eval(right_node)
            results.append(self._compare_pair(op, left, right, node))
            left = right
        if len(results) == 1:
            return results[0]
        data = [r for r in results[:-1] if r.kind is Kind.TENSOR]
        if data:
            self.datum("compare", node, data[0])
        last = results[-1]
        return join(last, results[0]) if last.kind is not Kind.TENSOR else last

    def _compare_pair(self, op: ast.cmpop, left: Value, right: Value, node: ast.Compare) -> Value:
        if POINTER in (left.dtype, right.dtype):
            self.host_call("Tensor.data_ptr", node)
        if isinstance(op, (ast.In, ast.NotIn)):
            self.text_used(node, right)  # a text may be looked up, but nothing be looked for in it
        elif not isinstance(op, (ast.Is, ast.IsNot)):
            self.text_used(node, left, right)
        for value in (left, right):
            if isinstance(value.ref, Bound) and value.ref.receiver.kind is Kind.LOGGER and not self.learns:
                self.emit("log", node, name=f"Logger.{value.ref.name}")  # its level, say
        if isinstance(op, (ast.Is, ast.IsNot)):
            self._identity(left, right, node)
            return _is_none(op, left, right)
        if isinstance(op, (ast.In, ast.NotIn)):
            if right.kind is Kind.TENSOR or (left.kind is Kind.TENSOR and _python_items(right)):
                value = right if right.kind is Kind.TENSOR else left
                self.datum("in", node, value)
                return Value(Kind.SCALAR, why=value.why)
            return Value(Kind.SCALAR, why=left.why, ref=COMPUTED) if _number(left) and _python_items(right) else BOOL
        if left.kind is Kind.TENSOR or right.kind is Kind.TENSOR:
            if Kind.CONTAINER in (left.kind, right.kind) or left.null is Null.ALWAYS or right.null is Null.ALWAYS:
                return BOOL
            if "str" in (left.dtype, right.dtype) and Kind.PYTHON in (left.kind, right.kind):
                return BOOL
            return Value(
                Kind.TENSOR,
                dtype="bool",
                shape=tensors.shape_of([left, right], ("op", id(node))),
                device=tensors.device_of([left, right]),
                roots=frozenset({("op", id(node))}),
                why=left.why or right.why,
                mixed=left.mixed or right.mixed,
                array=left.array or right.array,
            )
        if _module_output(left) or _module_output(right):
            return tensor(dtype="bool", roots=frozenset({("op", id(node))}), why=left.why or right.why)
        if left.kind is Kind.SCALAR or right.kind is Kind.SCALAR:
            number = left if left.ref == COMPUTED else right
            return Value(
                Kind.SCALAR, why=number.why or left.why or right.why, ref=number.ref if _number(number) else None
            )
        if left.const is not MISSING and right.const is not MISSING:
            folded = _fold_compare(op, left.const, right.const)
            if folded is not None:
                return constant(folded)
        if Kind.UNKNOWN in (left.kind, right.kind):
            return UNKNOWN
        return BOOL

    def _identity(self, left: Value, right: Value, node: ast.Compare) -> None:
        if left.null is not Null.ALWAYS and right.null is not Null.ALWAYS:
            self.flow("identity", left, node)
            self.flow("identity", right, node)

    def _boolean(self, node: ast.BoolOp) -> Value:
        """``a and b`` as a value: all operands but the last are truth-tested."""
        saved = self.state
        result: Value | None = None
        for index, operand in enumerate(node.values):
            last = index == len(node.values) - 1
            if last:
                value = self.eval(operand)
                result = value if result is None else join(result, value)
                break
            test = self.test(operand, nested=True)
            value = self.facts.values.get(id(operand), UNKNOWN)
            data = next((d for d in test.data if d.kind == "truth"), None)
            if data is not None:
                self.datum("boolop", node, data.value, data.node)
            else:
                self._read_alone(test)
            is_and = isinstance(node.op, ast.And)
            stops = test.truth is (not is_and)
            passes = test.truth is is_and
            if stops:
                result = value if result is None else join(result, value)
                break
            if not passes:
                kept = value if is_and or value.null is Null.NEVER else changed(value, null=Null.NEVER)
                result = kept if result is None else join(result, kept)
            self.state = self.assume(operand, is_and)
            if self.state.dead:
                break
        self.state = State(saved.env, self.state.written or saved.written, saved.dead)
        return result or UNKNOWN

    def _read_alone(self, test: Test) -> None:
        """What ``and``, ``or`` or ``not`` reads to give a value is no part of a test that is reported as a whole."""
        if self.collector is not None:
            return
        kinds: tuple[EventKind, ...] = ("extract", "index", "dynamic")
        for key in ((kind, id(datum.node)) for datum in test.data for kind in kinds):
            if key in self.events:
                self.events[key] = replace(self.events[key], in_test=False)

    def _if_expression(self, node: ast.IfExp) -> Value:
        test = self.test(node.test)
        if test.is_carried and self.collector is None:
            self.emit("ifexp", node, test=test)
        if test.is_data:
            if self.collector is not None:
                self.collector.extend(d for d in test.data if d.kind == "truth")
            else:
                self.emit("ifexp", node, test=test)
        before = self.state
        values: list[Value] = []
        for side, wanted in ((node.body, True), (node.orelse, False)):
            if test.truth is (not wanted):
                continue
            self.state = self.assume(node.test, wanted, before)
            if not self.state.dead:
                values.append(self.eval(side))
        self.state = before
        if not values:
            return UNKNOWN
        result = values[0] if len(values) == 1 else join(values[0], values[1])
        if test.is_data and len(values) == 2 and Kind.TENSOR in (values[0].kind, values[1].kind):
            result = changed(result, roots=result.roots | {("join", id(node), "")})
        return result

    def _named(self, node: ast.NamedExpr) -> Value:
        value = self.eval(node.value)
        self.bind(node.target, value)
        return value

    # -- containers ------------------------------------------------------------------------------

    def _sequence(self, node: ast.Tuple | ast.List | ast.Set) -> Value:
        name = {ast.Tuple: "tuple", ast.List: "list", ast.Set: "set"}[type(node)]
        items, exact = self.starred(node.elts)
        if not items:
            return container((), type_name=name, truth=False)
        if not exact or len(items) > 32:
            return container(element=container(tuple(items)).element, type_name=name)
        return container(tuple(items), type_name=name, truth=True)

    def starred(self, nodes: list[ast.expr]) -> tuple[list[Value], bool]:
        """The values of elements or arguments in order, and whether their number is exact."""
        items: list[Value] = []
        exact = True
        for node in nodes:
            if not isinstance(node, ast.Starred):
                items.append(self.eval(node))
                continue
            inner = self.eval(node.value)
            if inner.elements is not None:
                items.extend(inner.elements)
            else:
                exact = False
                items.append(self.element_of(inner))
        return items, exact

    def _dict(self, node: ast.Dict) -> Value:
        keys: dict[str, Value] = {}
        others: list[Value] = []
        is_open = False
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.eval(item)
            if key is None:
                if value.keys is not None:
                    keys.update(value.keys)
                else:
                    others.append(value.element or UNKNOWN)
                    is_open = is_open or value.element is None
                continue
            name = self.eval(key)
            if isinstance(name.const, str):
                keys[name.const] = value
            else:
                others.append(value)
        element = UNKNOWN if is_open else container(tuple(keys.values()) + tuple(others)).element
        return Value(
            Kind.CONTAINER,
            keys=keys if not others else None,
            element=element,
            dtype="dict",
            truth=bool(node.keys) if not others else None,
        )

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
        saved = self.state
        self.state = saved.copy()
        for generator in node.generators:
            self.iterate(generator.target, generator.iter, node)
            for condition in generator.ifs:
                test = self.test(condition)
                if test.is_data:
                    if self.collector is not None:
                        self.collector.extend(test.data)
                    else:
                        self.emit("filter", condition, test=test)
                self.state = self.assume(condition, True)
        if isinstance(node, ast.DictComp):
            self.eval(node.key)
            element = self.eval(node.value)
        else:
            element = self.eval(node.elt)
        named = (
            {}
            if not self.has_walrus
            else {
                name: self.state.env[name]
                for inner in walk(node)
                if isinstance(inner, ast.NamedExpr)
                for name in target_names(inner.target)
                if name in self.state.env
            }
        )
        saved.written = saved.written or self.state.written
        self.state = saved
        self.state.env.update(named)
        kinds = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: "generator", ast.DictComp: "dict"}
        return container(element=element, type_name=kinds[type(node)])

    def iterate(self, target: ast.expr, iterable: ast.expr, node: ast.expr | ast.stmt) -> Value:
        """Bind a loop's target to any element; returns the iterable's value."""
        value = self.eval(iterable)
        self.bind(target, self.element_of(value), link=False)
        return value

    def element_of(self, value: Value) -> Value:
        """Any element of an iterable."""
        if value.kind is Kind.TENSOR:
            return Value(
                Kind.TENSOR,
                dtype=value.dtype,
                shape=("item", value.shape) if value.shape not in (None, ()) else None,
                device=value.device,
                roots=value.roots,
                why=value.why,
                array=value.array,
            )
        if value.kind is Kind.CONTAINER:
            if value.dtype == "dict":
                return PYTHON
            return value.element or UNKNOWN
        if value.kind is Kind.SCALAR:
            return value if value.ref != COMPUTED_LIST else changed(value, ref=COMPUTED)
        if value.kind is Kind.PYTHON:
            return value.element or (STR if value.dtype == "str" else PYTHON)
        if value.kind is Kind.MODULE:
            return value.element or Value(Kind.MODULE)
        if _module_output(value):
            return value
        return UNKNOWN

    def _subscript(self, node: ast.Subscript) -> Value:
        value = self.eval(node.value)
        if value.kind is Kind.UNKNOWN and not (self.eager or value.options) and _masks_itself(node):
            value = self._indexed(value, node)
        index = self.index(node.slice, value)
        return self.subscript(value, index, node)

    def index(self, node: ast.expr, receiver: Value) -> Value:
        """Value of an index; reports tensors where Python needs an int."""
        parts = node.elts if isinstance(node, ast.Tuple) and receiver.kind is Kind.TENSOR else [node]
        values: list[Value] = []
        for part in parts:
            if isinstance(part, ast.Slice):
                for bound in (part.lower, part.upper, part.step):
                    value = PYTHON if bound is None else self.eval(bound)
                    if bound is not None and value.kind is Kind.TENSOR and not value.mixed:
                        name = "list slice" if receiver.kind is Kind.CONTAINER else "slice"
                        self.host_read("index", bound, name, value)
                values.append(Value(Kind.PYTHON, dtype="slice"))
            elif isinstance(part, ast.Starred):
                values.append(self.element_of(self.eval(part.value)))
            else:
                values.append(self.eval(part))
        if isinstance(node, ast.Tuple) and receiver.kind is Kind.TENSOR:
            result = container(tuple(values), type_name="tuple")
            self.facts.values[id(node)] = result
            return result
        return values[0]

    def subscript(self, value: Value, index: Value, node: ast.Subscript) -> Value:
        if value.kind is Kind.UNKNOWN and index.kind is Kind.TENSOR and not (self.eager or value.options):
            # indexed by a tensor: a tensor, too (a list would need a number)
            value = self._indexed(value, node)
        if value.kind is Kind.TENSOR:
            return self._tensor_item(value, index, node)
        if value.kind is Kind.CONTAINER:
            return self._container_item(value, index, node)
        if value.kind is Kind.PYTHON:
            if value.dtype == "size":
                return _SIZE if index.dtype == "slice" else INT
            if value.dtype == "str":
                return STR
            return Value(Kind.PYTHON, null=Null.MAYBE)
        if value.kind is Kind.MODULE:
            items, at = value.elements, index.const
            if items is not None and isinstance(at, int) and -len(items) <= at < len(items):
                return items[at]
            return value if index.dtype == "slice" else value.element or Value(Kind.MODULE)
        if value.kind is Kind.SCALAR:
            return value if value.ref != COMPUTED_LIST else changed(value, ref=COMPUTED)
        if _module_output(value):
            return value
        return UNKNOWN

    def _indexed(self, value: Value, node: ast.Subscript) -> Value:
        why = self.why(node, f"`{self.source(node.value)}` is indexed by a tensor")
        guess = tensor(why=why, dtype=None, shape=None, roots=value.roots or frozenset({("unknown", id(node))}))
        self.facts.values[id(node.value)] = guess
        if isinstance(node.value, ast.Name) and node.value.id in self.state.env:
            self.state.env[node.value.id] = guess
        return guess

    def _is_mask_in_graph(self, node: ast.Call) -> bool:
        """``graph_mask(x, mask)`` of the runtime: an index that is no break."""
        return host.is_runtime(self.module.dotted(node.func) or "", "graph_mask")

    def _tensor_item(self, value: Value, index: Value, node: ast.Subscript) -> Value:
        parts = index.elements if index.elements is not None and index.dtype == "tuple" else (index,)
        nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        masks = [p for p in parts if (p.kind is Kind.TENSOR and p.dtype == "bool") or is_list_of_flags(p)]
        if len(nodes) == len(parts):
            masks += [p for p, n in zip(parts, nodes, strict=True) if _is_mask_by_name(p, n)]
        advanced = any(p.kind in (Kind.TENSOR, Kind.CONTAINER, Kind.UNKNOWN) for p in parts)
        if masks and isinstance(node.ctx, ast.Load):
            self.host_read("dynamic", node, "x[mask]", value)
            if len(parts) > 1:
                self.engine.sized_by_data[id(node)] = "x[:, mask]"
        elif isinstance(node.slice, ast.Call) and self._is_mask_in_graph(node.slice):
            masks.append(index)
            self.engine.sized_by_data[id(node)] = "x[mask]"
        for part in parts:
            # A 0-d integer tensor is an index on the host, too (GM402).
            if part.shape == () and part.dtype not in ("bool", None) and self.computed(part):
                self.emit("index", node, name="index", value=part)
        return Value(
            Kind.TENSOR,
            dtype=value.dtype,
            shape=("item", id(node)),
            device=value.device,
            roots=frozenset({("op", id(node))})
            if masks
            else value.roots | {("op", id(node))}
            if advanced
            else value.roots,
            why=value.why,
            mixed=value.mixed,
            array=value.array,
        )

    def _container_item(self, value: Value, index: Value, node: ast.Subscript) -> Value:
        if index.kind is Kind.TENSOR and value.dtype in ("list", "tuple"):
            self.host_read("index", node.slice, "list index", index)
        key = index.const
        if value.elements is not None and isinstance(key, int) and -len(value.elements) <= key < len(value.elements):
            return value.elements[key]
        if value.keys is not None and isinstance(key, str) and key in value.keys:
            return value.keys[key]
        if index.dtype == "slice":
            return container(element=value.element, type_name=value.dtype or "")
        return value.element or UNKNOWN

    # -- attributes ------------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute) -> Value:
        value = self.eval(node.value)
        self._was_used(node.value, value)
        return self.attribute(value, node.attr, node)

    def _was_used(self, node: ast.expr, value: Value) -> None:
        """What has been used as a tensor is not None from here on."""
        if value.kind is Kind.TENSOR and value.null is Null.MAYBE and isinstance(node, ast.Name):
            if self.state.env.get(node.id) is value:
                self.state.env[node.id] = changed(value, null=Null.NEVER)
                self.facts.values[id(node)] = self.state.env[node.id]

    def attribute(self, value: Value, name: str, node: ast.expr) -> Value:
        """``value.name``."""
        kind = value.kind
        if value.options and kind is not Kind.TENSOR:
            found = [self.attribute(option, name, node) for option in value.options]
            return join_all(tuple(found)) or UNKNOWN
        if kind is Kind.NAMESPACE:
            if isinstance(value.ref, Module):
                return self.engine.module_attribute(value.ref, name)
            return self.engine.external(f"{value.ref}.{name}")
        if kind is Kind.TENSOR:
            return self._tensor_attribute(value, name, node)
        if kind in (Kind.MODULE, Kind.INSTANCE) and isinstance(value.ref, ClassInfo):
            return self._member(value, value.ref, name, node)
        if kind is Kind.MODULE:
            return _torch_module_attribute(value, name, node)
        if kind is Kind.CONTAINER:
            if value.keys is not None and name in value.keys and value.dtype != "dict":
                return value.keys[name]
            if isinstance(value.ref, ClassInfo) and self.engine.method(value.ref, name) is not None:
                return self._member(value, value.ref, name, node)
            if value.dtype == "record" and name not in _RECORD_METHODS:
                if isinstance(value.ref, ClassInfo) and self.engine.is_computed(value.ref, name):
                    return self._member(value, value.ref, name, node)
                return value.element if value.element is not None and value.keys is None else UNKNOWN
            return Value(Kind.METHOD, ref=Bound(value, name, node))
        if kind is Kind.CLASS and isinstance(value.ref, ClassInfo):
            return self._class_member(value.ref, name)
        if kind is Kind.FUNCTION:
            return UNKNOWN
        if kind is Kind.PYTHON and value.dtype == PATH and name == "parent":
            return value
        if kind is Kind.PYTHON:
            return Value(
                Kind.PYTHON, null=Null.MAYBE, ref=Bound(value, name, node), dtype="int" if name == "ndim" else None
            )
        if kind is Kind.UNKNOWN:
            fact = method_fact(name)
            if fact is not None and fact.kind == "attribute" and fact.metadata:
                return _metadata(fact.returns, value)
            return Value(Kind.METHOD, null=Null.MAYBE, ref=Bound(value, name, node))
        return Value(Kind.METHOD, ref=Bound(value, name, node))

    def _tensor_attribute(self, value: Value, name: str, node: ast.expr) -> Value:
        fact = method_fact(name)
        if fact is None and value.array and untraceable(f"ndarray.{name}", self.engine.release) is not None:
            return Value(Kind.METHOD, ref=Bound(value, name, node))
        if fact is None:
            return UNKNOWN
        if fact.kind == "attribute":
            self.host_call(f"Tensor.{name}", node)
            if fact.metadata or fact.returns not in ("tensor", "unknown"):
                return _metadata(fact.returns, value)
            roots = value.roots if fact.alias != "no" else frozenset({("op", id(node))})
            null = Null.MAYBE if fact.nullable else Null.NEVER
            same = value.shape if name in ("data", "real") else ("op", id(node))
            return tensor(why=value.why, dtype=value.dtype, shape=same, device=value.device, roots=roots, null=null)
        return Value(Kind.METHOD, ref=Bound(value, name, node))

    def _member(self, value: Value, cls: ClassInfo, name: str, node: ast.expr) -> Value:
        if self.self_stores is not None and name in self.self_stores and value.kind in (Kind.MODULE, Kind.INSTANCE):
            return self.self_stores[name]
        method = self.engine.method(cls, name)
        if method is not None:
            names = method.decorator_names()
            closure = Closure(method, None if "builtins.staticmethod" in names else value)
            if any(n.rpartition(".")[2] in _PROPERTIES for n in names):
                return self.engine.invoke(closure, [], {}, node, self)
            return self.engine.decorated(closure, self)
        if value.keys is not None and name in value.keys:
            return value.keys[name]
        return self.engine.member(cls, name, value)

    def _class_member(self, cls: ClassInfo, name: str) -> Value:
        method = self.engine.method(cls, name)
        if method is not None:
            bound = Value(Kind.CLASS, ref=cls) if "builtins.classmethod" in method.decorator_names() else None
            return Value(Kind.FUNCTION, ref=Closure(method, bound))
        if name == "apply" and self.engine.is_autograd(cls):
            return Value(Kind.METHOD, ref=Bound(Value(Kind.CLASS, ref=cls), APPLY, ast.Constant(None)))
        return self.engine.member(cls, name, Value(Kind.CLASS, ref=cls))

    # -- tests -----------------------------------------------------------------------------------

    def test(self, node: ast.expr, *, nested: bool = False) -> Test:
        """Evaluate a test: which parts are data, and what is static.

        Nested tests (the operands of ``and``, a conditional expression, ``any()``) become part of this one.
        """
        outer = self.collector
        self.collector = []
        saved = self.state
        before, self.carried = self.carried, []
        truth = self._truth(node)
        carried, self.carried = tuple(self.carried), before
        self.state = State(self.state.env if nested else saved.env, self.state.written or saved.written, saved.dead)
        data = tuple(self.collector)
        self.collector = outer
        if outer is not None:
            outer.extend(d for d in data if d.kind != "truth" and d not in outer)
        return Test(data, truth, carried)

    def _truth(self, node: ast.expr) -> bool | None:
        if isinstance(node, ast.BoolOp):
            return self._boolean_truth(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self._truth(node.operand)
            self.facts.values[id(node)] = BOOL
            return None if inner is None else not inner
        value = self.eval(node)
        return self.truth_of(node, value)

    def truth_of(self, node: ast.expr, value: Value) -> bool | None:
        """Truth of a value in a test; a tensor's truth is data."""
        if value.kind is Kind.TENSOR:
            if value.null is not Null.ALWAYS and self.collector is not None:
                self.collector.append(Datum(node, value))
            return None
        if _number(value):
            self.carried.append(Datum(node, value))
        elif self.engine.sized_by_data:
            sized = sizes.emptiness(node, self.facts.values, self.engine.sized_by_data)
            if sized is not None:
                self.carried.append(Datum(node, sized, "size"))
        if value.truth is not None and value.null is Null.NEVER:
            return value.truth
        if value.null is Null.ALWAYS:
            return False
        if value.kind in (Kind.MODULE, Kind.FUNCTION, Kind.CLASS, Kind.LOGGER) and value.null is Null.NEVER:
            return None if value.kind is Kind.MODULE else True
        return None

    def _boolean_truth(self, node: ast.BoolOp) -> bool | None:
        is_and = isinstance(node.op, ast.And)
        saved = self.state
        env = saved.env
        result: bool | None = is_and
        value: Value | None = None
        for operand in node.values:
            truth = self._truth(operand)
            found = self.facts.values.get(id(operand), UNKNOWN)
            value = found if value is None else join(value, found)
            if truth is (not is_and):
                result = not is_and
                break
            if truth is None:
                result = None
            narrowed = self.assume(operand, is_and)
            if narrowed.dead:
                break
            self.state = narrowed
        if self.has_walrus:
            inside = (n.target for n in walk(node) if isinstance(n, ast.NamedExpr))
            env.update(
                {name: self.state.env[name] for t in inside for name in target_names(t) if name in self.state.env}
            )
        self.state = State(env, self.state.written or saved.written, saved.dead)
        self.facts.values[id(node)] = value or UNKNOWN
        return result

    # -- binding (statements need it as well) ----------------------------------------------------

    def bind(self, target: ast.expr, value: Value, *, link: bool = True) -> None:
        raise NotImplementedError

    def call(self, node: ast.Call) -> Value:
        raise NotImplementedError

    def _lambda(self, node: ast.Lambda) -> Value:
        function = self.engine.nested(self.function, node, "<lambda>")
        return Value(Kind.FUNCTION, ref=Closure(function, env=self.engine.closed_over(self.state.env)))

    def _await(self, node: ast.Await) -> Value:
        self.eval(node.value)
        return UNKNOWN

    def _yield(self, node: ast.Yield | ast.YieldFrom) -> Value:
        value = self.eval(node.value) if node.value is not None else NONE
        if isinstance(node, ast.YieldFrom):
            value = self.element_of(value)
        self.flow("return", value, node)
        self.yielded = value if self.yielded is None else join(self.yielded, value)
        return UNKNOWN

    def _starred(self, node: ast.Starred) -> Value:
        return self.eval(node.value)

    def _slice(self, node: ast.Slice) -> Value:
        for bound in (node.lower, node.upper, node.step):
            if bound is not None:
                self.eval(bound)
        return Value(Kind.PYTHON, dtype="slice")

    def _call(self, node: ast.Call) -> Value:
        return self.call(node)

    _EXPRESSIONS: ClassVar[dict[type[ast.expr], Callable[[Any, Any], Value]]] = {
        ast.Constant: _constant,
        ast.Name: _name,
        ast.JoinedStr: _joined,
        ast.FormattedValue: _formatted,
        ast.BinOp: _binary,
        ast.UnaryOp: _unary,
        ast.Compare: _compare,
        ast.BoolOp: _boolean,
        ast.IfExp: _if_expression,
        ast.NamedExpr: _named,
        ast.Tuple: _sequence,
        ast.List: _sequence,
        ast.Set: _sequence,
        ast.Dict: _dict,
        ast.ListComp: _comprehension,
        ast.SetComp: _comprehension,
        ast.GeneratorExp: _comprehension,
        ast.DictComp: _comprehension,
        ast.Subscript: _subscript,
        ast.Attribute: _attribute,
        ast.Call: _call,
        ast.Lambda: _lambda,
        ast.Await: _await,
        ast.Yield: _yield,
        ast.YieldFrom: _yield,
        ast.Starred: _starred,
        ast.Slice: _slice,
    }


def _is_mask_by_name(value: Value, node: ast.expr) -> bool:
    """Whether an index is a tensor of which only the name says what it holds: that of a mask."""
    if value.kind is not Kind.TENSOR or value.mixed or isinstance(value.dtype, str) or value.shape == ():
        return False
    return last_name(node).rstrip("s").endswith("mask")


def formatted(value: Value) -> Value:
    """The text that formatting a value gives."""
    if value.ref == FORMATTED:
        return value
    return Value(Kind.PYTHON, dtype="str", ref=FORMATTED, why=value.why) if holds_tensor(value) else STR


def _says(stmt: ast.stmt) -> bool:
    """Whether a statement prints, logs or warns, by its look: that is what breaks there."""
    called = stmt.value.func if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) else None
    return called is not None and last_name(called) in (host.LOG_CALLS | {"print", "pprint", "write"})


def _masks_itself(node: ast.Subscript) -> bool:
    """``x[x > 1]``: what is compared and indexed by the result is a tensor."""
    index = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
    return (
        isinstance(index, ast.Compare)
        and isinstance(node.value, ast.Name)
        and isinstance(index.left, ast.Name)
        and index.left.id == node.value.id
        and isinstance(index.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq))
    )


def _number(value: Value) -> bool:
    """A number that certainly comes from a tensor computed in the region."""
    return value.kind is Kind.SCALAR and value.ref == COMPUTED


def _module_output(value: Value) -> bool:
    """The result of an nn.Module whose code is not known: a tensor or a structure of tensors."""
    return value.kind is Kind.UNKNOWN and value.dtype == "module-output"


def _join2(a: Value | None, b: Value | None) -> Value | None:
    if a is None or b is None:
        return a or b
    return join(a, b)


def is_list_of_flags(index: Value) -> bool:
    """``[True, False]``, ``[n > 0 for n in sizes]``: torch takes it for a mask."""
    if index.kind is not Kind.CONTAINER or index.dtype != "list":
        return False
    items = index.elements or ((index.element,) if index.element is not None else ())
    return bool(items) and all(item.kind is Kind.PYTHON and item.dtype == "bool" for item in items)


def _python_items(value: Value) -> bool:
    """A list or tuple of plain Python values, where ``in`` compares by value."""
    if value.kind is not Kind.CONTAINER or value.dtype not in ("list", "tuple", "set"):
        return False
    return value.element is not None and value.element.kind is Kind.PYTHON and value.element.dtype in ("int", "float")


def _is_none(op: ast.cmpop, left: Value, right: Value) -> Value:
    value = left if right.null is Null.ALWAYS else right if left.null is Null.ALWAYS else None
    if value is None:
        return BOOL
    known: bool | None = None
    if value.null is Null.ALWAYS:
        known = True
    elif value.null is Null.NEVER and (value.kind not in (Kind.UNKNOWN, Kind.PYTHON) or value.const is not MISSING):
        known = False
    if known is None:
        return BOOL
    return constant(known if isinstance(op, ast.Is) else not known)


def _fold_compare(op: ast.cmpop, left: Any, right: Any) -> bool | None:
    try:
        if isinstance(op, ast.Eq):
            return bool(left == right)
        if isinstance(op, ast.NotEq):
            return bool(left != right)
        if isinstance(op, ast.Lt):
            return bool(left < right)
        if isinstance(op, ast.LtE):
            return bool(left <= right)
        if isinstance(op, ast.Gt):
            return bool(left > right)
        if isinstance(op, ast.GtE):
            return bool(left >= right)
    except TypeError:
        pass
    return None


def _python_binary(op: ast.operator, left: Value, right: Value) -> Value:
    a, b = left.dtype, right.dtype
    if "str" in (a, b) and PATH not in (a, b):
        return STR
    if isinstance(op, ast.Div) and PATH in (a, b):
        return number(PATH)
    if isinstance(op, ast.Div):
        return number("float")
    if a == b and a in ("int", "float"):
        return number(a)
    if {a, b} == {"int", "float"}:
        return number("float")
    return PYTHON


def _metadata(returns: str, value: Value) -> Value:
    if returns == "size":
        return _SIZE
    if returns == "dtype":
        return Value(Kind.PYTHON, dtype="torch.dtype", shape=("dtype of", value.dtype))
    if returns == "device":
        return Value(Kind.PYTHON, dtype="torch.device", shape=("device of", value.device))
    if returns in ("int", "bool", "str", "float"):
        return number(returns)
    return PYTHON


def _torch_module_attribute(value: Value, name: str, node: ast.expr) -> Value:
    if isinstance(value.ref, str) and name in _PARAMETERS:
        null = Null.MAYBE if "bias" in name or "running" in name else Null.NEVER
        root = ("attr", value.ref, name)
        return tensor(dtype=("any", root), shape=("any", root), roots=frozenset({root}), null=null)
    if name == "training":
        return BOOL
    if value.ref is None:
        return Value(Kind.METHOD, null=Null.MAYBE, ref=Bound(value, name, node))
    return Value(Kind.METHOD, ref=Bound(value, name, node))
