"""[Hoist]: a class that a function makes at each call, and only reads constants of, is made once (section E)."""

from __future__ import annotations

import ast

from graphmend_lsp.finding import Offer, Refusal
from graphmend_lsp.mend import names, scope
from graphmend_lsp.mend.base import Draft, Helper, Replacement, Site
from graphmend_lsp.mend.layout import reindent
from graphmend_lsp.model.walk import children, own_nodes, walk

ORDER = 40
KIND = "hoist"
_CHANGES = "all calls share one class, whose name no longer says `<locals>`"


def propose(site: Site) -> list[Offer | Refusal]:
    node = site.event.node
    if site.code != "GM603" or not isinstance(node, ast.ClassDef):
        return []
    refused = _refused(site, node)
    if refused is not None:
        return [refused]
    title = f"Make class `{node.name}` once, above the function"
    if _only_constants(site, node):
        return [Offer(KIND, title, "safe")]
    return [Offer(KIND, title, "unsafe", _CHANGES, ("state-write",)), Refusal(KIND, "state-write", _CHANGES)]


def build(site: Site, offer: Offer) -> Draft | Refusal:
    node = site.event.node
    if not isinstance(node, ast.ClassDef) or _refused(site, node) is not None:
        return Refusal(offer.kind, "unsupported", "the class cannot be made elsewhere")
    raw = site.chunk.raw_text(node.lineno)
    lines = reindent(site.source(node), raw[: len(raw) - len(raw.lstrip())], "")
    return Draft((Replacement(node, node, ()),), (Helper(node.name, "\n".join(lines)),))


def _refused(site: Site, node: ast.ClassDef) -> Refusal | None:
    if node.decorator_list or node.keywords:
        return Refusal(KIND, "side-effect", f"what makes class `{node.name}` may do more than that")
    if site.function.parent is not None or not any(stmt is node for stmt in site.function.body):
        return Refusal(KIND, "control-flow", f"class `{node.name}` is made on one path only, or in an inner function")
    other = node.name in site.module.bindings or node.name in names.BUILTINS or node.name in site.reserved
    if other or site.module.star_imports or _used_before(site, node):
        return Refusal(KIND, "unbound-name", f"`{node.name}` is another thing in this file")
    locals_ = scope.local_names(site.function) - {node.name}
    used = _free(node)
    if used & locals_:
        name = sorted(used & locals_)[0]
        return Refusal(KIND, "unsupported", f"class `{node.name}` uses `{name}` of the function")
    late = next((name for name in sorted(_needed_at_once(node)) if not _is_there(site, name)), None)
    if late is not None:
        return Refusal(KIND, "unbound-name", f"`{late}` may have no value yet where class `{node.name}` would be made")
    if any(isinstance(n, (ast.Nonlocal, ast.Global, ast.Await, ast.Yield, ast.YieldFrom)) for n in walk(node)):
        return Refusal(KIND, "unsupported", f"class `{node.name}` belongs to its function")
    if any(_binds(n, node.name) for n in own_nodes(site.function.node) if n is not node):
        return Refusal(KIND, "unbound-name", f"`{node.name}` is another thing in the function, too")
    if node.name in scope.parameters(site.function):
        return Refusal(KIND, "unbound-name", f"`{node.name}` is another thing in the function, too")
    return None


def _binds(node: ast.AST, name: str) -> bool:
    """Whether a node gives a name a value, or says whose it is."""
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return name in node.names
    if isinstance(node, ast.alias):
        return (node.asname or node.name.partition(".")[0]) == name
    return getattr(node, "name", None) == name  # a function, a class, an exception, a pattern


def _free(node: ast.ClassDef) -> set[str]:
    """Names that the class and its methods read, and do not bind themselves."""
    found: set[str] = set()
    todo: list[tuple[ast.AST, frozenset[str]]] = [(node, frozenset())]
    while todo:
        item, bound = todo.pop()
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load) and item.id not in bound:
            found.add(item.id)
        inner = bound
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            stored = {n.id for n in walk(item) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
            inner = bound | stored | {a.arg for a in walk(item.args) if isinstance(a, ast.arg)}
            outside = [*item.args.defaults, *(d for d in item.args.kw_defaults if d is not None)]
            outside += [] if isinstance(item, ast.Lambda) else item.decorator_list
            todo += [(each, bound) for each in outside]
        todo += [(child, inner) for child in children(item)]
    return found


def _needed_at_once(node: ast.ClassDef) -> set[str]:
    """Names that are read when the class is made, those of the class itself excluded."""
    found: set[str] = set()
    own: set[str] = set()
    todo: list[ast.AST] = [*node.bases, *node.body]
    while todo:
        item = todo.pop()
        if isinstance(item, ast.Name):
            (found if isinstance(item.ctx, ast.Load) else own).add(item.id)
        elif isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            own.add(item.name)
            arguments = item.args
            todo += [*item.decorator_list, *arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
            todo += [a.annotation for a in walk(arguments) if isinstance(a, ast.arg) and a.annotation is not None]
            todo += [item.returns] if item.returns is not None else []
            continue
        todo += children(item)
    return found - own


def _is_there(site: Site, name: str) -> bool:
    """Whether a name surely has its value from the top of the file on."""
    if name in names.BUILTINS and name not in site.module.bindings:
        return True
    return all(b.kind == "import" for b in site.module.bindings.get(name, ())) and name in site.module.bindings


def _used_before(site: Site, node: ast.ClassDef) -> bool:
    """Whether the name is read in the function before the class is made: that raised."""
    return any(
        isinstance(n, ast.Name) and n.id == node.name and n.lineno < node.lineno for n in own_nodes(site.function.node)
    )


def _only_constants(site: Site, node: ast.ClassDef) -> bool:
    """Whether the class holds numbers and texts, and nothing but those is read of it."""
    held: set[str] = set()
    for stmt in node.body:
        if isinstance(stmt, ast.Pass) or (isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)):
            continue
        if not isinstance(stmt, ast.Assign) or not isinstance(stmt.value, ast.Constant):
            return False
        if not all(isinstance(target, ast.Name) for target in stmt.targets):
            return False
        held |= {target.id for target in stmt.targets if isinstance(target, ast.Name)}
    if node.bases or any(name.startswith("__") for name in held):
        return False
    nodes = list(walk(site.function.node))
    parents = {id(child): item for item in nodes for child in children(item)}
    for item in nodes:
        if isinstance(item, ast.Name) and item.id == node.name:
            parent = parents.get(id(item))
            if not isinstance(parent, ast.Attribute) or not isinstance(parent.ctx, ast.Load) or parent.attr not in held:
                return False
    return not any(
        isinstance(item, ast.Name) and item.id in ("locals", "vars", "dir", "eval", "exec") for item in nodes
    )
