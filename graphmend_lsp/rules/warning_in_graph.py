"""# GM203 warning-in-graph

`warnings.warn` in compiled code.

## What it does
Flags `warnings.warn` in every spelling (`warn(...)` imported from `warnings`, an alias, `warn_explicit`).

## Why is this bad?
TorchDynamo skips the `warnings` module: the graph ends at the call, in the function and in every caller, although
the warning is usually shown once only.

## Example
```python
def resolve(group):
    if group is None:
        warnings.warn("group=None is deprecated", DeprecationWarning)
        group = "world"
    return group
```

## Use instead
Pass what the warning asks for: where it stands under a condition on a parameter of its function, the message says what
to pass ("pass `group`, and it is not reached"). Or keep it as an effect of the graph:
```python
@graph_effect
def _warn_group_none_deprecated():
    warnings.warn("group=None is deprecated", DeprecationWarning)
```

## Fix safety
*defer* keeps category, text, filters and order; the reported line is the helper's, in the same file. With
`stacklevel` the warning names a caller's line, which changes, so the offer is unsafe. Refused inside
`catch_warnings`.

## References
- [GB0007 Attempted to call function marked as skipped](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0007.html)
"""

from __future__ import annotations

from graphmend_lsp.flow.events import Event
from graphmend_lsp.rules.base import Flag, Spec
from graphmend_lsp.rules.guards import avoided

SPEC = Spec("GM203", "warning-in-graph", ("warn",), "GB0007")


def flag(event: Event) -> Flag | None:
    return Flag(event.node, f"`{event.name}` runs on the host; torch.compile splits the graph here{avoided(event)}")
