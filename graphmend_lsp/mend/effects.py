"""Host statements as graph effects: the statement moves, unchanged, into a helper of its free variables."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from graphmend_lsp.finding import Reason, Refusal
from graphmend_lsp.flow.events import Event
from graphmend_lsp.flow.ops import function_fact, method_fact
from graphmend_lsp.flow.values import Closure, Kind, Null, Value
from graphmend_lsp.mend import names, quiet, scope
from graphmend_lsp.mend.base import Helper, Site
from graphmend_lsp.mend.layout import call, indent_unit, line_width, reindent
from graphmend_lsp.mend.sources import one_line, replaced
from graphmend_lsp.mend.spelling import runtime_name
from graphmend_lsp.model.module import ClassInfo

CAPTURING_CONTEXTS = (
    "catch_warnings",
    "redirect_stdout",
    "redirect_stderr",
    "capture",
    "suppress",
    "assertWarns",
    "assertLogs",
)


_HISTORY_FLAGS = frozenset({"requires_grad", "is_leaf"})
_HISTORY = _HISTORY_FLAGS | {
    "grad_fn",
    "grad",
    "_version",
    "data_ptr",
    "storage",
    "untyped_storage",
    "_base",
    "retains_grad",
}
_COMPUTED = (ast.FormattedValue, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.Subscript, ast.ListComp)
"""Expressions whose value is fixed when they are computed; a name is only looked up."""
_FRAME_NAMES = frozenset({"id", "locals", "vars", "dir", "globals", "super", "eval", "exec", "__class__"})


def _placed(node: ast.expr, text: str) -> bool:
    """Whether the source found for a node really is its own (inside f-strings older Pythons misplace nodes)."""
    try:
        return ast.dump(ast.parse(text, mode="eval").body) == ast.dump(node)
    except (SyntaxError, ValueError):
        return False


def only_effects(stmt: ast.If, effects: frozenset[int]) -> bool:
    """Whether an ``if`` does nothing but print, log or warn (``effects``: ids of such calls)."""
    return not stmt.orelse and all(
        isinstance(s, ast.Expr) and (id(s.value) in effects or isinstance(s.value, ast.Constant)) for s in stmt.body
    )


def effect_calls(events: Iterable[Event]) -> frozenset[int]:
    """Ids of the calls that print, log or warn."""
    return frozenset(id(e.node) for e in events if e.kind in ("print", "log", "warn"))


@dataclass
class Lowered:
    """A statement as helper and call."""

    helper: Helper
    call_lines: list[str]


@dataclass
class _Parameter:
    name: str
    argument: str


@dataclass
class _Lowering:
    """Finds the free variables of a statement, and what of it must be computed where it stood."""

    site: Site
    stmt: ast.stmt
    kind: str
    parameters: list[_Parameter] = field(default_factory=list[_Parameter])
    cuts: list[tuple[ast.expr, str]] = field(default_factory=list[tuple[ast.expr, str]])
    problem: Refusal | None = None
    ordered: bool = False
    """Whether the order in which the arguments are computed matters."""
    imports: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.locals = scope.local_names(self.site.function)
        self.imported = scope.local_imports(self.site.function)
        self.effects = effect_calls(self.site.facts.events) | {id(self.site.event.node)}
        calls = (node for node in ast.walk(self.stmt) if isinstance(node, ast.Call) and id(node) in self.effects)
        self.called = {id(call.func) for call in calls}

    def refuse(self, reason: Reason, message: str) -> None:
        if self.problem is None:
            self.problem = Refusal(self.kind, reason, message)

    def visit(self, node: ast.AST, bound: frozenset[str], *, lazy: bool) -> None:
        """``lazy``: computed only if the effect happens (the message of an exception)."""
        if self.problem is not None:
            return
        if isinstance(node, ast.expr):
            if isinstance(node, ast.Name):
                self._name(node, bound)
                return
            if isinstance(node, ast.Attribute) and node.attr in _HISTORY and self._history(node):
                return
            if isinstance(node, (ast.Attribute, ast.Call)) and self._object(node, bound, lazy=lazy):
                return
            if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom)):
                self.refuse("unsupported", f"`{self.site.source(node)}` cannot move into a helper")
                return
            if isinstance(node, ast.NamedExpr):
                self.refuse("unsupported", f"`{self.site.source(node)}` binds a name of the function")
                return
            if isinstance(node, ast.Call) and id(node) not in self.effects and self._noisy(node, bound, lazy=lazy):
                return
            if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp, ast.Lambda)):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Call):
                        self._noisy(inner, bound, lazy=True)
                for name in sorted(scope.reads(node) - bound):
                    self._load(name, node)
                return
        conditional = _conditional_parts(node)
        for child in ast.iter_child_nodes(node):
            self.visit(child, bound, lazy=lazy or child in conditional)

    def _noisy(self, node: ast.Call, bound: frozenset[str], *, lazy: bool) -> bool:
        """A call that does more than give a value happens where the statement stood; else it cannot move."""
        verdict = quiet.changes(self.site, node)
        if verdict is None:
            return False
        given = self.site.value(node).kind in (Kind.TENSOR, Kind.PYTHON)
        if lazy or not given or scope.reads(node) & bound or self._after_others(node):
            self.refuse(*verdict)
        else:
            self._cut(node, names.from_expression(node))
            self.ordered = True
        return True

    def in_order(self) -> list[_Parameter]:
        """The parameters, those that are computed in the order in which the statement computes them."""
        if not self.ordered:
            return self.parameters
        places = {id(node): number for number, node in enumerate(_evaluated(self.stmt))}
        first = {name: places[id(node)] for node, name in reversed(self.cuts)}
        return sorted(self.parameters, key=lambda parameter: first.get(parameter.name, -1))

    def _after_others(self, node: ast.Call) -> bool:
        """Whether something that stays in the statement is computed before a call that would leave it."""
        gone = {id(inner) for cut, _ in self.cuts for inner in ast.walk(cut)}
        around = {id(outer) for outer in ast.walk(self.stmt) if any(n is node for n in ast.walk(outer))}
        before = itertools.takewhile(lambda item: item is not node, _evaluated(self.stmt))
        return any(isinstance(i, _COMPUTED) and id(i) not in gone and id(i) not in around for i in before)

    def _history(self, node: ast.Attribute) -> bool:
        """What a tensor says of its gradient history is another thing inside an operator."""
        if self.site.value(node.value).kind is not Kind.TENSOR:
            return False
        if node.attr in _HISTORY_FLAGS:
            self._cut(node, names.from_expression(node))
        else:
            self.refuse("unsupported", f"`{self.site.source(node)}` is not the same inside an operator of the graph")
        return True

    def _name(self, node: ast.Name, bound: frozenset[str]) -> None:
        if node.id not in bound and isinstance(node.ctx, ast.Load):
            self._load(node.id, node)

    def _load(self, name: str, node: ast.expr) -> None:
        if name in _FRAME_NAMES:
            self.refuse("unsupported", f"`{name}` means something else in a helper")
            return
        if name.startswith("__") and not name.endswith("__") and self.site.function.cls is not None:
            self.refuse(
                "unsupported", f"Python mangles the name `{name}` inside a class, and not in a helper outside it"
            )
            return
        if name not in self.locals:
            self._load_global(name, node)
            return
        if name in self.imported:
            text = " ".join(self.site.source(self.imported[name]).split())
            if text.startswith("from ."):
                self.refuse("unsupported", f"`{name}` is imported inside the function, relatively")
            elif text not in self.imports:
                self.imports.append(text)
            return
        value = self.site.value(node) if isinstance(node, ast.Name) else self._binding(name)
        if name == "self" or value.kind in (
            Kind.FUNCTION,
            Kind.CLASS,
            Kind.MODULE,
            Kind.INSTANCE,
            Kind.LOGGER,
            Kind.METHOD,
        ):
            self.refuse("unsupported", f"`{name}` is an object that cannot be handed to an operator of the graph")
            return
        if value.unbound:
            self.refuse("unbound-name", f"`{name}` may have no value here")
            return
        if value.dtype == "record":
            self.refuse("unsupported", f"`{name}` is an object that cannot be handed to an operator of the graph")
            return
        self._parameter(name, name)

    def _load_global(self, name: str, node: ast.expr) -> None:
        """A module-level name: its value at the call counts, not the one when the graph runs."""
        bindings = self.site.module.bindings.get(name)
        if bindings is None or any(b.kind != "value" for b in bindings):
            return
        value = self.site.engine.global_value(self.site.module, name)
        if name in self.site.module.rebound or value.kind in (Kind.CONTAINER, Kind.TENSOR):
            if isinstance(node, ast.Name):
                self._parameter(name, name)
            else:
                self.refuse("state-write", f"`{name}` may change before the graph runs")
        elif value.kind in (Kind.INSTANCE, Kind.UNKNOWN) and self.site.facts.writes is not None:
            self.refuse("state-write", f"`{name}` may have changed before the graph runs")

    def _binding(self, name: str) -> Value:
        branch = self.site.branch
        from graphmend_lsp.flow.values import UNKNOWN

        if branch is not None and name in branch.before:
            return branch.before[name]
        return self.site.facts.params.get(name, UNKNOWN)

    def _parameter(self, name: str, argument: str) -> str:
        for known in self.parameters:
            if known.argument == argument:
                return known.name
        taken = {p.name for p in self.parameters}
        chosen = name
        number = 2
        while chosen in taken:
            chosen = f"{name}_{number}"
            number += 1
        self.parameters.append(_Parameter(chosen, argument))
        return chosen

    def _cut(self, node: ast.expr, name: str) -> None:
        """The expression is computed where the statement stood; the helper gets its value."""
        text = one_line(self.site.source(node))
        if "\n" in text:
            self.refuse("unsupported", f"`{self.site.source(node).split()[0]}…` has a comment or a long string inside")
            return
        if not _placed(node, text) or self._shown(node):
            self.refuse("unsupported", f"`{text}` stands in an f-string that shows its source")
            return
        name = re.sub(r"\W", "_", name).strip("_") or "value"
        if not names.valid(name) or name in self.locals or self._global(name):
            name = f"{name}_value"
        self.cuts.append((node, self._parameter(name, text)))

    def _shown(self, node: ast.expr) -> bool:
        """Whether it is the value of ``{value=}``."""
        span = self.site.chunk.span(node)
        after = self.site.chunk.raw_text(span.end_line)[span.end_column :].lstrip()
        return after.startswith("=") and not after.startswith("==") and (after[1:].lstrip()[:1] in ("}", "!", ":"))

    def _global(self, name: str) -> bool:
        return name in self.site.module.bindings or name in names.BUILTINS

    def _object(self, node: ast.Attribute | ast.Call, bound: frozenset[str], *, lazy: bool) -> bool:
        """Attributes and calls of local objects: pass the value, not the object."""
        root = _root(node)
        if not isinstance(root, ast.Name) or root.id in bound or root.id in self.imported:
            return False
        if root.id not in self.locals:
            return self._global_object(node, root, lazy=lazy)
        owner = self.site.value(root)
        if owner.kind in (Kind.TENSOR, Kind.CONTAINER) and root.id != "self":
            return False
        if isinstance(node, ast.Call):
            return self._object_call(node, owner, lazy=lazy)
        value = self.site.value(node)
        if id(node) in self.called:
            self._called(node)
            return True
        if value.kind is Kind.METHOD and value.ref is not None and value.ref.receiver.kind is Kind.TENSOR:
            return False  # descend to the attribute that holds the tensor
        if lazy and (not self._always_there(node) or self._is_property(node)):
            self.refuse("may-raise", f"`{self.site.source(node)}` is read only if the tests before it hold")
            return True
        if value.kind is Kind.LOGGER:
            self.refuse(
                "unsupported",
                f"`{self.site.source(node)}` is an object that cannot be handed to an operator of the graph",
            )
            return True
        self._cut(node, node.attr)
        return True

    def _global_object(self, node: ast.Attribute | ast.Call, root: ast.Name, *, lazy: bool) -> bool:
        """An attribute of a module-level object or class: its value at the call counts if the function writes."""
        value = self.site.value(root)
        if isinstance(node, ast.Call) or value.kind not in (Kind.INSTANCE, Kind.CLASS, Kind.MODULE):
            return False
        if self.site.facts.writes is None and self.site.event.written is None:
            return False
        if lazy or self.site.value(node).kind is Kind.METHOD:
            self.refuse("state-write", f"`{self.site.source(node)}` may change before the graph runs")
        else:
            self._cut(node, node.attr)
        return True

    def _is_property(self, node: ast.Attribute) -> bool:
        owner = self.site.value(node.value)
        method = self.site.engine.method(owner.ref, node.attr) if isinstance(owner.ref, ClassInfo) else None
        return method is not None

    def _always_there(self, node: ast.Attribute) -> bool:
        """Whether reading the attribute raises nothing: one of ``self``, or of an object that is not None."""
        if isinstance(node.value, ast.Name):
            return node.value.id == "self" or self.site.value(node.value).null is Null.NEVER
        owner = self.site.value(node.value)
        known = owner.kind in (Kind.MODULE, Kind.INSTANCE) and owner.null is Null.NEVER
        return known and isinstance(node.value, ast.Attribute) and self._always_there(node.value)

    def _object_call(self, node: ast.Call, owner: Value, *, lazy: bool) -> bool:
        func = node.func
        if isinstance(func, ast.Attribute):
            receiver = self.site.value(func.value)
            if receiver.kind is Kind.TENSOR:
                return False  # a tensor's own method: descend to the attribute that holds the tensor
            if receiver.kind is Kind.LOGGER:
                self._called(func)
                for part in (*node.args, *node.keywords):
                    self.visit(part, frozenset(), lazy=lazy)
                return True
        del owner
        if id(node) in self.effects and isinstance(func, ast.Attribute):
            self._called(func)
            return True
        if lazy:
            self.refuse("side-effect", f"`{self.site.source(node)}` is called only if the check fails")
            return True
        self._cut(node, names.from_expression(node))
        self.ordered = True
        return True

    def _called(self, func: ast.Attribute) -> None:
        """What prints or logs must be known by name in the helper: no graph carries a function or a logger."""
        if self.site.value(func.value).kind is not Kind.LOGGER:
            self.refuse("unsupported", f"`{self.site.source(func)}` is an object that the helper cannot name")
            return
        logger = self._logger(func.value)
        if logger is None:
            self.refuse("unsupported", f"the logger `{self.site.source(func.value)}` is not known by name here")
        else:
            self.cuts.append((func.value, logger))

    def _logger(self, node: ast.expr) -> str | None:
        """``self.log`` made by ``logging.getLogger(<constant or __name__>)``: that call gives the same object.

        So does the name of a logger of the file that it was set to.
        """
        cls = self.site.function.receiver or self.site.function.cls
        if cls is None or not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return None
        owners = [item for item in self.site.engine.mro(cls) if isinstance(item, ClassInfo)]
        found = [(owner, value) for owner in owners for value in _set_to(owner, node.attr)]
        if len(found) != 1 or found[0][0].module.path != self.site.module.path:
            return None
        owner, made = found[0]
        if isinstance(made, ast.Name):
            return made.id if self._is_file_logger(made.id) else None
        if not isinstance(made, ast.Call) or len(made.args) > 1 or made.keywords:
            return None
        if (owner.module.dotted(made.func) or "") != "logging.getLogger":
            return None
        if made.args and not isinstance(made.args[0], ast.Constant):
            if not (isinstance(made.args[0], ast.Name) and made.args[0].id == "__name__"):
                return None
        return owner.chunk.source_of(made)

    def _is_file_logger(self, name: str) -> bool:
        """Whether a name stands for one logger of the file from the beginning on."""
        module = self.site.module
        bindings = module.bindings.get(name, [])
        if len(bindings) != 1 or bindings[0].kind != "value" or name in module.rebound or name in self.locals:
            return False
        return self.site.engine.global_value(module, name).kind is Kind.LOGGER

    # -- tensor work that must keep its place ------------------------------------------------------

    def hoist_arguments(self, call_node: ast.Call) -> None:
        """Whole tensors that are printed keep their gradient history only if they are computed outside."""
        for argument in call_node.args:
            self._hoist(argument)
        for argument in call_node.args:
            if isinstance(argument, ast.JoinedStr):
                for part in argument.values:
                    if isinstance(part, ast.FormattedValue) and part.format_spec is None:
                        self._hoist(part.value)

    def _hoist(self, node: ast.expr) -> None:
        if isinstance(node, (ast.Name, ast.Constant, ast.JoinedStr, ast.Starred)):
            return
        if self.site.value(node).kind is Kind.TENSOR and not self.site.value(node).mixed and self._pure(node):
            self._cut(node, names.from_expression(node))

    def _pure(self, node: ast.expr) -> bool:
        """Traced operators only: nothing random, no reads, no dynamic shapes."""
        for item in ast.walk(node):
            if isinstance(item, ast.Call):
                callee = self.site.value(item.func)
                fact = None
                if callee.kind is Kind.NAMESPACE and isinstance(callee.ref, str):
                    fact = function_fact(callee.ref)
                elif isinstance(item.func, ast.Attribute) and self.site.value(item.func.value).kind is Kind.TENSOR:
                    fact = method_fact(item.func.attr)
                if fact is None or fact.random or fact.host_read or fact.dynamic or fact.mutates:
                    return False
            elif isinstance(item, (ast.Subscript,)):
                index = self.site.value(item.slice)
                if index.kind is Kind.TENSOR:
                    return False
        return True


def _set_to(cls: ClassInfo, attribute: str) -> Iterator[ast.expr]:
    """What a class sets an attribute of its objects to, in its methods and in its body."""
    for method in cls.methods.values():
        for item in ast.walk(method.node):
            targets = item.targets if isinstance(item, ast.Assign) else []
            targets = [item.target] if isinstance(item, ast.AnnAssign) else targets
            if isinstance(item, (ast.Assign, ast.AnnAssign)) and item.value is not None:
                yield from (item.value for t in targets if isinstance(t, ast.Attribute) and t.attr == attribute)
    if attribute in cls.attributes:
        yield cls.attributes[attribute]


def lower(
    site: Site, stmt: ast.stmt, kind: str, prefix: str, message: list[ast.expr], *, hoist: ast.Call | None
) -> Lowered | Refusal:
    """The helper and the call for one statement, or why it cannot move.

    ``prefix`` and ``message`` make the helper's name; ``hoist`` is the call whose tensor arguments are
    computed where the statement stood.
    """
    lowering = _Lowering(site, stmt, kind)
    if hoist is not None:
        lowering.hoist_arguments(hoist)
    done = {id(node) for node, _ in lowering.cuts}
    _visit_rest(lowering, stmt, done)
    if lowering.problem is not None:
        return lowering.problem
    text = site.module.parsed.text
    taken = names.identifiers(text) | site.reserved
    slug = names.from_message(names.constant_text(message))
    if not slug or not names.valid("_" + slug):
        slug = names.from_expression(message[0] if message else ast.Constant(""))
        slug = slug if slug != "condition" else site.function.name.strip("_")
    name = names.unique(f"_{prefix}_{slug}", taken)
    unit = indent_unit(text)
    source = replaced(site, stmt, lowering.cuts)
    indent = _indent_of(site, stmt)
    body = reindent(source, indent, unit)
    parameters = lowering.in_order()
    signature = ", ".join(p.name for p in parameters)
    imports = [unit + line for line in lowering.imports]
    decorator = runtime_name(site.module, "graph_effect")
    lines = [f"@{decorator}", f"def {name}({signature}):", *imports, *body]
    room = line_width(text) - len(indent.expandtabs(4))
    arguments = [p.argument for p in parameters]
    return Lowered(Helper(name, "\n".join(lines)), call("", name, arguments, room=room, indent=unit))


def _evaluated(stmt: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement, outer ones first, otherwise in the order in which they are computed."""
    todo: list[ast.AST] = [stmt]
    while todo:
        node = todo.pop()
        yield node
        todo += list(ast.iter_child_nodes(node))[::-1]


