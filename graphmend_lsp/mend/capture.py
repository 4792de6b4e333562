"""[Capture]: settings of TorchDynamo that keep a value that is data in the graph.

They are no edit of ours: each holds for all that the process compiles, and where it is set is the program's choice.
What they keep was measured on torch 2.13, in default mode: of ``.item()``, ``int()``, ``float()``, ``bool()``,
``.tolist()`` of integers (also to loop over, with ``arange``, ``reshape``, ``repeat`` and ``split`` of what it holds),
slices and sizes no break is left; of operators with a dynamic shape none but that of ``one_hot``.  A
Python branch on the value breaks in either mode.  ``allow_rnn`` has ``RNN``, ``LSTM`` and ``GRU`` traced.
"""

from __future__ import annotations

import ast

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.flow import tensors
from graphmend_lsp.flow.carried import is_carried, setting_for
from graphmend_lsp.mend.base import Draft, Site
from graphmend_lsp.model.walk import own_nodes, walk

ORDER = 95
KIND = "capture"
_MEASURED = (2, 13)
_RECURRENT = frozenset(f"torch.nn.{name}.forward" for name in ("RNN", "LSTM", "GRU"))


def propose(site: Site) -> list[Offer | Refusal]:
    setting = _setting(site)
    if setting is None or site.engine.release < _MEASURED or _decides(site):
        return []
    what = "a list of integers" if _list(site) is not None else "it"
    limit = "" if setting == "allow_rnn" else " unless a Python branch depends on it"
    message = (
        f"`torch._dynamo.config.{setting} = True` keeps {what} in the graph (torch 2.13){limit}; it is a setting of the"
        " whole process, so it is yours to make"
    )
    return [Refusal(KIND, "state-write", message)]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    return Refusal(offer.kind, "unsupported", "a setting is no edit")


def _decides(site: Site) -> bool:
    """Whether the value has a name that a branch of the function asks for: there it breaks all the same."""
    stmt = site.event.stmt
    if not isinstance(stmt, ast.Assign) or stmt.value is not site.event.node:
        return False
    given = {target.id for target in stmt.targets if isinstance(target, ast.Name)}
    tests = [n.test for n in own_nodes(site.function.node) if isinstance(n, (ast.If, ast.While, ast.IfExp, ast.Assert))]
    return any(isinstance(n, ast.Name) and n.id in given for test in tests for n in walk(test))


def _setting(site: Site) -> str | None:
    event = site.event
    if site.code == "GM601":
        return "allow_rnn" if event.name in _RECURRENT else None
    if site.code == "GM102":
        of_list = _list(site)
        whole = of_list is not None and not tensors.is_floating(site.value(of_list).dtype)
        return "capture_scalar_outputs" if whole else None
    if site.code not in ("GM401", "GM402", "GM501") or (site.code == "GM402" and event.name == "index"):
        return None  # `x[i]` breaks all the same
    return setting_for(event) if is_carried(event, site.engine.made_of_numbers) else None


def _list(site: Site) -> ast.expr | None:
    """The tensor whose numbers are put into a list, to be used or to loop over."""
    node = site.event.node
    if site.code == "GM102":
        node = node.iter if isinstance(node, ast.For) else node
    elif site.code != "GM401":
        return None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "tolist":
        return node.func.value
    return None
