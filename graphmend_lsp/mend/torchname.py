"""How a file spells ``torch``."""

from __future__ import annotations

from graphmend_lsp.mend.base import Site
from graphmend_lsp.mend.scope import local_names


def torch_name(site: Site) -> tuple[str, bool]:
    """The name ``torch`` has at a site, and whether an import must be added for it."""
    hidden = local_names(site.function)
    for name, bindings in site.module.bindings.items():
        if name not in hidden and any(b.kind == "import" and b.target == "torch" for b in bindings):
            if _is_torch_itself(site, name):
                return name, False
    return "torch", True


def _is_torch_itself(site: Site, name: str) -> bool:
    """``import torch.nn`` binds ``torch``; ``import torch.nn as nn`` binds ``nn`` to something else."""
    return (site.module.bindings[name][0].target == "torch") and name.isidentifier()
