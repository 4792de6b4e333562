"""Statements that both sides end with: each becomes one statement that takes its operand from the side that holds.

``self.k = a`` against ``self.k = b``, ``keep("k", a)`` against ``keep("k", b)``, ``y = f(a)`` against ``y = f(b)``: the
store or call was made once on either path and still is.  So it may write, draw random numbers or cost what it
likes; only the operands that differ are computed on both paths.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from graphmend_lsp.flow.base import visible
from graphmend_lsp.flow.values import UNKNOWN, Kind, Null, Root, Value
from graphmend_lsp.mend import effects, scope
from graphmend_lsp.mend.aliases import alias_issue
from graphmend_lsp.mend.layout import call, reindent
from graphmend_lsp.mend.legality import Issue
from graphmend_lsp.mend.names import called_name
from graphmend_lsp.mend.where.arms import Arm
from graphmend_lsp.mend.where.setups import Setups, dereferenced, is_chain

Pair = tuple[ast.expr, ast.expr]
"""What stands in one place on either side."""


@dataclass
class Ending:
    """The statement on either side, the operands that differ, and names that the parts alike read.

    ``texts`` are the selections that take the operands' places, by ``id`` of the operand in ``new``.
    """

    new: ast.stmt
    old: ast.stmt
    pairs: list[Pair]
    shared: set[str]
    texts: dict[int, tuple[Pair, str, str, bool]] = field(default_factory=dict[int, tuple[Pair, str, str, bool]])

    @property
    def name(self) -> str | None:
        """The local name it assigns."""
        stmt = self.new
        target = stmt.targets[0] if isinstance(stmt, ast.Assign) else getattr(stmt, "target", None)
        return target.id if isinstance(target, ast.Name) else None


class Endings(Setups):
    """Finds the common ending of two sides, proves and writes it."""

    def endings(self) -> list[Ending]:
        """The statements that both sides end with; assignments that a selection alone can express are left out."""
        node = self.node
        found: list[Ending] = []
        for new, old in zip(reversed(node.body), reversed(node.orelse), strict=False):
            made = self._ending(new, old)
            if made is None:
                break
            found.insert(0, made)
        while found and found[0].name is not None and self._is_plain(found[0]):
            del found[0]
        assigned = self._assigned(len(found))
        for ending in found:
            ending.shared &= assigned
        return found

    def _assigned(self, count: int) -> set[str]:
        """Names that the statements before the ending bind."""
        node = self.node
        first = (*node.body[: len(node.body) - count], *node.orelse[: len(node.orelse) - count])
        return {name for stmt in first for name in scope.writes(stmt)}

    def _is_plain(self, ending: Ending) -> bool:
        if isinstance(ending.new, ast.AugAssign):
            return True
        value, other = getattr(ending.new, "value", None), getattr(ending.old, "value", None)
        whole = ending.pairs == [] or (len(ending.pairs) == 1 and ending.pairs[0] == (value, other))
        return whole or not isinstance(value, ast.Call)

    def _ending(self, new: ast.stmt, old: ast.stmt) -> Ending | None:
        pairs: list[Pair] = []
        shared: set[str] = set()
        if isinstance(new, ast.Expr) and isinstance(old, ast.Expr):
            one, two = new.value, old.value
            if not isinstance(one, ast.Call) or not isinstance(two, ast.Call) or self._says(one) or self._says(two):
                return None
            alike = self._arguments(one, two, pairs, shared)
        elif isinstance(new, ast.Assign) and isinstance(old, ast.Assign):
            if len(new.targets) != 1 or not _same(new.targets, old.targets) or not _is_place(new.targets[0]):
                return None
            shared |= scope.reads(new.targets[0])
            self._differences(new.value, old.value, pairs, shared)
            alike = True
        elif isinstance(new, ast.AugAssign) and isinstance(old, ast.AugAssign):
            if not _same([new.target], [old.target]) or type(new.op) is not type(old.op):
                return None
            shared |= scope.reads(new.target)
            self._differences(new.value, old.value, pairs, shared)
            alike = True
        else:
            return None
        return Ending(new, old, pairs, shared) if alike else None

    def _says(self, node: ast.expr) -> bool:
        calls = effects.effect_calls(self.site.facts.events)
        return any(id(n) in calls for n in ast.walk(node))

    def _arguments(self, new: ast.Call, old: ast.Call, pairs: list[Pair], shared: set[str]) -> bool:
        """Whether two calls differ in operands alone; collects those."""
        if not _same([new.func], [old.func]) or len(new.args) != len(old.args):
            return False
        if [k.arg for k in new.keywords] != [k.arg for k in old.keywords]:
            return False
        sides = [*zip(new.args, old.args, strict=True)]
        sides += [(a.value, b.value) for a, b in zip(new.keywords, old.keywords, strict=True)]
        unnamed = [k.value for k in new.keywords if k.arg is None]
        for one, two in sides:
            if (isinstance(one, ast.Starred) or isinstance(two, ast.Starred) or one in unnamed) and not _same(
                [one], [two]
            ):
                return False
        shared |= scope.reads(new.func)
        for one, two in sides:
            self._differences(one, two, pairs, shared)
        return True

    def _differences(self, new: ast.expr, old: ast.expr, pairs: list[Pair], shared: set[str]) -> None:
        """Operands that differ: the whole of them if both can be computed, else what differs inside the same call."""
        if _same([new], [old]):
            shared |= scope.reads(new)
            return
        if (
            isinstance(new, ast.Call)
            and isinstance(old, ast.Call)
            and not (self._is_clean(new) and self._is_clean(old))
        ):
            inner: list[Pair] = []
            read: set[str] = set()
            if self._arguments(new, old, inner, read) and all(map(self._may_be_tensor, inner)):
                pairs += inner
                shared |= read
                return
        pairs.append((new, old))

    def _may_be_tensor(self, pair: Pair) -> bool:
        kinds = {self.site.value(node).kind for node in pair}
        return not kinds & {Kind.PYTHON, Kind.CONTAINER, Kind.SCALAR} and not any(
            isinstance(node, (ast.Constant, ast.List, ast.Tuple)) for node in pair
        )

    def _is_clean(self, node: ast.expr) -> bool:
        check = self.legality()
        check.check(node)
        return not check.issues

    def same_call(self, new: ast.expr, old: ast.expr, stmts: tuple[ast.stmt, ast.stmt]) -> Ending | None:
        """One call with other operands on either side, where not both can be made."""
        if not isinstance(new, ast.Call) or not isinstance(old, ast.Call) or self._says(new) or self._says(old):
            return None
        pairs: list[Pair] = []
        if (self._is_clean(new) and self._is_clean(old)) or not self._arguments(new, old, pairs, set()):
            return None
        return Ending(*stmts, pairs, set()) if pairs else None

    # -- proving -----------------------------------------------------------------------------------

    def prove(self, ending: Ending, then: Arm, other: Arm, *, inline: bool) -> None:
        """Collect the obstacles to selecting what differs, and the texts of both sides."""
        if ending.pairs and _in_place(ending.new):
            self.plan.refuse("state-write", f"`{self.short(ending.new)}` writes in place", ending.new)
            return
        for pair in ending.pairs:
            new, old = pair
            self._operand(new, ending)
            self._operand(old, ending)
            count = len(self.plan.fatal)
            proved = self._metadata(pair, ending)
            if len(self.plan.fatal) == count:
                issue = self._alias(pair, ending)
                if issue is not None:
                    self.plan.issues.append(issue)
                    proved = False  # ``select`` keeps the very object where nothing is compiled
                self._history(pair, ending)
            texts = [self._text(new, then, "new", inline), self._text(old, other, "other", inline)]
            ending.texts[id(new)] = (pair, texts[0], texts[1], proved)
        self._shared_history(ending, then, other)
        if ending.name is not None:
            for arm in (then, other):
                arm.versions.pop(ending.name, None)
                arm.pending.pop(ending.name, None)

    def _text(self, node: ast.expr, arm: Arm, prefix: str, inline: bool) -> str:
        if inline and isinstance(node, ast.Name) and node.id in arm.pending:
            return arm.versions[node.id]
        return self.read(node, arm, prefix)

    def _operand(self, node: ast.expr, ending: Ending) -> None:
        """``node`` will be computed on both paths."""
        if not is_chain(node) or not isinstance(node, ast.Attribute):
            self.speculate(node)
            return
        text = self.short(node)
        owner = node.value
        plain = isinstance(owner, ast.Name) and owner.id in dereferenced(ending.new)
        if not plain or self.is_method(node):
            self.speculate(node)
        elif text not in self.hoisted and not self.always_there(node):
            message = f"`{text}` is read on every call, also where it may not exist"
            self.plan.issues.append(Issue("may-raise", message, node, fatal=False))

    def _value(self, node: ast.expr) -> Value:
        """An operand's value; attributes of objects that are not known are unknown."""
        value = self.site.value(node)
        if value.kind is Kind.METHOD and isinstance(node, ast.Attribute):
            return UNKNOWN
        return replace(value, null=Null.NEVER) if value.null is Null.MAYBE else value

    def _metadata(self, pair: Pair, ending: Ending) -> bool:
        new, old = (self._value(node) for node in pair)
        if new.kind is Kind.UNKNOWN and old.kind is Kind.UNKNOWN and _registers(ending.new):
            return False  # tensors, or the call raises
        known = self.metadata(new, old, ending.new, self._what(ending))
        return known and all(self.site.value(node).null is Null.NEVER for node in pair)

    def _alias(self, pair: Pair, ending: Ending) -> Issue | None:
        values = [self._value(node) for node in pair]
        what = self._what(ending)
        fresh = [v.kind is Kind.TENSOR and bool(v.roots) and not visible(v.roots) for v in values]
        if ending.name is not None and not self._passes(ending, pair):
            root: Root = ("join", id(self.node), ending.name)
            return alias_issue(self.site, root, values, self.node, what)
        if self._passes(ending, pair) and self._only_computes(ending, pair):
            return None
        if all(fresh):
            return alias_issue(self.site, None, values, self.node, what)
        held = " or ".join(dict.fromkeys(f"`{self.short(n)}`" for n, new in zip(pair, fresh, strict=True) if not new))
        message = f"{what} would be a new tensor in compiled code where it was {held} itself (or a view of it)"
        return Issue("alias", message, self.node, fatal=False)

    def _passes(self, ending: Ending, pair: Pair) -> bool:
        """Whether the operand is handed to a call, not assigned itself."""
        return pair[0] is not getattr(ending.new, "value", None)

    def _only_computes(self, ending: Ending, pair: Pair) -> bool:
        """Whether the calls around an operand are known operators and modules of torch that give something new."""
        for stmt, operand in ((ending.new, pair[0]), (ending.old, pair[1])):
            calls = [n for n in ast.walk(stmt) if isinstance(n, ast.Call) and any(m is operand for m in ast.walk(n))]
            for node in calls:
                if node is operand or any(n is node for n in ast.walk(operand)):
                    continue
                callee = self.site.value(node.func)
                known = callee.kind in (Kind.MODULE, Kind.NAMESPACE) and isinstance(callee.ref, str)
                known = known and str(callee.ref).startswith("torch.") and not called_name(node).endswith("_")
                result = self.site.value(node)
                if not known or result.kind is not Kind.TENSOR or not result.roots or visible(result.roots):
                    return False
                if any(k.arg in ("out", "inplace") for k in node.keywords):
                    return False
        return True

    def _history(self, pair: Pair, ending: Ending) -> None:
        """A store outlives the call: it would hold the gradient history of both sides."""
        if self.no_grad or not self._outlives(ending) or all(map(self._is_state_or_detached, pair)):
            return
        self._keeps_both(ending)

    def _shared_history(self, ending: Ending, then: Arm, other: Arm) -> None:
        """The same for a name that both sides assign and then store."""
        if self.no_grad or not self._outlives(ending):
            return
        for name in ending.shared:
            if name not in then.versions and name not in other.versions:
                continue
            nodes = [arm.pending.get(name) for arm in (then, other)]
            if not all(node is not None and self._is_detached(node) for node in nodes):
                self._keeps_both(ending)

    def _keeps_both(self, ending: Ending) -> None:
        message = f"where gradients are recorded, {self._what(ending)} would keep the history of both sides"
        self.plan.issues.append(Issue("gradient", message, ending.new, fatal=False))

    def _outlives(self, ending: Ending) -> bool:
        """Whether what the statement is given may be kept beyond this call."""
        stmt = ending.new
        if ending.name is not None or isinstance(stmt, ast.Return):
            return False
        place = stmt.value.func if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) else None
        place = stmt.targets[0] if isinstance(stmt, ast.Assign) else place
        owner = self.site.value(place.value) if isinstance(place, (ast.Attribute, ast.Subscript)) else UNKNOWN
        return owner.kind is not Kind.CONTAINER or visible(owner.roots)

    def _is_state_or_detached(self, node: ast.expr) -> bool:
        """State has the history it had before (that it is another tensor now is said apart)."""
        return (is_chain(node) and isinstance(node, ast.Attribute)) or self._is_detached(node)

    def _is_detached(self, node: ast.expr) -> bool:
        """Whether an operand surely has no gradient history."""
        value = self.site.value(node)
        if value.kind is not Kind.TENSOR:
            return value.kind is Kind.PYTHON
        if isinstance(node, ast.Compare) or (isinstance(value.dtype, str) and value.dtype in _NO_GRADIENT):
            return True
        if isinstance(node, ast.BinOp):
            return self._is_detached(node.left) and self._is_detached(node.right)
        if isinstance(node, ast.UnaryOp):
            return self._is_detached(node.operand)
        if not isinstance(node, ast.Call):
            return False
        if called_name(node) == "detach" and not node.args:
            return True
        callee = self.site.value(node.func)
        given = [*node.args, *(k.value for k in node.keywords)]
        if callee.kind is Kind.METHOD and isinstance(node.func, ast.Attribute):
            given.append(node.func.value)
        elif callee.kind is not Kind.NAMESPACE:
            return False
        return not any(k.arg == "requires_grad" for k in node.keywords) and all(map(self._is_detached, given))

    def _what(self, ending: Ending) -> str:
        stmt = ending.new
        if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
            if _registers(stmt) and isinstance(stmt.value.args[0], ast.Constant):
                return f"the buffer `{stmt.value.args[0].value}`"
            return f"what `{self.short(stmt.value.func)}` is given"
        if isinstance(stmt, ast.Return):
            return "what the returned call is given"
        target = stmt.targets[0] if isinstance(stmt, ast.Assign) else getattr(stmt, "target", None)
        shown = f"`{self.short(target)}`" if isinstance(target, ast.expr) else "the result"
        whole = any(new is getattr(stmt, "value", None) for new, _ in ending.pairs)
        return shown if whole or not ending.pairs else f"what {shown} is made from"

    # -- writing -----------------------------------------------------------------------------------

    def ending_lines(self, ending: Ending, text: str, exact: bool, room: int) -> list[str]:
        """The one statement, behind the comments that stood above either of the two."""
        stmt = ending.new
        comments = [*self.comments_of(ending.new), *self.comments_of(ending.old)]
        if not ending.pairs:
            return [*dict.fromkeys(comments), *reindent(self.site.source(stmt), self.indent_of(stmt), "")]
        head, value = "", stmt.value if isinstance(stmt, (ast.Expr, ast.Assign, ast.AugAssign)) else None
        if value is not None and not isinstance(stmt, ast.Expr):
            source = self.site.source(stmt)
            head = source[: len(source) - len(self.site.source(value))]
        if value is None or "\n" in head or not self.site.source(stmt).endswith(self.site.source(value)):
            self.plan.refuse("unsupported", f"`{self.short(stmt)}` is laid out in an unusual way", stmt)
            return []
        function, arguments = self.merged(value, ending, text, exact)
        return [*dict.fromkeys(comments), *call(head, function, arguments, room=room, indent=self.unit)]

    def merged(self, node: ast.expr, ending: Ending, text: str, exact: bool) -> tuple[str, list[str]]:
        """An operand, or a call with the operands inside it selected: function and arguments."""
        known = ending.texts.get(id(node))
        if known is not None:
            _, new, old, proved = known
            return self.selection(text, exact, new, old, proved)
        assert isinstance(node, ast.Call)
        arguments = [self._argument(arg, ending, text, exact) for arg in node.args]
        for keyword in node.keywords:
            value = self._argument(keyword.value, ending, text, exact)
            arguments.append(f"{keyword.arg}={value}" if keyword.arg else f"**{value}")
        return self.flat(node.func), arguments

    def _argument(self, node: ast.expr, ending: Ending, text: str, exact: bool) -> str:
        inside = {id(n) for n in ast.walk(node)}
        if not inside & ending.texts.keys():
            return self.flat(node)
        function, arguments = self.merged(node, ending, text, exact)
        return f"{function}({', '.join(arguments)})"


_NO_GRADIENT = frozenset({"bool", "int8", "int16", "int32", "int64", "uint8"})


def _same(new: list[ast.expr], old: list[ast.expr]) -> bool:
    return [ast.dump(n) for n in new] == [ast.dump(n) for n in old]


def _is_place(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))


def _in_place(stmt: ast.stmt) -> bool:
    """``x.add_(y)``."""
    func = stmt.value.func if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) else None
    return isinstance(func, ast.Attribute) and func.attr.endswith("_") and not func.attr.startswith("_")


def _registers(stmt: ast.stmt) -> bool:
    """``x.register_buffer(name, tensor, ...)``."""
    if not isinstance(stmt, ast.Expr) or not isinstance(stmt.value, ast.Call):
        return False
    return called_name(stmt.value) == "register_buffer" and bool(stmt.value.args)
