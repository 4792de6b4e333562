"""[Number]: integers that a module keeps as tensors are kept as numbers, too, and computed with as such.

``self.register_buffer("stride", torch.tensor(stride))`` stays; ``self.stride_value = stride`` is added, and methods
that compute sizes from it use that (dynamo-facts, section A: the value of a buffer is data).
"""

from __future__ import annotations

import ast

from graphmend_lsp.finding import Offer, Reason, Refusal
from graphmend_lsp.flow.values import Kind, Value
from graphmend_lsp.mend.base import Draft, Site
from graphmend_lsp.mend.constants.constructor import Constants, constants_of
from graphmend_lsp.mend.constants.methods import Converted, Numbers, Type
from graphmend_lsp.mend.names import used_as_name
from graphmend_lsp.model.module import ClassInfo

ORDER = 4
KIND = "number"
_CODES = frozenset({"GM101", "GM102", "GM401", "GM402"})


def propose(site: Site) -> list[Offer | Refusal]:
    made = _made(site)
    if made is None:
        return []
    if isinstance(made, Refusal):
        return [made]
    found, methods = made
    used = _used(methods)
    first = next(constant for name, constant in found.found.items() if name in used)
    title = f"Compute with Python numbers: `{first.number}` beside the tensor `{first.name}`"
    changes = list(dict.fromkeys(change for method in methods for change in method.changes))
    stored = [constant.name for name, constant in found.found.items() if name in used and constant.persistent]
    if stored:
        changes.insert(0, f"what `load_state_dict` puts into `{stored[0]}` is no longer used")
    changes += [f"`{step.assumed}` is taken to be an int" for step in found.kept(used) if step.assumed][:1]
    if not changes:
        return [Offer(KIND, title, "safe")]
    reasons: tuple[Reason, ...] = ("state-write",) if stored else ("host-value",)
    return [Offer(KIND, title, "unsafe", "; ".join(changes), reasons)]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    made = _made(site)
    if made is None or isinstance(made, Refusal):
        return made or Refusal(offer.kind, "unsupported", "there is no such constant")
    found, methods = made
    own = [method for method in methods if method.method.node is site.function.node]
    others = [method for method in methods if method not in own]
    steps = found.kept(_used(methods))
    elsewhere = ((found.constructor, tuple(step.replacement for step in steps)),)
    elsewhere += tuple((method.method, tuple(method.replacements)) for method in others if method.replacements)
    imports = ("import math",) if any(m.math for m in methods) and "math" not in site.module.bindings else ()
    names = tuple(step.number.rpartition(".")[2] for step in steps)
    return Draft(tuple(own[0].replacements if own else ()), names=names, elsewhere=elsewhere, imports=imports)


def _made(site: Site) -> tuple[Constants, list[Converted]] | Refusal | None:
    cls = site.function.cls
    if site.code not in _CODES or cls is None or site.function.parent is not None:
        return None
    found = constants_of(site, cls)
    if found is None:
        return None
    methods = _converted(site, cls, found)
    if isinstance(methods, Refusal):
        return methods if _comes_from(site, found) else None
    own = [method for method in methods if method.method.node is site.function.node]
    if any(_covers(method, site) for method in own):
        return found, methods
    if not _comes_from(site, found):
        return None
    both = next((method for method in (*own, *methods) if method.both), None)
    if not any(method.changes for method in methods):
        message = (
            "" if both is None else f"`{both.both[0]}` is used as a number and as a tensor in `{both.method.name}`"
        )
        return Refusal(KIND, "host-value", message) if message else None
    return found, methods


def _converted(site: Site, cls: ClassInfo, found: Constants) -> list[Converted] | Refusal:
    """All methods of the class that compute with the constants; what one returns others may use."""
    math = "math" if site.module.dotted(ast.Name("math", ast.Load())) == "math" else ""
    if not math and used_as_name(site.module.parsed.text, "math"):
        return Refusal(KIND, "unsupported", "`math` is another thing here")
    returned: dict[str, Type] = {}
    methods: list[Converted] = []
    for _ in range(4):
        methods = []
        before = dict(returned)
        for name, method in cls.methods.items():
            if name == "__init__" or not any(word in method.chunk.text for word in found.found):
                continue
            facts = site.facts if method.node is site.function.node else site.engine.generic(method)
            if facts is None:
                continue
            made = Numbers(site, method, facts, found.found, returned, "math").convert()
            if made is None:
                message = f"`{name}` uses as a tensor what another method computes from integers"
                return Refusal(KIND, "host-value", message)
            if made.returns is not None:
                returned[name] = made.returns
            if made.replacements or made.returns is not None or made.both:
                methods.append(made)
        if returned == before:
            break
    return methods


def _used(methods: list[Converted]) -> set[str]:
    return {name for method in methods for name in method.used}


def _covers(method: Converted, site: Site) -> bool:
    """Whether all that is at fault is rewritten."""
    node, test = site.event.node, site.event.test
    faults = [datum.node for datum in test.data] if test is not None else [node]
    if isinstance(node, ast.For):
        faults = [node.iter]
    elif isinstance(node, (ast.Tuple, ast.List)):
        faults = [item for item in node.elts if site.value(item).kind is Kind.TENSOR]
    return bool(faults) and all(any(_meet(fault, root) for root in method.rewritten) for fault in faults)


def _meet(one: ast.AST, other: ast.AST) -> bool:
    return any(n is other for n in ast.walk(one)) or any(n is one for n in ast.walk(other))


def _comes_from(site: Site, found: Constants) -> bool:
    """Whether the evidence of the finding begins in the constructor."""
    values: list[Value | None] = [site.event.value]
    if site.event.test is not None:
        values += [datum.value for datum in site.event.test.data]
    for value in values:
        why = value.why if value is not None else None
        while why is not None and why.parent is not None:
            why = why.parent
        if why is not None and why.path == site.module.path and why.place.chunk == found.constructor.chunk.id:
            node = found.constructor.node
            if node.lineno <= why.place.span.line <= (node.end_lineno or node.lineno):
                return True
    return False
