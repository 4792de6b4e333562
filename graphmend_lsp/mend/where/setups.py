"""What a side prepares before its ending: attributes made on first use, attributes moved to a device.

Both can run in front of the branch, but not unnoticed: an attribute is there earlier, its initialiser runs in a call
that would not have run it.  So an offer that needs it is unsafe and says so.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from graphmend_lsp.flow.values import Kind, Value
from graphmend_lsp.mend import scope
from graphmend_lsp.mend.layout import reindent
from graphmend_lsp.mend.legality import Issue
from graphmend_lsp.mend.where.arms import Arm, Arms
from graphmend_lsp.model.module import ClassInfo


class Setups(Arms):
    """Statements of a side that are moved, as they are, in front of the branch."""

    hoisted: dict[str, ast.stmt]
    """Attributes that are prepared in front of the branch, by their source."""
    prepares: bool
    """Whether setups may be moved: both sides end alike, so that nothing but them is left of the branch."""

    def prepare(self, node: ast.If, before: Mapping[str, Value]) -> None:
        super().prepare(node, before)
        self.hoisted = {}
        self.prepares = False

    def statement(self, stmt: ast.stmt, arm: Arm, prefix: str) -> None:
        if self.prepares and isinstance(stmt, ast.If):
            made = lazily_made(stmt)
            if made is not None:
                self._lazy(stmt, made, arm, prefix)
                return
        elif self.prepares and isinstance(stmt, ast.Assign) and is_move(stmt):
            self._move(stmt, arm, prefix)
            return
        super().statement(stmt, arm, prefix)

    def _lazy(self, stmt: ast.If, made: ast.Attribute, arm: Arm, prefix: str) -> None:
        """``if not hasattr(o, "k"): o.k = f(...)``."""
        assign = stmt.body[0]
        assert isinstance(assign, ast.Assign)
        text, value = self.short(made), assign.value
        names = {n.id for n in ast.walk(assign.targets[0]) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for name in sorted(names):
            if name in self.before or scope.read_after(self.function, stmt, name):
                self.plan.refuse("state-write", f"`{self.short(assign)}` changes `{name}`, too", assign)
        if self._elsewhere(made.attr, stmt):
            message = f'"{made.attr}" is asked for elsewhere: whether it is there tells which branch was taken'
            self.plan.refuse("state-write", message, stmt)
        written = self._written(stmt)
        read = {n.attr for n in ast.walk(value) if isinstance(n, ast.Attribute)}
        for attribute in sorted(read & written):
            message = f"`{text}` is made from `{attribute}`, which the branch changes"
            self.plan.refuse("state-write", message, value)
        for node in ast.walk(value):
            if isinstance(node, ast.expr) and self.site.value(node).kind in (Kind.TENSOR, Kind.SCALAR):
                if isinstance(node, (ast.Name, ast.Attribute)):
                    message = f"`{text}` would be made from `{self.short(node)}` of the first call, whatever its data"
                    self.plan.refuse("state-write", message, node)
        shown = self.short(value)
        given = sorted(n for n in scope.reads(value) & scope.local_names(self.function) if not _is_self(n))
        of = f", with that call's {_listed(given)}" if given else ""
        message = f"`{text}` is made in the first call whichever side it takes{of}"
        self.plan.issues.append(Issue("state-write", message, stmt, fatal=False))
        if not self._is_pure(value):
            message = f"what `{shown}` raises, prints or changes comes in that call"
            self.plan.issues.append(Issue("side-effect", message, value, fatal=False))
        self._hoist(stmt, made, arm, prefix)

    def _move(self, stmt: ast.Assign, arm: Arm, prefix: str) -> None:
        """``o.k = o.k.to(device)``."""
        target = stmt.targets[0]
        assert isinstance(target, ast.Attribute)
        text = self.short(target)
        call = stmt.value
        assert isinstance(call, ast.Call)
        message = f"`{text}` is moved (`.{self.short(call).removeprefix(text + '.')}`) in every call"
        if not self.always_there(target):
            message += " and has to exist in every call"
        self.plan.issues.append(Issue("state-write", message, stmt, fatal=False))
        self._hoist(stmt, target, arm, prefix)

    def _hoist(self, stmt: ast.stmt, target: ast.Attribute, arm: Arm, prefix: str) -> None:
        text = self.short(target)
        if self.site.event.context.tries:
            self.plan.refuse("caught-exception", f"what preparing `{text}` raises would be caught by the `try`", stmt)
        if scope.reads(stmt) & arm.versions.keys():
            self.plan.refuse("unsupported", f"`{text}` is prepared from a value of the branch", stmt)
        own, opposite = self.node.body, self.node.orelse
        if not any(stmt is s for s in own):
            own, opposite = opposite, own
        if not any(stmt is s for s in own):
            self.plan.refuse("unsupported", f"`{text}` is prepared inside a branch of the branch", stmt)
        if any(_mentions(s, target.attr) for s in opposite):
            message = f"the other side uses `{target.attr}` as it is without what this side prepares"
            self.plan.refuse("state-write", message, stmt)
        for name in sorted(arm.pending):
            self._settle(name, arm, prefix)
        self.lines += [*self.comments_of(stmt), *reindent(self.site.source(stmt), self.indent_of(stmt), "")]
        self.hoisted[text] = stmt

    def _is_pure(self, value: ast.expr) -> bool:
        check = self.legality()
        check.check(value)
        return not check.issues

    def _written(self, but: ast.stmt) -> set[str]:
        """Attributes that the branch writes, names given to ``register_buffer`` included."""
        found: set[str] = set()
        for stmt in (*self.node.body, *self.node.orelse):
            if stmt is but:
                continue
            for node in ast.walk(stmt):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    found.add(node.attr)
                elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                    first = node.args[0]
                    if isinstance(first, ast.Constant) and isinstance(first.value, str):
                        found.add(first.value)
        return found

    def _elsewhere(self, name: str, stmt: ast.If) -> bool:
        """Whether code beside the initialiser asks for an attribute by its name, or deletes it."""
        inside = {id(n) for n in ast.walk(stmt)}
        for chunk in self.site.module.parsed.seen:
            for top in chunk.nodes:
                for node in ast.walk(top):
                    if id(node) in inside:
                        continue
                    if isinstance(node, ast.Constant) and node.value == name:
                        return True
                    if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Del):
                        return True
                    if isinstance(node, ast.Compare) and _asks_for(node, name):
                        return True
        return False

    def comments_of(self, stmt: ast.stmt) -> list[str]:
        """Comment lines directly above a statement of the branch."""
        found: list[str] = []
        for line in range(stmt.lineno - 1, self.node.lineno, -1):
            text = self.site.chunk.raw_text(line).strip()
            if not text.startswith("#"):
                break
            found.insert(0, text)
        return found

    def is_method(self, node: ast.Attribute) -> bool:
        """Whether reading the attribute runs code: a property."""
        ref = self.site.value(node.value).ref
        return isinstance(ref, ClassInfo) and self.site.engine.method(ref, node.attr) is not None

    def always_there(self, node: ast.Attribute) -> bool:
        """Whether a constructor sets the attribute."""
        owner = self.site.value(node.value)
        if owner.kind not in (Kind.MODULE, Kind.INSTANCE) or not isinstance(owner.ref, ClassInfo):
            return False
        made = self.site.engine.method(owner.ref, "__init__")
        return node.attr in owner.ref.attributes or (made is not None and node.attr in made.sets_on_self)

    def reads_state(self, test: ast.expr) -> bool:
        """Whether a test may turn out differently once the setups have run."""
        for node in ast.walk(test):
            if isinstance(node, (ast.Attribute, ast.Call, ast.Subscript, ast.NamedExpr)):
                return True
            if isinstance(node, ast.Name):
                value = self.site.value(node)
                if value.kind is Kind.TENSOR and any(root[0] not in ("op", "join") for root in value.roots):
                    return True
        return False


def lazily_made(stmt: ast.If) -> ast.Attribute | None:
    """The attribute that an ``if`` makes where it is not there yet, and does nothing else."""
    if stmt.orelse or len(stmt.body) != 1 or not isinstance(stmt.body[0], ast.Assign):
        return None
    assign = stmt.body[0]
    if len(assign.targets) != 1 or any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)) for n in ast.walk(assign)):
        return None
    target = assign.targets[0]
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    made = [part for part in parts if isinstance(part, ast.Attribute)]
    if len(made) != 1 or not all(isinstance(part, (ast.Name, ast.Attribute)) for part in parts):
        return None
    return made[0] if is_chain(made[0]) and _is_missing(stmt.test, made[0]) else None


def _is_missing(test: ast.expr, made: ast.Attribute) -> bool:
    """``not hasattr(o, "k")``, ``o.k is None``, ``getattr(o, "k", None) is None``."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _asks(test.operand, "hasattr", made, 2)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Is):
        return False
    right = test.comparators[0]
    if not isinstance(right, ast.Constant) or right.value is not None:
        return False
    return _text(test.left) == _text(made) or _asks(test.left, "getattr", made, 3)


