"""[Symbol]: integers of a tensor become symbols of the graph, where nothing has to know them while tracing.

``x.tolist()`` becomes ``graph_list(x)``, ``x.item()`` and tensors as sizes ``graph_int(x)``, and ``repeat_interleave``
gets ``output_size=graph_int(repeats.sum())``: what the setting ``capture_scalar_outputs`` does for a whole process, for
one place.  Measured with torch 2.13 in eager, aot_eager and inductor: sizes, ``arange``, ``reshape``, ``split``, loops
over such lists and exact arithmetic compile; a branch on the number splits the graph as before; a slice, or an index,
with it raises in inductor where there are gradients.  So these are refused, and nothing of it is safe: it is
offered only to those who ask for it (``Settings.symbols``).
"""

from __future__ import annotations

import ast

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow import tensors
from graphmend_lsp.flow.values import UNKNOWN, Kind
from graphmend_lsp.mend.base import Draft, ExpressionReplacement, Site
from graphmend_lsp.mend.followed import Numbers, splits_rows
from graphmend_lsp.mend.layout import flat
from graphmend_lsp.mend.lengths import known_length
from graphmend_lsp.mend.sources import one_line, operand
from graphmend_lsp.mend.spelling import runtime_name
from graphmend_lsp.model.walk import own_nodes

ORDER = 50
KIND = "symbol"
RELEASE = (2, 13)
_READS = frozenset({"item", "int", "tolist"})
_INTEGERS = frozenset({"int64", "int32", "int16", "int8", "uint8"})
_CHANGES = (
    "the numbers are symbols while torch.compile traces: what has to know one of them then splits the graph, or"
    " compiling fails; inductor (2.13) computes `reshape(3, -1)` of `(3 * n, 4)` wrongly with a symbol"
)
ASK = "it could stay in the graph as a symbol, which nothing proves harmless: see the setting `symbols`"
_ONE = "; repeats of one number for several elements raise"


def propose(site: Site) -> list[Offer | Refusal]:
    made = _made(site)
    if made is None or (isinstance(made, Refusal) and not site.symbols):
        return []
    if isinstance(made, Refusal):
        return [made]
    if not site.symbols:
        return [Refusal(KIND, "host-value", ASK)]
    title = f"Keep it in the graph as a symbol: `{made[0].text}`"
    changes = _CHANGES + (_ONE if site.code == "GM501" else "")
    return [Offer(KIND, title, "unsafe", changes, ("host-value",)), Refusal(KIND, "host-value", changes)]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    made = _made(site)
    if made is None or isinstance(made, Refusal):
        return made or Refusal(offer.kind, "unsupported", "there is no number")
    names = ["graph_int", "graph_list"]
    texts = " ".join(each.text for each in made)
    needed = tuple(name for name in names if f"{runtime_name(site.module, name)}(" in texts)
    return Draft(tuple(made), runtime=needed)


def _made(site: Site) -> list[ExpressionReplacement] | Refusal | None:
    """What is written in place of which expressions, if nothing that must know a number gets one."""
    if site.engine.release < RELEASE or isinstance(site.function.node, ast.Lambda):
        return None
    if site.event.context.data_branches:
        return None  # the branch around it splits the graph
    if site.code == "GM501":
        sized = _sized(site)
        return sized if sized is None else _split(site) or sized
    reads = _reads(site)
    if not reads:
        return None
    integers = True
    for node, _ in reads:
        inner = [facts.values.get(id(_read_of(node)), UNKNOWN) for facts in (site.facts, *site.others)]
        if any(tensors.is_floating(value.dtype) for value in inner) or flat(site.source(node)) is None:
            return None  # no graph holds a float as a symbol; or there is a comment inside
        integers = integers and all(value.dtype in _INTEGERS for value in inner)
    uses = Numbers(site, [node for node, _ in reads])
    fault = uses.fault()
    if fault is not None:
        text = f"`{one_line(site.source(fault))}` in line {fault.lineno} may have to know the number"
        return Refusal(KIND, "host-value", text)
    if site.code == "GM401" and site.event.name != "tolist" and not (integers or uses.sizes):
        return None  # as likely a float
    return _split(site) or [ExpressionReplacement(node, text) for node, text in reads]


