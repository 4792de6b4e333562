"""[Where]: a branch on a tensor's value becomes a selection between two computed values.

Forms: assignments in one or both arms (``if``/``elif``/``else``, nested), ``return`` in both arms or as a guard
before a straight rest, conditional expressions, one in-place call.  Static parts of the test stay a Python
``if``.  Conditions: ``legality`` for what is computed on both paths, ``aliases`` for who could notice that the
result is a new tensor.
"""

from __future__ import annotations

import ast

from graphmend_lsp.finding import Offer, Reason, Refusal
from graphmend_lsp.mend import effects, logical
from graphmend_lsp.mend.base import Draft, Site
from graphmend_lsp.mend.legality import Issue
from graphmend_lsp.mend.spelling import torch_name
from graphmend_lsp.mend.where.plan import Plan
from graphmend_lsp.mend.where.statement import statement_plan
from graphmend_lsp.mend.where.ternary import ternary_plan

ORDER = 30
_TITLES = {
    "where": "Compute both sides and select with torch.where",
    "select": "Compute both sides and select on the device",
    "cond": "Choose on the device with torch.cond",
    "copy": "Select on the device and write in place on every call",
}
_HOST_TESTS = {
    "sort": "the order of a Python list depends on the data",
    "filter": "which elements a Python container keeps depends on the data",
}


def propose(site: Site) -> list[Offer | Refusal]:
    if not _applies(site):
        return []
    plan = _plan(site)
    if plan.fatal:
        return [*_cond_offer(plan), *_refusals(plan.issues)]
    title = plan.title or _TITLES["select" if plan.runtime and plan.kind == "where" else plan.kind]
    if not plan.issues:
        return [Offer(plan.kind, title, "safe")]
    changes = "; ".join(dict.fromkeys(i.message for i in plan.issues))
    reasons: tuple[Reason, ...] = tuple(dict.fromkeys(i.reason for i in plan.issues))
    return [Offer(plan.kind, title, "unsafe", changes, reasons), *_refusals(plan.issues)]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    plan = _plan(site)
    if plan.fatal and offer.kind != "cond":
        first = plan.fatal[0]
        return Refusal(offer.kind, first.reason, first.message)
    needs_torch = plan.torch and torch_name(site)[1]
    return Draft(tuple(plan.replacements), (), ("select",) if plan.runtime else (), needs_torch, plan.names)


def _applies(site: Site) -> bool:
    if site.code not in ("GM101", "GM102", "GM103") or logical.applies(site):
        return False
    node = site.event.node
    if isinstance(node, ast.If):
        return not effects.only_effects(node, effects.effect_calls(site.facts.events))
    return True


def _refusals(issues: list[Issue]) -> list[Refusal]:
    found = {(i.reason, i.message): Refusal("where", i.reason, i.message) for i in reversed(issues)}
    return list(reversed(found.values()))


def _cond_offer(plan: Plan) -> list[Offer | Refusal]:
    if plan.kind != "cond":
        return []
    changes = "; ".join(dict.fromkeys([*(i.message for i in plan.issues if i.reason != "heavy"), plan.cost]))
    reasons: tuple[Reason, ...] = tuple(dict.fromkeys(i.reason for i in plan.issues))
    offers: list[Offer | Refusal] = [Offer("cond", _TITLES["cond"], "unsafe", changes, reasons)]
    return offers


def _plan(site: Site) -> Plan:
    node = site.event.node
    if isinstance(node, ast.IfExp):
        return ternary_plan(site, node)
    if isinstance(node, ast.If):
        return statement_plan(site, node)
    plan = Plan()
    if isinstance(node, ast.Match):
        plan.refuse("unsupported", "a `match` on a tensor has no form on the device", node)
    elif isinstance(node, ast.While):
        plan.refuse("control-flow", "how often the loop runs depends on the data", node)
    elif site.code == "GM103":
        plan.refuse("host-value", _HOST_TESTS.get(site.event.kind, "Python needs the answer as a bool"), node)
    else:
        plan.refuse("control-flow", "how often the loop runs depends on the data", node)
        plan.refuse("host-value", "the number of iterations is needed on the host", node)
    return plan