def _asks(node: ast.expr, function: str, made: ast.Attribute, count: int) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != function:
        return False
    if len(node.args) != count or node.keywords:
        return False
    name = node.args[1]
    default = node.args[2] if count == 3 else None
    if default is not None and not (isinstance(default, ast.Constant) and default.value is None):
        return False
    return isinstance(name, ast.Constant) and name.value == made.attr and _text(node.args[0]) == _text(made.value)


def _asks_for(node: ast.Compare, name: str) -> bool:
    """``o.k is None``."""
    left = node.left
    is_none = isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None
    return is_none and isinstance(left, ast.Attribute) and left.attr == name


_DEVICES = frozenset({"torch.device", "str"})


def is_move(stmt: ast.Assign) -> bool:
    """``o.k = o.k.to(device)``."""
    value = stmt.value
    if len(stmt.targets) != 1 or not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    target = stmt.targets[0]
    if not isinstance(target, ast.Attribute) or not is_chain(target) or value.func.attr != "to":
        return False
    given = [*value.args, *(k.value for k in value.keywords)]
    if _text(value.func.value) != _text(target) or len(given) != 1 or any(k.arg != "device" for k in value.keywords):
        return False
    return _is_device(given[0])


def _is_device(node: ast.expr) -> bool:
    """Whether an expression is a device by what it is called."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return is_chain(node) and name.endswith("device")


def is_chain(node: ast.expr) -> bool:
    """``a.b.c``."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def dereferenced(stmt: ast.stmt) -> set[str]:
    """Names whose attributes a statement uses whatever else it does: of the place it stores to, of what it calls."""
    if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
        places: list[ast.expr] = [stmt.value.func]
    elif isinstance(stmt, ast.Assign):
        places = list(stmt.targets)
        if isinstance(stmt.value, ast.Call):
            places.append(stmt.value.func)
    else:
        places = [stmt.target] if isinstance(stmt, ast.AugAssign) else []
    found: set[str] = set()
    for place in places:
        node = place
        while isinstance(node, ast.Attribute):
            node = node.value
            if isinstance(node, ast.Name):
                found.add(node.id)
    return found


def _mentions(stmt: ast.stmt, name: str) -> bool:
    for node in ast.walk(stmt):
        if isinstance(node, ast.Attribute) and node.attr == name:
            return True
        if isinstance(node, ast.Constant) and node.value == name:
            return True
    return False


def _text(node: ast.expr) -> str:
    return ast.unparse(node)


def _is_self(name: str) -> bool:
    return name in ("self", "cls")


def _listed(names: list[str]) -> str:
    shown = [f"`{name}`" for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
