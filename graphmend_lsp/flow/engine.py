"""Functions across the program: what a call returns, and what happens in it.

A function is analysed once per *calling context* (the abstract arguments), on demand; its ``Facts`` are kept
and shared by all callers with the same context.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, MutableMapping
from collections.abc import Set as AbstractSet
from typing import Any

from graphmend_lsp.flow import growth, host, parameters, tensors
from graphmend_lsp.flow.base import Base, known_write
from graphmend_lsp.flow.classes import MAX_DEPTH
from graphmend_lsp.flow.constructed import Constructed
from graphmend_lsp.flow.contexts import evidence_of, grounded, rebased, rooted, signature_of
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.interpret import Interpreter
from graphmend_lsp.flow.names import OUTSIDE, as_lambda, open_default
from graphmend_lsp.flow.ops import module_fact
from graphmend_lsp.flow.slices import slice_of
from graphmend_lsp.flow.state import State
from graphmend_lsp.flow.untraceable import Release
from graphmend_lsp.flow.values import (
    NONE,
    UNKNOWN,
    Closure,
    Kind,
    Null,
    Value,
    Why,
    all_roots,
    changed,
    constant,
    container,
)
from graphmend_lsp.model.module import FunctionInfo, FunctionNode, Loader
from graphmend_lsp.parse import Place

MAX_CONTEXTS = 12
_FULL = 3
"""How many levels of calls must be left for a result to be as good as any."""


class Ids(set[int]):
    """Ids of nodes; with ``beyond`` those that another engine has, too."""

    beyond: AbstractSet[int] = frozenset()

    def __contains__(self, item: object) -> bool:
        return super().__contains__(item) or item in self.beyond


class Engine(Constructed):
    """Answers the interpreter's questions about everything outside the function at hand."""

    def __init__(self, loader: Loader, release: Release = (2, 13)) -> None:
        super().__init__(loader)
        self.release = release
        """Of torch, as is assumed."""
        self.made_of_numbers = Ids()
        """Results of operators without a tensor from outside among their operands, by ``id`` of their node."""
        self.known_numbers = Ids()
        """Those of them that TorchDynamo knows the value of: single numbers made of single numbers."""
        self.sized_by_data: MutableMapping[int, str] = {}
        """Names of operators whose result has a shape that is data, by ``id`` of their node."""
        self._nested: dict[FunctionNode, FunctionInfo] = self.table()
        self._decorated: dict[FunctionInfo, Value] = self.table()
        self._memo: dict[tuple[FunctionNode, Any], Facts | None] = self.table()
        self._contexts: dict[tuple[FunctionNode, bool], int] = self.table()
        self._envs: dict[int, Any] = self.table()
        """Environments that are part of a key above, kept so that no other one gets the same id."""
        self._guesses: dict[tuple[FunctionNode, str], Value | None] = self.table()
        self._opaque: dict[FunctionInfo, bool] = self.table()

    def _interpreter(self, function: FunctionInfo, facts: Facts, state: State, depth: int) -> Interpreter:
        return Interpreter(self, function, facts, state, depth)

    def made_otherwise(self, node: ast.AST) -> None:
        """The result of an operator that has a tensor from outside among its operands."""

    def closed_over(self, env: dict[str, Value]) -> dict[str, Value]:
        """The names that a function made here closes over."""
        return env

    # -- functions -------------------------------------------------------------------------------

    def nested(self, parent: FunctionInfo, node: FunctionNode, name: str) -> FunctionInfo:
        known = self._nested.get(node)
        if known is None:
            qualname = f"{parent.qualname}.<locals>.{name}"
            known = FunctionInfo(name, qualname, node, parent.chunk, parent.module, None, parent)
            self._nested[node] = known
        return known

    def decorated(self, closure: Closure, caller: Base | None) -> Value:
        """A function as its decorators leave it."""
        function = closure.function
        plain = Value(Kind.FUNCTION, ref=closure)
        if not function.decorators:
            return plain
        if closure.env is None and function in self._decorated:
            made = self._decorated[function]
        else:
            self._decorated[function] = Value(Kind.FUNCTION, ref=Closure(function, None, closure.env))
            made = self._decorate(Closure(function, None, closure.env), caller)
            self._decorated[function] = made
        if made.kind is not Kind.FUNCTION or not isinstance(made.ref, Closure):
            return plain
        inner = made.ref
        if inner.function is function:
            return plain
        return Value(Kind.FUNCTION, ref=Closure(inner.function, closure.bound, inner.env))

    def _decorate(self, closure: Closure, caller: Base | None) -> Value:
        function = closure.function
        value = Value(Kind.FUNCTION, ref=closure)
        del caller
        evaluator: Interpreter | None = None
        for decorator in reversed(function.decorators):
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            dotted = function.module.dotted(target)
            if dotted is not None and dotted.partition(".")[0] in OUTSIDE:
                continue
            if evaluator is None:
                fake = FunctionInfo(
                    "<decorator>", function.qualname, as_lambda(decorator), function.chunk, function.module
                )
                evaluator = self._interpreter(fake, Facts(fake, {}), State(), MAX_DEPTH - 2)
                evaluator.state.env.update(closure.env or {})
                evaluator.eager = True
            wrap = evaluator.eval(decorator)
            if wrap.kind is Kind.FUNCTION and isinstance(wrap.ref, Closure):
                result = self.invoke(wrap.ref, [value], {}, decorator, evaluator)
                if result.kind is Kind.FUNCTION:
                    value = result
        return value

    def is_opaque(self, function: FunctionInfo) -> bool:
        """Whether TorchDynamo does not trace into a function: disabled, or an operator of the graph."""
        known = self._opaque.get(function)
        if known is None:
            names = function.decorator_names()
            known = any(name in host.DISABLED or name in host.OPERATORS for name in names)
            known = known or any(_registers(decorator) for decorator in function.decorators)
            self._opaque[function] = known
        return known

    def is_disabled(self, function: FunctionInfo) -> bool:
        """Whether its author keeps it out of the graph, so that a call of it splits the caller's."""
        return any(name in host.DISABLED for name in function.decorator_names())

    def is_effect(self, function: FunctionInfo) -> bool:
        """A helper that mending made: one operator of the graph, which is not traced into."""
        return any(host.is_runtime(name, "graph_effect") for name in function.decorator_names())

    def invoke(
        self,
        closure: Closure,
        values: list[Value],
        keywords: dict[str, Value],
        node: ast.expr,
        caller: Base,
        *,
        exact: bool = True,
    ) -> Value:
        """Call a function of the project; its effects become the caller's."""
        function = closure.function
        if self.is_effect(function):
            caller.facts.effects = True
            return NONE
        if function.name in host.COMPILING_NAMES and not values and not keywords:
            return _compiling(function.name)
        if self.is_opaque(function):
            if self.is_disabled(function) and not caller.learns:
                caller.emit("deliberate", node, name=function.name)
            for value in (*values, *keywords.values()):
                caller.flow("call", value, node)
            caller.may_write(node)
            return self._declared_return(function) or UNKNOWN
        given = self.bind_params(function, closure.bound, values, keywords, exact)
        params = {name: self._argument(name, value, function) for name, value in given.items()}

        def explain() -> dict[str, Value]:
            return {
                name: changed(value, why=self._param_why(function, name, given[name].why, caller, node))
                if given[name].kind is Kind.TENSOR
                else value
                for name, value in params.items()
            }

        facts = self.analyse(function, params, closure.env, caller.depth + 1, learn=caller.learns, explain=explain)
        if facts is None:
            for value in (*values, *keywords.values()):
                caller.flow("call", value, node)
            caller.may_write(node)
            return self._declared_return(function) or UNKNOWN
        return self._returned(facts, given, node, caller)

    def _declared_return(self, function: FunctionInfo) -> Value | None:
        returns = None if isinstance(function.node, ast.Lambda) else function.node.returns
        if returns is None:
            return None
        value = self.annotation(returns, function.module)
        if value is None or value.kind is not Kind.TENSOR:
            return value
        return changed(value, roots=frozenset({("unknown", function.qualname)}))

    def _argument(self, name: str, value: Value, function: FunctionInfo) -> Value:
        """An argument as the callee sees it, but for where it comes from: the parameter is its root."""
        if value.kind is Kind.TENSOR:
            root = ("param", name)
            kind = "floating" if tensors.is_floating(value.dtype) else "any"
            dtype = value.dtype if isinstance(value.dtype, str) else (kind, root)
            shape = () if value.shape == () else root
            return changed(value, roots=frozenset({root}), dtype=dtype, shape=shape, device=root, unbound=False)
        if value.kind is Kind.CONTAINER and all_roots(value):
            return rooted(value, ("param", name))
        if value.kind is Kind.UNKNOWN and value.dtype != "module-output":
            guess = self.guess(function, name)
            if guess is not None:
                return changed(guess, null=Null.MAYBE)
        return value if not value.unbound else changed(value, unbound=False)

    def _param_why(
        self, function: FunctionInfo, name: str, parent: Why | None, caller: Base, node: ast.expr
    ) -> Why | None:
        arg = parameter_of(function, name)
        if arg is None:
            return parent
        passed = caller.why(node, f"passed to `{function.name}` here", parent)
        place = Place(function.chunk.id, function.chunk.span(arg))
        return Why(place, function.module.path, f"`{name}` is a parameter of `{function.qualname}`", passed)

    def _returned(self, facts: Facts, given: dict[str, Value], node: ast.expr, caller: Base) -> Value:
        """What a call gives; ``given`` are the caller's values by the callee's parameters, however they got there."""
        caller.called(node, facts)
        if facts.growing:
            growth.passed_on(caller, node, facts)
        if facts.builds:
            caller.has_built()
        caller.facts.effects = caller.facts.effects or facts.effects
        caller.facts.random = caller.facts.random or facts.random
        caller.facts.raises = caller.facts.raises or facts.raises
        for name in facts.mutates:
            if name in given:
                caller.write(
                    given[name],
                    node,
                    f"`{facts.function.name}` writes `{name}` in place",
                )
        if facts.writes is not None and not (facts.mutates and facts.writes.message.endswith("in place")):
            if not known_write(caller.state.written):
                caller.state.written = facts.writes
            if caller.facts.writes is None:
                caller.facts.writes = facts.writes
        arguments = {name: value for name, value in given.items() if value.kind is not Kind.UNKNOWN or value.roots}
        for root, flows in facts.flows.items():
            if root[0] == "param" and str(root[1]) in arguments:
                for kind in {f.kind for f in flows} - {"return"}:
                    caller.flow(kind, arguments[str(root[1])], node)
        value = facts.returns or UNKNOWN
        if facts.shared and facts.returns is not None:
            function = facts.function
            value = grounded(
                value,
                function.node,
                lambda name: (
                    self._param_why(function, name, evidence_of(given[name]), caller, node) if name in given else None
                ),
            )
        return rebased(value, arguments, ("op", id(node)))

    # -- contexts --------------------------------------------------------------------------------

    def analyse(
        self,
        function: FunctionInfo,
        params: dict[str, Value],
        env: Any,
        depth: int,
        *,
        learn: bool = False,
        explain: Callable[[], dict[str, Value]] | None = None,
    ) -> Facts | None:
        """Facts of a function for these parameters; None on recursion and past the depth limit.

        With ``learn`` no more than what it returns.  ``explain`` gives the parameters with their evidence, which is
        made only for the first call that has them.
        """
        if depth > MAX_DEPTH:
            return None
        signature = signature_of(params) if env is None else ("closure", id(env), signature_of(params))
        key = (function.node, (_FULL, learn, signature))
        if key in self._memo:
            return self._memo[key]
        left = MAX_DEPTH - depth
        if left < _FULL:  # too deep to follow every call: not for those who come by a shorter way
            key = (function.node, (left, learn, signature))
            if key in self._memo:
                return self._memo[key]
        count = self._contexts.get((function.node, learn), 0)
        if count >= MAX_CONTEXTS and env is None:
            return self._learned(function) if learn else self.generic(function)
        if env is not None:
            self._envs[id(env)] = env
        self._contexts[function.node, learn] = count + 1
        params = params if explain is None else explain()
        return self._kept(key, function, params, env, depth, learn=learn)

    def _kept(
        self,
        key: tuple[FunctionNode, Any],
        function: FunctionInfo,
        params: dict[str, Value],
        env: Any,
        depth: int,
        *,
        learn: bool = False,
    ) -> Facts | None:
        self._memo[key] = None  # a recursive call knows nothing
        try:
            facts = Facts(function, params)
            state = State({**env, **params} if env else dict(params))
            interpreter = self._interpreter(function, facts, state, depth)
            if learn:
                interpreter.called_to_learn = True
                interpreter.kept = slice_of(function.node)
            elif function.cls is not None and function.name in host.CONSTRUCTORS:
                interpreter.constructs = True
                interpreter.self_stores = {}
            self._memo[key] = interpreter.run()
            if learn or not self.loader.is_own(function.module):
                facts.values, facts.branches = {}, {}  # nothing there is ever mended, and they are most of the memory
        except Exception:
            # A mistake of ours in one function must not cost the findings of the others.
            self.failed(function)
        return self._memo[key]

    def _learned(self, function: FunctionInfo) -> Facts | None:
        """What a function returns for parameters of which nothing is known."""
        key = (function.node, ("learned", function.receiver))
        if key not in self._memo:
            self._kept(key, function, self.default_params(function), None, 1, learn=True)
        return self._memo[key]

    def generic(self, function: FunctionInfo) -> Facts | None:
        """Facts for parameters of which nobody shows a call (an entry)."""
        key = (function.node, ("generic", function.receiver))
        if key in self._memo:
            return self._memo[key]
        try:
            params = self.entry_params(function)
        except Exception:
            self.failed(function)
            params = {}
        facts = self._kept(key, function, params, None, 1)
        if facts is not None and facts.growing:
            growth.at_entry(facts, self.release)
        wrapper = self._wrapped(function) if function.decorators and function.receiver is None else None
        if facts is not None and wrapper is not None:
            inner = wrapper.function
            outer_key = (inner.node, ("generic", function))
            params = self.entry_params(inner)
            names = function.decorator_names()
            first = next(iter((*inner.node.args.posonlyargs, *inner.node.args.args)), None)
            if first is not None and function.cls is not None and "builtins.staticmethod" not in names:
                params[first.arg] = self._receiver(function, names)
            outer = self._kept(outer_key, inner, params, wrapper.env, 1)
            if outer is not None:
                facts.callees.append(outer)  # reached from the same entry
        return facts

    def _wrapped(self, function: FunctionInfo) -> Closure | None:
        """The function that a decorator of the project leaves in the place of an entry."""
        compiled = [index for index, d in enumerate(function.decorators) if self._compiles(d, function)]
        if compiled and compiled[-1] == len(function.decorators) - 1:
            return None  # what is compiled is the function itself
        made = self.decorated(Closure(function), None)
        if made.kind is not Kind.FUNCTION or not isinstance(made.ref, Closure):
            return None
        inner = made.ref.function
        return made.ref if inner is not function else None

    def _compiles(self, decorator: ast.expr, function: FunctionInfo) -> bool:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(decorator, ast.Call) and function.module.dotted(target) == "functools.partial" and decorator.args:
            target = decorator.args[0]
        name = function.module.dotted(target) or ""
        return name.startswith(("torch.compile", "torch._dynamo.")) or name.endswith("support_torch_compile")

    def entry_params(self, function: FunctionInfo) -> dict[str, Value]:
        """As ``default_params``; what a compiled function takes first is a tensor unless its uses deny it."""
        values = self.default_params(function)
        args = function.node.args
        positional = [*args.posonlyargs, *args.args]
        required = positional[: len(positional) - len(args.defaults)]
        for arg in required:
            value = values.get(arg.arg)
            if value is None or value.kind in (Kind.MODULE, Kind.INSTANCE, Kind.CLASS):
                continue
            denied = value.kind is not Kind.UNKNOWN or arg.annotation is not None
            if not denied and not parameters.used_as_python(function, arg.arg):
                tensor = self._root_param(function, arg, Value(Kind.TENSOR), "the first of a compiled function")
                values[arg.arg] = changed(tensor, null=Null.MAYBE)
            break
        return values

    def default_params(self, function: FunctionInfo, *, constructor: bool = False) -> dict[str, Value]:
        """Parameter values from annotations, defaults and uses."""
        node = function.node
        args = node.args
        values: dict[str, Value] = {}
        positional = [*args.posonlyargs, *args.args]
        defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
        pairs = [*zip(positional, defaults, strict=True), *zip(args.kwonlyargs, args.kw_defaults, strict=True)]
        names = function.decorator_names()
        for index, (arg, default) in enumerate(pairs):
            if index == 0 and function.cls is not None and "builtins.staticmethod" not in names:
                values[arg.arg] = self._receiver(function, names)
                continue
            values[arg.arg] = self._default_param(function, arg, default, constructor)
        if args.vararg is not None:
            values[args.vararg.arg] = container(element=self._each(args.vararg, function), type_name="tuple")
        if args.kwarg is not None:
            values[args.kwarg.arg] = Value(Kind.CONTAINER, element=self._each(args.kwarg, function), dtype="dict")
        return values

    def _each(self, arg: ast.arg, function: FunctionInfo) -> Value | None:
        """Any of the values behind ``*args`` or ``**kwargs``, where it is annotated."""
        if arg.annotation is None:
            return None
        value = self.annotation(arg.annotation, function.module)
        return None if value is None else rooted(value, ("param", arg.arg), 1)

    def _receiver(self, function: FunctionInfo, names: list[str]) -> Value:
        cls = function.cls
        if cls is None:
            return UNKNOWN
        if "builtins.classmethod" in names:
            return Value(Kind.CLASS, ref=cls)
        return self.instance(function.receiver or cls)

    def _default_param(
        self, function: FunctionInfo, arg: ast.arg, default: ast.expr | None, constructor: bool
    ) -> Value:
        declared = self.annotation(arg.annotation, function.module) if arg.annotation is not None else None
        fallback = self.default_value(default, function.chunk, function.module)
        if declared is not None:
            if fallback is not None and fallback.null is Null.ALWAYS:
                declared = changed(declared, null=Null.MAYBE)
            return self._root_param(function, arg, declared, "annotated as a tensor")
        if not constructor and (fallback is None or fallback.null is Null.ALWAYS) and arg.annotation is None:
            guess = self.guess(function, arg.arg)
            if guess is not None:
                return guess
        if (
            fallback is not None
            and fallback.null is Null.NEVER
            and (arg.annotation is None or fallback.kind not in (Kind.PYTHON, Kind.CONTAINER))
        ):
            return open_default(fallback)
        if constructor:
            return Value(Kind.PYTHON, null=Null.MAYBE)
        return Value(Kind.UNKNOWN, null=Null.MAYBE, roots=frozenset({("param", arg.arg)}))

    def guess(self, function: FunctionInfo, name: str) -> Value | None:
        """A parameter's value by its uses, if they tell; the same in every context."""
        key = (function.node, name)
        if key not in self._guesses:
            self._guesses[key] = None
            self._guesses[key] = self._guessed(function, name)
        return self._guesses[key]

    def _guessed(self, function: FunctionInfo, name: str) -> Value | None:
        arg = parameter_of(function, name)
        if arg is None:
            return None

        def torch_module(node: ast.expr) -> bool:
            cls = function.cls
            if cls is None or not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
                return False
            if node.value.id != "self":
                return False
            value = self.member(cls, node.attr, UNKNOWN)
            return value.kind is Kind.MODULE and isinstance(value.ref, str) and module_fact(value.ref) is not None

        use = parameters.used_as_tensor(function, name, torch_module)
        if use is None:
            return self._guess_list(function, name, torch_module)
        node, words = use
        place = Place(function.chunk.id, function.chunk.span(node))
        why = Why(place, function.module.path, f"`{name}` is used as a tensor: {words}")
        value = self._root_param(function, arg, Value(Kind.TENSOR, why=why), f"used as a tensor ({words})")
        return changed(value, null=Null.MAYBE)

    def _guess_list(self, function: FunctionInfo, name: str, torch_module: Callable[[ast.expr], bool]) -> Value | None:
        use = parameters.iterated_as_tensors(function, name, torch_module)
        if use is None:
            return None
        node, words = use
        place = Place(function.chunk.id, function.chunk.span(node))
        why = Why(place, function.module.path, f"the elements of `{name}` are used as tensors: {words}")
        return rooted(container(element=Value(Kind.TENSOR, why=why), type_name="list"), ("param", name))

    def _root_param(self, function: FunctionInfo, arg: ast.arg, value: Value, how: str) -> Value:
        root = ("param", arg.arg)
        if value.kind is not Kind.TENSOR:
            return rooted(value, root) if value.kind is Kind.CONTAINER else value
        place = Place(function.chunk.id, function.chunk.span(arg))
        why = Why(place, function.module.path, f"`{arg.arg}` is a parameter, {how}")
        options = tuple(rooted(option, root, 1) for option in value.options)
        return changed(
            value,
            roots=frozenset({root}),
            dtype=value.dtype or ("any", root),
            shape=root,
            device=root,
            why=why,
            options=options,
        )

    def bind_params(
        self,
        function: FunctionInfo,
        bound: Value | None,
        values: list[Value],
        keywords: dict[str, Value],
        exact: bool,
    ) -> dict[str, Value]:
        """Parameter values of a call."""
        args = function.node.args
        given = [bound, *values] if bound is not None else list(values)
        result: dict[str, Value] = {}
        positional = [*args.posonlyargs, *args.args]
        for arg, value in zip(positional, given, strict=False):
            result[arg.arg] = value
        rest = given[len(positional) :]
        extra: dict[str, Value] = {}
        names = {a.arg for a in (*positional, *args.kwonlyargs)}
        for name, value in keywords.items():
            (result if name in names else extra)[name] = value
        if args.vararg is not None:
            result[args.vararg.arg] = (
                container(tuple(rest), type_name="tuple") if exact else container(type_name="tuple")
            )
        if args.kwarg is not None:
            # With ``**more`` among the arguments other keys than the known ones may be there, of any value.
            known = container(tuple(extra.values())).element if exact else UNKNOWN
            result[args.kwarg.arg] = Value(Kind.CONTAINER, keys=extra if exact else None, element=known, dtype="dict")
        defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
        for arg, default in (
            *zip(positional, defaults, strict=True),
            *zip(args.kwonlyargs, args.kw_defaults, strict=True),
        ):
            if arg.arg in result:
                continue
            value = self.default_value(default, function.chunk, function.module)
            if value is None or not exact:
                value = self._default_param(function, arg, default, False)
            result[arg.arg] = value
        return result


def _registers(decorator: ast.expr) -> bool:
    """``@op.register_fake`` and its like: an implementation of an operator."""
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(target, ast.Attribute) and target.attr in host.REGISTRATIONS


def parameter_of(function: FunctionInfo, name: str) -> ast.arg | None:
    args = function.node.args
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        if arg.arg == name:
            return arg
    return None


def _compiling(name: str) -> Value:
    """What a library's own "are we compiling?" answers under torch.compile."""
    known = host.COMPILING_NAMES[name]
    return Value(Kind.PYTHON, dtype="bool") if known is None else constant(known)
