"""Calls: functions and classes of the project, modules, and everything else by what it is."""

from __future__ import annotations

import ast

from graphmend_lsp.flow import host
from graphmend_lsp.flow.builtin_calls import Builtins
from graphmend_lsp.flow.call_base import Arguments
from graphmend_lsp.flow.expressions import APPLY
from graphmend_lsp.flow.torch_calls import DISABLED
from graphmend_lsp.flow.values import (
    PYTHON,
    UNKNOWN,
    Bound,
    Closure,
    Kind,
    Value,
    changed,
    container,
    holds_tensor,
    join,
    join_all,
)
from graphmend_lsp.model.module import ClassInfo, FunctionInfo


class Calls(Builtins):
    """Evaluates calls."""

    def call(self, node: ast.Call) -> Value:
        """The result of a call expression."""
        self.called_anew(node)
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
            made = node.func.value
            if isinstance(made.func, ast.Name) and made.func.id == "super":
                return self._super_call(node, made, node.func.attr)
        callee = self.eval(node.func)
        if callee.kind is Kind.NAMESPACE and callee.ref in ("builtins.any", "builtins.all") and len(node.args) == 1:
            return self.any_all(node)
        return self.apply(callee, self.arguments(node), node)

    def arguments(self, node: ast.Call) -> Arguments:
        """The arguments of a call, evaluated in order."""
        values, exact = self.starred(node.args)
        keywords: dict[str, Value] = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif value.kind is Kind.CONTAINER and value.keys is not None:
                keywords.update(value.keys)
            else:
                exact = False
        return Arguments(values, keywords, exact)

    def apply(self, callee: Value, arguments: Arguments, node: ast.Call) -> Value:
        kind = callee.kind
        if callee.options and kind is not Kind.TENSOR:
            return self._apply_each(callee.options, arguments, node)
        if kind is Kind.NAMESPACE and isinstance(callee.ref, str):
            return self.named_call(callee.ref, arguments, node)
        if kind is Kind.METHOD or (kind is Kind.PYTHON and isinstance(callee.ref, Bound)):
            return self._bound_call(callee, arguments, node)
        if kind is Kind.FUNCTION and isinstance(callee.ref, Closure):
            return self.project_call(callee.ref, arguments, node)
        if kind is Kind.CLASS and isinstance(callee.ref, ClassInfo):
            return self._construct(callee.ref, arguments, node)
        if kind is Kind.MODULE:
            return self.module_call(callee, arguments, node)
        if kind in (Kind.INSTANCE, Kind.CONTAINER) and isinstance(callee.ref, ClassInfo):
            method = self.engine.method(callee.ref, "__call__")
            if method is not None:
                return self.project_call(Closure(method, callee), arguments, node)
        if kind is Kind.LOGGER:
            return UNKNOWN
        return self._call_of_unknown(arguments, node)

    def _apply_each(self, options: tuple[Value, ...], arguments: Arguments, node: ast.Call) -> Value:
        """Any of several functions may be called: what each of them does can happen."""
        result: Value | None = None
        for option in options:
            value = self.apply(option, arguments, node)
            self.several_called(node)
            result = value if result is None else join(result, value)
        return result or UNKNOWN

    def _bound_call(self, callee: Value, arguments: Arguments, node: ast.Call) -> Value:
        bound: Bound = callee.ref
        if bound.name == "<partial>":
            values = [*(callee.elements or ()), *arguments.values]
            keywords = {**(callee.keys or {}), **arguments.keywords}
            return self.apply(bound.receiver, Arguments(values, keywords, arguments.exact), node)
        if bound.name == APPLY and isinstance(bound.receiver.ref, ClassInfo):
            return self._differentiable(bound.receiver.ref, arguments, node)
        if bound.name == DISABLED:
            return self._call_of_disabled(bound.receiver, arguments, node)
        if bound.name == "<record>":
            return self._record(callee, arguments, node)
        return self.method_call(bound.receiver, bound.name, arguments, node)

    def _differentiable(self, cls: ClassInfo, arguments: Arguments, node: ast.Call) -> Value:
        """``Function.apply``: its forward, and its backward where the gradient is wanted, are traced as well."""
        method = self.engine.method(cls, "forward")
        if method is None:
            return self.fresh(node, next((v for v in arguments.values if v.kind is Kind.TENSOR), None))
        context = self.engine.method(cls, "setup_context") is None
        values = [Value(Kind.INSTANCE), *arguments.values] if context else arguments.values
        made = self.project_call(Closure(method), Arguments(values, arguments.keywords, arguments.exact), node)
        self._backward(cls, arguments, made, node)
        return made if made.kind in (Kind.TENSOR, Kind.CONTAINER) else self.fresh(node, None)

    def _backward(self, cls: ClassInfo, arguments: Arguments, made: Value, node: ast.Call) -> None:
        method = self.engine.method(cls, "backward")
        if method is None or self.learns or self.context.no_grad or not any(map(_wants_gradient, arguments.all())):
            return
        results = made.elements if made.kind is Kind.CONTAINER and made.elements is not None else (made,)
        gradients = [self.fresh(node, result) for result in results]
        self.project_call(Closure(method), Arguments([Value(Kind.INSTANCE), *gradients], {}, True), node)
        self.several_called(node)

    def _call_of_disabled(self, function: Value, arguments: Arguments, node: ast.Call) -> Value:
        if self.eager:
            return self.apply(function, arguments, node)
        if not self.learns:
            self.emit("deliberate", node, name=self.source(node.func))
        return self.unknown_call(arguments, node)

    def _call_of_unknown(self, arguments: Arguments, node: ast.Call) -> Value:
        """An attribute of a module that is not known and takes tensors is a module or function that returns them."""
        if isinstance(node.func, ast.Attribute):
            owner = self.facts.values.get(id(node.func.value))
            if owner is not None and owner.kind is Kind.MODULE and isinstance(owner.ref, ClassInfo):
                if any(holds_tensor(value) or value.dtype == "module-output" for value in arguments.all()):
                    return self.module_output(arguments, node)
        return self.unknown_call(arguments, node)

    # -- project code ----------------------------------------------------------------------------

    def _super_call(self, node: ast.Call, made: ast.Call, name: str) -> Value:
        arguments = self.arguments(node)
        start, receiver = self._receiver(made)
        if start is None:
            return self.unknown_call(arguments, node)
        order = self.engine.after(_class_of(receiver) or start, start)
        for item in order:
            if isinstance(item, ClassInfo) and name in item.methods:
                method = item.methods[name]
                if name == "__init__" and receiver is not None and self.self_stores is not None and arguments.exact:
                    self._base_made(method, receiver, arguments)
                static = "builtins.staticmethod" in method.decorator_names()
                return self.project_call(Closure(method, None if static else receiver), arguments, node)
        if name in ("__init__", "train", "eval", "apply", "to", "__init_subclass__", "__post_init__"):
            return PYTHON
        if name == "forward":
            base = next((i for i in order if isinstance(i, str) and i.startswith("torch.nn.")), None)
            if base is not None and base != "torch.nn.Module":
                return self.layer_call(base, Value(Kind.MODULE, ref=base), arguments, node)
            return self.module_output(arguments, node)
        return self.unknown_call(arguments, node)

    def _base_made(self, method: FunctionInfo, receiver: Value, arguments: Arguments) -> None:
        """A constructor calls that of its base: it sets what that one sets."""
        left = self.engine.left_by(method, receiver, arguments.values, arguments.keywords, self.function)
        for attribute, value in left.items():
            self.set_on_self(attribute, value)

    def _receiver(self, made: ast.Call) -> tuple[ClassInfo | None, Value | None]:
        """The class and the object of ``super()`` or ``super(Class, self)``."""
        method: FunctionInfo | None = self.function
        while method is not None and method.cls is None:
            method = method.parent
        start = method.cls if method is not None else None
        if made.args:
            named = self.eval(made.args[0])
            start = named.ref if named.kind is Kind.CLASS and isinstance(named.ref, ClassInfo) else start
        if len(made.args) > 1:
            return start, self.eval(made.args[1])
        if method is None:
            return None, None
        args = method.node.args
        first = next(iter((*args.posonlyargs, *args.args)), None)
        return start, self.state.env.get(first.arg) if first is not None else None

    def _construct(self, cls: ClassInfo, arguments: Arguments, node: ast.Call) -> Value:
        if not self.engine.is_record(cls):
            for value in arguments.all():
                self.flow("call", value, node)
            made = self.engine.instance(cls)
            if arguments.exact:
                made = self.engine.made(cls, arguments.values, arguments.keywords, node, outside=self.learns)
            self._run_constructor(cls, made, arguments, node)
            return made
        made = self._record_of(cls, arguments)
        self._run_constructor(cls, made, arguments, node)
        return made

    def _run_constructor(self, cls: ClassInfo, made: Value, arguments: Arguments, node: ast.Call) -> None:
        """What the code that sets up an object does, where the compiled region makes it."""
        if self.learns or node is self.discarded or self.engine.is_exception(cls):
            return
        method = self.engine.method(cls, "__init__")
        if method is None and self.engine.is_record(cls):
            method, arguments = self.engine.method(cls, "__post_init__"), Arguments([], {}, True)
        if method is None or method.cls is None or method.cls.name in host.TRACED_RECORDS:
            return
        if not (self.engine.is_module(cls) or self.engine.is_record(cls) or self.engine.is_traced(cls)):
            return
        written, writes = self.state.written, self.facts.writes
        self.project_call(Closure(method, made), arguments, node)
        if method.module is not self.module:  # where libraries set up their objects, they are taken to write no others
            self.state.written, self.facts.writes = written, writes

    def _record_of(self, cls: ClassInfo, arguments: Arguments) -> Value:
        """A record with what it is given."""
        fields = self.engine.record_fields(cls)
        keys = dict(zip(fields, arguments.values, strict=False)) | arguments.keywords
        if not fields:
            return Value(Kind.CONTAINER, ref=cls, element=join_all(tuple(arguments.all())), dtype="record")
        if arguments.exact:
            keys |= {name: self.engine.record_default(cls, name) for name in fields if name not in keys}
        exact = arguments.exact and self.engine.is_tuple(cls) and all(name in keys for name in fields)
        elements = tuple(keys[name] for name in fields) if exact else None
        element = join_all(tuple(keys.values()))
        return Value(Kind.CONTAINER, ref=cls, keys=keys, elements=elements, element=element, dtype="record")

    def _record(self, callee: Value, arguments: Arguments, node: ast.Call) -> Value:
        """``namedtuple("State", "h c")(h, c)``."""
        del node
        names = list(callee.keys or {})
        keys = dict(zip(names, arguments.values, strict=False)) | arguments.keywords
        if not arguments.exact or set(keys) != set(names):
            return container(element=join_all(tuple(arguments.all())), keys=keys or None, type_name="record")
        return container(tuple(keys[name] for name in names), keys=keys, type_name="record")

    def module_call(self, callee: Value, arguments: Arguments, node: ast.Call) -> Value:
        ref = callee.ref
        if callee.options:
            return self._apply_each(callee.options, arguments, node)
        if isinstance(ref, ClassInfo):
            method = self.engine.method(ref, "forward")
            if method is not None:
                return self.project_call(Closure(method, callee), arguments, node)
            base = self.engine.torch_base(ref)
            if base is None:
                return self.module_output(arguments, node)
            ref, callee = base, changed(callee, keys=None)
        if ref == "torch.nn.Sequential":
            return self._sequential(callee, arguments, node)
        if not isinstance(ref, str):
            return self.module_output(arguments, node)
        return self.layer_call(ref, callee, arguments, node)

    def _sequential(self, callee: Value, arguments: Arguments, node: ast.Call) -> Value:
        value = arguments.values[0] if arguments.values else UNKNOWN
        self.first_was_used(node)
        if callee.elements is None:
            if callee.element is None:
                return self.module_output(arguments, node)
            once = self.apply(callee.element, Arguments([value], {}, True), node)
            self.several_called(node)
            if once.kind is Kind.CONTAINER:
                return once
            made = self.fresh(node, value)
            return changed(made, roots=made.roots | value.roots) if once.roots & value.roots else made
        for item in callee.elements:
            if item.kind is not Kind.MODULE:
                return self.module_output(arguments, node)
            value = self.module_call(item, Arguments([value], {}, True), node)
            self.several_called(node)
        return value


def _wants_gradient(value: Value) -> bool:
    """Whether a tensor may have a history: it is computed, or kept in a module."""
    return value.kind is Kind.TENSOR and any(root[0] in ("op", "attr") for root in value.roots)


def _class_of(value: Value | None) -> ClassInfo | None:
    return value.ref if value is not None and isinstance(value.ref, ClassInfo) else None
