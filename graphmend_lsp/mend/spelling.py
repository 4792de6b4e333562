"""How a file spells ``torch`` and the runtime's functions."""

from __future__ import annotations

from graphmend_lsp.flow.host import is_runtime
from graphmend_lsp.mend.base import Site
from graphmend_lsp.mend.names import used_as_name
from graphmend_lsp.mend.scope import local_names
from graphmend_lsp.model.module import FunctionInfo, Module


def torch_name(site: Site) -> tuple[str, bool]:
    """The name ``torch`` has at a site, and whether an import must be added for it."""
    return torch_name_in(site.function)


def torch_name_in(function: FunctionInfo) -> tuple[str, bool]:
    """The name ``torch`` has in a function, and whether an import must be added for it."""
    hidden = local_names(function)
    for name, bindings in function.module.bindings.items():
        if name not in hidden and bindings[0].kind == "import" and bindings[0].target == "torch":
            return name, False
    return "torch", True


def runtime_name(module: Module, function: str) -> str:
    """The name of a function of the runtime in a file: its own, unless the user has another one of that name."""
    for name, bindings in module.bindings.items():
        if any(b.kind == "import" and is_runtime(b.target, function) for b in bindings):
            return name
    return f"graphmend_{function}" if used_as_name(module.parsed.text, function) else function
