"""Methods of containers, modules and plain Python values."""

from __future__ import annotations

import ast

from graphmend_lsp.flow import growth, host, untraceable
from graphmend_lsp.flow.call_base import Arguments, short
from graphmend_lsp.flow.expressions import BOOL, FORMATTED, INT, STR, formatted
from graphmend_lsp.flow.ops import ARRAY_METHODS, TENSOR_ONLY_METHODS, method_fact
from graphmend_lsp.flow.torch_calls import TorchCalls
from graphmend_lsp.flow.values import (
    MISSING,
    NONE,
    PYTHON,
    UNKNOWN,
    Bound,
    Kind,
    Null,
    Value,
    changed,
    container,
    holds_tensor,
    join,
    join_all,
    tensor,
)
from graphmend_lsp.model.attributes import name_pattern

_NUMERIC_METHODS = frozenset({"sum", "mean", "max", "min", "abs", "float", "std", "var", "norm", "any", "all"})
_EVIDENT = _NUMERIC_METHODS - {"float"} | {"item", "isnan", "isinf", "nonzero"}
"""Methods that make a tensor of an unknown value in compiled code."""
_INPLACE_CONTAINER = frozenset(
    "append extend insert add update pop popitem remove discard clear setdefault sort reverse appendleft "
    "popleft".split()
)
_ADDS = frozenset({"append", "add", "insert", "appendleft", "extend", "update"})
_DICT_VIEWS = {"values": 0, "items": 1, "keys": 2}


