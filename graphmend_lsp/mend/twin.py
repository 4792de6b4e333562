"""[Twin]: a call of the host that is not traced becomes one that is, and does the same (dynamo-facts, section E).

``np.prod(x.shape)``, which TorchDynamo traces as a tensor that then is read, becomes ``x.shape.numel()``;
``random.random()`` becomes ``random.uniform(0.0, 1.0)``, which is ``0.0 + 1.0 * random()``: the same draw and the same
number; ``copy.copy(items)`` of a list or dict becomes ``list(items)`` or ``dict(items)``; ``copy.deepcopy(t)`` of a
tensor ``t.detach().clone()``.
"""

from __future__ import annotations

import ast

from graphmend_lsp.finding import Offer, Reason, Refusal
from graphmend_lsp.flow.events import Facts
from graphmend_lsp.flow.values import UNKNOWN, Kind
from graphmend_lsp.mend.base import Draft, ExpressionReplacement, Site
from graphmend_lsp.mend.sources import one_line, operand
from graphmend_lsp.mend.uses import only_beside_tensors
from graphmend_lsp.model.walk import walk

ORDER = 5
KIND = "twin"


def propose(site: Site) -> list[Offer | Refusal]:
    made = _twin(site)
    if made is None:
        return []
    if isinstance(made, Refusal):
        return [made]
    _, text, changes = made
    title = f"Replace with `{text}`, which is traced"
    if not changes:
        return [Offer(KIND, title, "safe")]
    reason: Reason = "gradient" if site.event.name == "Tensor.__deepcopy__" else "container-mutation"
    return [Offer(KIND, title, "unsafe", changes, (reason,))]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    made = _twin(site)
    if made is None or isinstance(made, Refusal):
        return made or Refusal(offer.kind, "unsupported", "there is no such call")
    node, text, _ = made
    return Draft((ExpressionReplacement(node, text),))


def _twin(site: Site) -> tuple[ast.expr, str, str] | Refusal | None:
    """What is replaced, by what, and what that changes."""
    node = site.event.node
    if not isinstance(node, ast.Call):
        return None
    if site.code == "GM401":
        return _size(site, node)
    if site.code != "GM601":
        return None
    if site.event.name == "random.random":
        return _draw(site, node)
    if site.event.name == "copy.copy":
        return _copy(site, node)
    if site.event.name == "Tensor.__deepcopy__":
        return _deep(site, node)
    return None


def _size(site: Site, node: ast.Call) -> tuple[ast.expr, str, str] | Refusal | None:
    """``int(np.prod(x.shape))``; the shape is a ``torch.Size``, which knows how many elements it stands for."""
    if site.event.name != "int" or len(node.args) != 1 or node.keywords:
        return None
    inner = node.args[0]
    if not isinstance(inner, ast.Call) or site.module.dotted(inner.func) not in ("numpy.prod", "numpy.product"):
        return None
    if len(inner.args) != 1 or inner.keywords:
        return Refusal(KIND, "unsupported", "`np.prod` with more than a shape has no twin")
    shape = inner.args[0]
    if not all(_of_tensor(shape, facts) for facts in (site.facts, *site.others)):
        return Refusal(KIND, "unsupported", f"`{site.source(shape)}` is not known to be the shape of a tensor")
    return node, f"{site.source(shape)}.numel()", ""


def _of_tensor(node: ast.expr, facts: Facts) -> bool:
    """Whether an expression is ``x.shape``, ``x.size()`` or a slice of one, of a tensor: a ``torch.Size``."""
    while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        node = node.value
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        node = node.func
    if not isinstance(node, ast.Attribute) or node.attr not in ("shape", "size"):
        return False
    value = facts.values.get(id(node.value), UNKNOWN)
    return value.kind is Kind.TENSOR and not value.array and not value.mixed


def _draw(site: Site, node: ast.Call) -> tuple[ast.expr, str, str] | Refusal:
    if not isinstance(node.func, ast.Attribute) or node.args or node.keywords:
        return Refusal(KIND, "unsupported", "`random.uniform` has no name here")
    if not only_beside_tensors(site, node):
        return Refusal(KIND, "host-value", "the number is used for more than arithmetic with tensors")
    return node, f"{site.source(node.func.value)}.uniform(0.0, 1.0)", ""


def _copy(site: Site, node: ast.Call) -> tuple[ast.expr, str, str] | Refusal:
    if len(node.args) != 1 or node.keywords:
        return Refusal(KIND, "unsupported", "what is copied is not said plainly")
    value = site.value(node.args[0])
    name = value.dtype
    if (
        value.kind is not Kind.CONTAINER
        or name not in ("list", "dict")
        or any(facts.values.get(id(node.args[0]), value).dtype != name for facts in site.others)
    ):
        return Refusal(KIND, "unsupported", f"`{site.source(node.args[0])}` is not known to be a list or a dict")
    if _hidden(site, name):
        return Refusal(KIND, "unbound-name", f"`{name}` is another thing here")
    exact = value.elements is not None or value.keys is not None
    changes = "" if exact else f"of a subclass of {name} it makes a plain {name}"
    return node, f"{name}({site.source(node.args[0])})", changes


def _hidden(site: Site, name: str) -> bool:
    """Whether the name of a type of Python means something else in the function."""
    return site.module.find(name) is not None or any(
        isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store)
        for each in walk(site.function.node)
    )


def _deep(site: Site, node: ast.Call) -> tuple[ast.expr, str, str] | Refusal:
    """A tensor's storage is copied in either way; what it was computed from is not."""
    if len(node.args) != 1 or node.keywords:
        return Refusal(KIND, "unsupported", "what is copied is not said plainly")
    argument = node.args[0]
    values = [facts.values.get(id(argument), UNKNOWN) for facts in (site.facts, *site.others)]
    if not all(value.kind is Kind.TENSOR and not value.mixed and not value.array for value in values):
        return Refusal(KIND, "unsupported", f"`{site.source(argument)}` is not known to be a tensor")
    text = operand(argument, one_line(site.source(argument)))
    changes = "the copy never requires a gradient, and that of a computed tensor that does is no longer refused"
    return node, f"{text}.detach().clone()", changes
