"""[Symbol] for masks: how many elements a mask chooses becomes a symbol of the graph.

``x[mask]`` and ``x[mask] += y`` get ``graph_mask(x, mask)`` as their index, ``mask.nonzero()`` and
``torch.where(mask)`` become ``graph_nonzero(mask)``: what the setting ``capture_dynamic_output_shape_ops`` does for a
whole process, for one place.  Measured with torch 2.13 in eager, aot_eager and inductor, with gradients: all but a few
operators compile with such sizes.  Where one of those, a loop or a branch follows in the function it is refused, and
nothing of it is safe: what follows in other functions nobody knows.  It is offered only to those who ask for it
(``Settings.symbols``).
"""

from __future__ import annotations

import ast

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow.values import Kind
from graphmend_lsp.mend import each
from graphmend_lsp.mend.base import Draft, Site
from graphmend_lsp.mend.followed import Rows
from graphmend_lsp.mend.layout import flat
from graphmend_lsp.mend.sources import one_line, replacements
from graphmend_lsp.mend.spelling import runtime_name
from graphmend_lsp.mend.symbol import ASK, KIND, RELEASE
from graphmend_lsp.model.walk import children, own_nodes, walk

ORDER = 51
Cut = tuple[ast.expr, str]
"""An expression, and what is written in its place."""
_MASKS = frozenset({"x[mask]", "x[mask] op="})
_NONZERO = frozenset({"nonzero", "argwhere", "where"})
_CHANGES = (
    "how many elements there are is a symbol while torch.compile traces: what has to know it then splits the graph, or"
    " compiling fails; one element is no longer broadcast to several, that raises; inductor (2.13) computes"
    " `reshape(3, -1)` of `(3 * n, 4)` wrongly with a symbol"
)


def propose(site: Site) -> list[Offer | Refusal]:
    made = _made(site)
    if made is None or (isinstance(made, Refusal) and not site.symbols):
        return []
    if isinstance(made, Refusal):
        return [made]
    if not site.symbols:
        return [Refusal(KIND, "host-value", ASK)]
    title = f"Keep it in the graph with a symbol as its size: `{made[0][1]}`"
    return [Offer(KIND, title, "unsafe", _CHANGES, ("host-value", "shape")), Refusal(KIND, "host-value", _CHANGES)]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    made = _made(site)
    if made is None or isinstance(made, Refusal):
        return made or Refusal(offer.kind, "unsupported", "there is no mask")
    parents = {id(child): node for node in walk(site.function.node) for child in children(node)}
    name = "graph_mask" if site.event.name in _MASKS else "graph_nonzero"
    return Draft(tuple(replacements(site, parents, made)), runtime=(name,))


def _made(site: Site) -> list[Cut] | Refusal | None:
    """What is written in place of which expressions, if nothing that must know the size gets one."""
    node = site.event.node
    if site.code != "GM501" or site.engine.release < RELEASE or isinstance(site.function.node, ast.Lambda):
        return None
    if site.event.context.data_branches:
        return None  # the branch around it splits the graph
    if site.event.name in _MASKS and isinstance(node, ast.Subscript):
        texts = _indexed(site, node)
    elif isinstance(node, ast.Call) and site.event.name.rpartition(".")[2] in _NONZERO:
        texts = _searched(site, node)
    else:
        return None
    if texts is None or isinstance(texts, Refusal):
        return texts
    written = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    if not written and each.edits(site) is not None:
        return None  # the loop that follows goes through all
    fault = None if written else Rows(site, [node]).fault()
    if fault is not None:
        text = f"`{one_line(site.source(fault))}` in line {fault.lineno} may have to know how many there are"
        return Refusal(KIND, "host-value", text)
    return texts


def _indexed(site: Site, node: ast.Subscript) -> list[Cut] | Refusal | None:
    """A mask as an index, and where the same mask chooses what is written."""
    if site.value(node.value).kind is not Kind.TENSOR or site.value(node.value).array:
        return None
    text = _with_places(site, node)
    if text is None:
        return Refusal(
            KIND, "unsupported", "what the mask chooses from, or what else is in the index, is computed there"
        )
    made: list[Cut] = [(node, text)]
    for stmt in own_nodes(site.function.node):
        target = stmt.targets[0] if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 else None
        if not isinstance(target, ast.Subscript) or ast.dump(target.slice) != ast.dump(node.slice):
            continue
        assert isinstance(stmt, ast.Assign)
        if site.value(target.value).kind is Kind.TENSOR and site.value(stmt.value).kind in (Kind.TENSOR, Kind.UNKNOWN):
            other = _with_places(site, target)  # its gradient would have to count again
            made += [(target, other)] if other is not None else []
    return made


def _with_places(site: Site, node: ast.Subscript) -> str | None:
    """``x[graph_mask(x, mask)]``; None if ``x`` is more than a name, or what stands beside the mask than a slice."""
    given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    parts = [_part(site, each) for each in given]
    others = [each for each in given if isinstance(each, (ast.Slice, ast.Constant))]
    known = [part for part in parts if part is not None]
    if not _is_name(node.value) or len(others) != len(given) - 1 or len(known) != len(parts):
        return None
    owner = site.source(node.value)
    return f"{owner}[{runtime_name(site.module, 'graph_mask')}({', '.join([owner, *known])})]"


def _part(site: Site, node: ast.expr) -> str | None:
    """A part of an index as an argument; None if there is a comment inside, or what an index of its own could be."""
    if isinstance(node, ast.Slice):
        bounds = [node.lower, node.upper, node.step]
        texts = ["None" if bound is None else flat(site.source(bound)) for bound in bounds]
        if None in texts:
            return None
        shown = [str(text) for text in texts]
        if shown[0] == shown[2] == "None":
            return f"slice({shown[1]})"
        return f"slice({', '.join(shown if shown[2] != 'None' else shown[:2])})"
    if isinstance(node, ast.Constant) and node.value is not None and node.value is not ...:
        return None
    return flat(site.source(node))


def _is_name(node: ast.expr) -> bool:
    """A name, or an attribute of one: to say it twice does nothing else."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _searched(site: Site, call: ast.Call) -> list[Cut] | None:
    """A search for what is not zero."""
    name = site.event.name.rpartition(".")[2]
    words = {word.arg: word.value for word in call.keywords}
    given = list(call.args)
    if not _is_function(site, call):
        assert isinstance(call.func, ast.Attribute)
        given = [call.func.value, *given]
    tuple_given = words.pop("as_tuple", None) if name == "nonzero" else None
    if len(given) != 1 or words or isinstance(given[0], ast.Starred) or site.value(given[0]).kind is not Kind.TENSOR:
        return None
    if tuple_given is not None and not isinstance(tuple_given, ast.Constant):
        return None
    text = flat(site.source(given[0]))
    if text is None or site.value(given[0]).array:
        return None
    as_tuple = name == "where" or (tuple_given is not None and bool(tuple_given.value))
    ending = ", as_tuple=True" if as_tuple else ""
    return [(call, f"{runtime_name(site.module, 'graph_nonzero')}({text}{ending})")]


def _is_function(site: Site, call: ast.Call) -> bool:
    """``torch.nonzero(x)``, not ``x.nonzero()``."""
    return not isinstance(call.func, ast.Attribute) or (site.module.dotted(call.func) or "").startswith("torch.")