def _visit_rest(lowering: _Lowering, stmt: ast.stmt, done: set[int]) -> None:
    """Visit everything that was not cut out already."""
    bound = frozenset(scope.writes(stmt)) if isinstance(stmt, ast.If) else frozenset[str]()
    todo: list[tuple[ast.AST, bool]] = [(stmt, False)]
    while todo:
        node, lazy = todo.pop(0)
        if id(node) in done:
            continue
        if any(id(child) in done for child in ast.walk(node) if child is not node):
            todo[:0] = [(child, lazy) for child in ast.iter_child_nodes(node)]
            continue
        if isinstance(node, ast.If):
            todo[:0] = [(node.test, lazy), *((s, True) for s in node.body), *((s, True) for s in node.orelse)]
            continue
        if isinstance(node, ast.Assert):
            todo[:0] = [(node.test, lazy), *([(node.msg, True)] if node.msg is not None else [])]
            continue
        lowering.visit(node, bound, lazy=lazy or isinstance(node, ast.Raise))


def _indent_of(site: Site, stmt: ast.stmt) -> str:
    line = site.chunk.raw_text(stmt.lineno)
    return line[: len(line) - len(line.lstrip())]


def _conditional_parts(node: ast.AST) -> list[ast.AST]:
    """Parts of an expression that are computed only if others allow it."""
    if isinstance(node, ast.BoolOp):
        return list(node.values[1:])
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    return []


def _root(node: ast.expr) -> ast.expr:
    while True:
        if isinstance(node, ast.Attribute):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return node


def is_closure(value: Value) -> bool:
    return value.kind is Kind.FUNCTION and isinstance(value.ref, Closure)