def _split(site: Site) -> Refusal | None:
    """Why not, if inductor may compute something else: what it splits may have a symbol in its size."""
    calls = [node for node in own_nodes(site.function.node) if isinstance(node, ast.Call)]
    split = next((call for call in calls if splits_rows(call)), None)
    if split is None:
        return None
    text = (
        f"`{one_line(site.source(split))}` in line {split.lineno}: with a symbol in its size inductor (2.13) computes"
    )
    return Refusal(KIND, "shape", f"{text} something else")


def _reads(site: Site) -> list[tuple[ast.expr, str]]:
    """The expressions that read numbers, with what is written instead."""
    event, node = site.event, site.event.node
    if site.code == "GM402":
        if not isinstance(node, ast.expr) or not event.name.startswith(("torch.", "Tensor.")):
            return []
        given = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
        sizes = [each for each in given if site.value(each).kind is Kind.TENSOR and not site.value(each).array]
        return [(each, f"{runtime_name(site.module, 'graph_int')}({one_line(site.source(each))})") for each in sizes]
    if site.code == "GM401" and event.name in _READS and isinstance(node, ast.Call):
        text = _read(site, node)
        return [(node, text)] if text is not None else []
    if site.code == "GM102" and isinstance(node, ast.For):
        found = [(each, _read(site, each)) for each in ast.walk(node.iter) if isinstance(each, ast.Call)]
        reads: list[tuple[ast.expr, str]] = [(each, text) for each, text in found if text is not None]
        tests = site.event.test.data if site.event.test is not None else ()
        return reads if {id(d.node) for d in tests} <= {id(each) for each, _ in reads} else []
    return []


def _read(site: Site, node: ast.Call) -> str | None:
    """What stands for one call that reads numbers."""
    inner = _read_of(node)
    if inner is None or site.value(inner).kind is not Kind.TENSOR or site.value(inner).array:
        return None
    text = one_line(site.source(inner))
    if isinstance(node.func, ast.Attribute) and node.func.attr == "tolist":
        return f"{runtime_name(site.module, 'graph_list')}({text})"
    number = f"{runtime_name(site.module, 'graph_int')}({text})"
    return number if isinstance(node.func, ast.Attribute) else f"int({number})"


def _read_of(node: ast.expr) -> ast.expr | None:
    """The tensor that is read."""
    if not isinstance(node, ast.Call):
        return node
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("item", "tolist"):
        return None if node.args or node.keywords else node.func.value
    if isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1 and not node.keywords:
        return node.args[0]
    return None


def _sized(site: Site) -> list[ExpressionReplacement] | None:
    """``repeat_interleave`` with the sum of its repeats as a symbol."""
    call = site.event.node
    if not isinstance(call, ast.Call) or site.event.name.rpartition(".")[2] != "repeat_interleave":
        return None
    words = {word.arg: word.value for word in call.keywords}
    if any(isinstance(each, ast.Starred) for each in call.args) or None in words or "output_size" in words:
        return None
    if known_length(site) is not None or flat(site.source(call)) is None:
        return None
    method = not site.event.name.startswith("torch.") or not isinstance(call.func, ast.Attribute)
    at = 0 if method or (len(call.args) == 1 and "repeats" not in words) else 1
    repeats = call.args[at] if len(call.args) > at else words.get("repeats")
    if repeats is None or not isinstance(repeats, (ast.Name, ast.Attribute, ast.Subscript)):
        return None
    if site.value(repeats).kind is not Kind.TENSOR:
        return None
    text = operand(repeats, one_line(site.source(repeats)))
    given = [one_line(site.source(each)) for each in call.args]
    given += [f"{word.arg}={one_line(site.source(word.value))}" for word in call.keywords]
    given.append(f"output_size={runtime_name(site.module, 'graph_int')}({text}.sum())")
    return [ExpressionReplacement(call, f"{one_line(site.source(call.func))}({', '.join(given)})")]