class Methods(TorchCalls):
    """Evaluates calls of methods."""

    def method_call(self, receiver: Value, name: str, arguments: Arguments, node: ast.Call) -> Value:
        """The result of ``receiver.name(...)``."""
        kind = receiver.kind
        if kind is Kind.TENSOR:
            return self.tensor_method(receiver, name, arguments, node)
        if kind is Kind.LOGGER:
            if name in host.LOG_METHODS:
                done = self.effect("log", f"Logger.{name}", arguments, node)
                return receiver if name == "getChild" else done
            return UNKNOWN
        if kind is Kind.CONTAINER:
            return self._container_method(receiver, name, arguments, node)
        if kind is Kind.MODULE:
            return self.torch_module_method(receiver, name, arguments, node)
        if kind is Kind.SCALAR:
            return receiver
        if kind is Kind.PYTHON:
            return self._python_method(receiver, name, arguments, node)
        if kind is Kind.UNKNOWN:
            return self._method_of_unknown(receiver, name, arguments, node)
        if kind is Kind.METHOD:
            inner = receiver.ref.receiver if isinstance(receiver.ref, Bound) else UNKNOWN
            return self._method_of_unknown(Value(Kind.UNKNOWN, roots=inner.roots), name, arguments, node)
        return self.unknown_call(arguments, node)

    def _method_of_unknown(self, receiver: Value, name: str, arguments: Arguments, node: ast.Call) -> Value:
        module_output = receiver.dtype == "module-output"
        numeric = name in ARRAY_METHODS or name in _NUMERIC_METHODS
        target = node.func.value if isinstance(node.func, ast.Attribute) else None
        if (
            name in TENSOR_ONLY_METHODS
            or (module_output and numeric)
            or (name in _EVIDENT and target is not None and self._may_hold_tensor(target, name))
        ):
            source = self.source(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            why = self.why(node, f"`{short(source)}` is used as a tensor (`.{name}()`)")
            roots = receiver.roots or frozenset({("unknown", id(node))})
            guess = tensor(why=why, dtype=None, shape=None, roots=roots)
            if target is not None:
                self.facts.values[id(target)] = guess
                if isinstance(target, ast.Name) and target.id in self.state.env:
                    self.state.env[target.id] = guess
            return self.tensor_method(guess, name, arguments, node)
        if name in host.LOG_CALLS and target is not None:
            last = (
                target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
            )
            if last in host.LOGGER_NAMES and name != "log":
                return self.effect("log", f"{last}.{name}", arguments, node)
        if name in _ADDS and _of_self(target) and self.self_stores is not None and arguments.values:
            self._add_to_self(target, UNKNOWN, name, arguments.values[-1])
        for value in arguments.all():
            self.flow("call", value, node)
        self.flow("call", receiver, node)
        fact = method_fact(name)
        if fact is not None and fact.metadata and module_output:
            return PYTHON
        if name in _INPLACE_CONTAINER:
            self.write(None, node, f"`{short(self.source(node))}` changes a container")
        elif name not in _READERS:
            self.may_write(node)
        return UNKNOWN

    def _may_hold_tensor(self, node: ast.expr, name: str) -> bool:
        """Whether an unknown value can be data: one that came from outside through a local name.

        In compiled code ``x.any()`` of such a value is as good as an annotation.  An attribute of ``self`` of
        which nothing is known is more often configuration.
        """
        if self.learns:
            return False
        deep = False
        todo = [node]
        while todo:
            item = todo.pop()
            if isinstance(item, ast.Name):
                value = self.state.env.get(item.id)
                if value is None:
                    continue
                if value.kind is Kind.CONTAINER and item is not node:
                    found = self.facts.values.get(id(node))
                    if found is not None and _is_data(found):
                        return True
                elif _is_data(value) and not (deep and name not in ("any", "all")):
                    return True
            elif isinstance(item, (ast.Subscript, ast.Attribute)):
                deep = deep or isinstance(item, ast.Attribute)
                todo.append(item.value)
            elif isinstance(item, ast.Compare):
                todo += [item.left, *item.comparators]
            elif isinstance(item, ast.BinOp):
                todo += [item.left, item.right]
            elif isinstance(item, ast.UnaryOp):
                todo.append(item.operand)
        return False

    def _container_method(self, receiver: Value, name: str, arguments: Arguments, node: ast.Call) -> Value:
        element = receiver.element or UNKNOWN
        if name in _INPLACE_CONTAINER:
            if name == "sort":
                self._sort(node, receiver, arguments)
            self._mutate_container(receiver, name, arguments, node)
            if name == "pop" and receiver.dtype == "dict":
                self._forget(node, arguments)
                return self._looked_up(receiver, arguments)
            if name == "pop" and receiver.elements:
                return receiver.elements[-1] if not arguments.values else element
            if name == "setdefault":
                return (
                    join(element, arguments.values[1])
                    if receiver.element and len(arguments.values) > 1
                    else (arguments.values[1] if len(arguments.values) > 1 else element)
                )
            if name in ("pop", "popleft", "popitem"):
                return element
            return NONE
        if name in _DICT_VIEWS:
            if name == "keys":
                return container(element=STR, type_name="list")
            if name == "values":
                return container(
                    tuple(receiver.keys.values()) if receiver.keys else None, element=element, type_name="list"
                )
            return container(element=container((STR, element), type_name="tuple"), type_name="list")
        if name == "get":
            return self._looked_up(receiver, arguments)
        if name == "_replace":
            return self.replaced(receiver, arguments)
        if name in ("index", "count"):
            return INT
        if name == "copy":
            return receiver
        return UNKNOWN

    def replaced(self, record: Value, arguments: Arguments) -> Value:
        """A record with other fields: ``dataclasses.replace(record, h=x)``, ``record._replace(h=x)``."""
        if record.kind is not Kind.CONTAINER or record.dtype != "record":
            return UNKNOWN
        element = join_all(tuple(v for v in (record.element, *arguments.keywords.values()) if v is not None))
        if record.keys is None or not arguments.exact:
            return changed(record, keys=None, elements=None, element=element)
        keys = {**record.keys, **arguments.keywords}
        elements = None if record.elements is None else tuple(keys.values())
        return changed(record, keys=keys, elements=elements, element=element)

    def _looked_up(self, receiver: Value, arguments: Arguments) -> Value:
        """``d.get(key, default)`` or ``d.pop(key, default)``."""
        key = arguments.values[0].const if arguments.values else MISSING
        default = arguments.get(1, "default")
        if receiver.keys is not None and isinstance(key, str):
            kept = any(root[0] == "attr" for root in receiver.roots)  # where others may have added to it
            return receiver.keys.get(key) or (UNKNOWN if kept else default or NONE)
        return join(receiver.element or UNKNOWN, default or NONE)

    def _forget(self, node: ast.Call, arguments: Arguments) -> None:
        """What was popped is no longer in the dict."""
        target = node.func.value if isinstance(node.func, ast.Attribute) else None
        key = arguments.values[0].const if arguments.values else MISSING
        if isinstance(target, ast.Name) and isinstance(key, str):
            known = self.state.env.get(target.id)
            if known is not None and known.keys is not None:
                keys = {name: value for name, value in known.keys.items() if name != key}
                self.state.env[target.id] = changed(known, keys=keys, truth=None)

    def _mutate_container(self, receiver: Value, name: str, arguments: Arguments, node: ast.Call) -> None:
        target = node.func.value if isinstance(node.func, ast.Attribute) else None
        added = join_all(tuple(arguments.values))
        owner = target.value if isinstance(target, ast.Subscript) else target
        outer = self.state.env.get(owner.id) if isinstance(owner, ast.Name) else None
        local = outer is not None and not receiver.roots and not outer.roots
        if added is not None and _of_self(target):
            self._add_to_self(target, receiver, name, added)
        if not local:
            growth.called_on(self, node, receiver, name, added)
            self.write(None, node, f"`{short(self.source(node))}` changes a container")
            self.flow("store", added, node)
        if added is not None and name in _ADDS:
            if name in ("extend", "update"):
                added = self.element_of(added) if receiver.dtype != "dict" else added.element or UNKNOWN
            element = added if receiver.element is None else join(receiver.element, added)
            if isinstance(target, ast.Subscript) and isinstance(owner, ast.Name) and outer is not None:
                self._put_inside(owner.id, outer, target, changed(receiver, elements=None, element=element, truth=None))
            elif isinstance(target, ast.Name) and target.id in self.state.env:
                elements = None
                if name == "append" and receiver.elements is not None and not self.context.loops:
                    elements = (*receiver.elements, added)
                truth = True if name == "append" else None
                keys = self._updated(receiver, arguments) if name == "update" else None
                self.state.env[target.id] = changed(
                    receiver, elements=elements, element=element, truth=truth, keys=keys
                )

    def _add_to_self(self, target: ast.expr | None, receiver: Value, name: str, added: Value) -> None:
        """``self.items.append(x)``, where a method is run to learn what attributes hold."""
        if isinstance(target, ast.Attribute):
            element = added.element if name in ("extend", "update") else added
            made = Value(Kind.CONTAINER, element=element, dtype=receiver.dtype or "list")
            self.set_on_self(target.attr, made)

    def _updated(self, receiver: Value, arguments: Arguments) -> dict[str, Value] | None:
        """Keys of a dict after ``update``."""
        if receiver.keys is None or not arguments.exact or any(v.keys is None for v in arguments.values):
            return None
        keys = dict(receiver.keys)
        for value in arguments.values:
            keys.update(value.keys or {})
        return keys | arguments.keywords

    def _put_inside(self, name: str, outer: Value, target: ast.Subscript, inner: Value) -> None:
        """``d["k"].append(x)``: the container inside another one has changed."""
        if outer.kind is not Kind.CONTAINER:
            return
        key = self.facts.values.get(id(target.slice), UNKNOWN).const
        element = inner if outer.element is None else join(outer.element, inner)
        keys = outer.keys
        if keys is not None and isinstance(key, str):
            keys = {**keys, key: inner}
        self.state.env[name] = changed(outer, elements=None, keys=keys, element=element)

    def _sort(self, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
        key = arguments.keywords.get("key")
        self.sorted_by(node, receiver, key)

    def sorted_by(self, node: ast.Call, iterable: Value, key: Value | None) -> None:
        item = self.element_of(iterable)
        sorted_on = item
        if key is not None and key.null is not Null.ALWAYS:
            sorted_on = self.apply(key, Arguments([item], {}, True), node)
        if sorted_on.kind is Kind.CONTAINER and sorted_on.elements:
            sorted_on = sorted_on.elements[0]
        if sorted_on.kind is Kind.TENSOR:
            self.datum("sort", node, sorted_on)

    def torch_module_method(self, receiver: Value, name: str, arguments: Arguments, node: ast.Call) -> Value:
        if name == "forward":
            return self.module_call(receiver, arguments, node)
        self.host_call(f"Module.{name}", node)
        if name in ("append", "extend", "insert", "train", "eval", "to", "requires_grad_", "apply", *_REGISTER):
            if name in _REGISTER and self.self_stores is not None:
                self._register(arguments, node)
            elif name != "to":
                self.write(None, node, f"`{short(self.source(node))}` changes a module")
            return PYTHON
        if name in ("parameters", "buffers"):
            return container(element=tensor(roots=frozenset({("attr", name)})), type_name="generator")
        if name in ("values", "children", "modules"):
            return container(element=receiver.element or Value(Kind.MODULE), type_name="generator")
        if name == "items":
            return container(element=container((STR, receiver.element or Value(Kind.MODULE)), type_name="tuple"))
        return self._method_of_unknown(UNKNOWN, name, arguments, node)

    def _python_method(self, receiver: Value, name: str, arguments: Arguments, node: ast.Call) -> Value:
        if receiver.dtype in ("Optimizer", "Generator", "Storage"):
            self.host_call(f"{receiver.dtype}.{name}", node)
        called = f"{receiver.dtype}.{name}"
        if receiver.dtype in OBJECTS and untraceable.untraceable(called, self.engine.release) is not None:
            if not (isinstance(node.func, ast.Attribute) and ("host", id(node.func.value)) in self.events):
                self.host_call(called, node)  # what made it in the same expression is reported
            return self.unknown_call(arguments, node)
        if receiver.dtype == "str":
            self.text_used(node, receiver)
            inside = [formatted(value) for value in arguments.all()]
            if name == "format":
                return next((text for text in inside if text.ref == FORMATTED), STR)
            if name == "join" and arguments.values:
                self.text_used(node, *(arguments.values[0].elements or (self.element_of(arguments.values[0]),)))
        if receiver.dtype == "str" or name in ("format", "join", "split", "strip", "lower", "upper", "startswith"):
            return STR if name not in ("startswith", "endswith", "isdigit") else BOOL
        if name in ("numel", "__len__", "count", "index"):
            return INT
        if name in TENSOR_ONLY_METHODS:
            return self._method_of_unknown(UNKNOWN, name, arguments, node)
        if name in host.LOG_CALLS:
            return self._method_of_unknown(UNKNOWN, name, arguments, node)
        for value in arguments.all():
            self.flow("call", value, node)
        if holds_tensor(join_all(tuple(arguments.all()))):
            return UNKNOWN  # an attribute that holds a callable
        return Value(Kind.PYTHON, null=Null.MAYBE) if receiver.ref is None and receiver.dtype else UNKNOWN

    def _register(self, arguments: Arguments, node: ast.Call) -> None:
        """``self.register_buffer("name", value)`` in a constructor."""
        given = node.args[0] if node.args else None
        name = arguments.get(0, "name")
        value = arguments.get(1, "tensor") or arguments.get(1, "param") or arguments.get(1, "module") or NONE
        if name is not None and isinstance(name.const, str):
            self.set_on_self(name.const, value)
        elif given is not None:
            self.set_on_self(name_pattern(given), value)

    def set_on_self(self, name: str | None, value: Value) -> None:
        """An attribute of ``self`` is set, where a method is run to learn that."""
        if name is not None and self.self_stores is not None:
            known = self.self_stores.get(name)
            self.self_stores[name] = value if known is None else join(known, value)


OBJECTS = untraceable.owners()
"""What makes objects of Python or numpy whose methods TorchDynamo cannot trace."""
_READERS = frozenset(
    "get keys values items copy format join split lower upper startswith endswith strip size dim numel tolist item "
    "index count get_seq_length get_max_length parameters buffers named_parameters children modules".split()
)
"""Methods of unknown objects that, by their name, only look."""
_REGISTER = ("register_buffer", "register_parameter", "register_module", "add_module")


def _of_self(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _is_data(value: Value) -> bool:
    """Whether nothing is known of a value but that it was passed in or taken out of something."""
    if value.kind is Kind.METHOD and isinstance(value.ref, Bound):
        return _is_data(value.ref.receiver)
    return value.kind is Kind.UNKNOWN and value.dtype != "attribute" and not value.options
