"""# GM602 deliberate-break

A break that somebody asked for: a call of a disabled function, `torch._dynamo.graph_break()`, `breakpoint()`.

## What it does
Points out, as information, calls of functions under `@torch.compiler.disable`, and calls whose purpose is to leave the
graph. They cost what any other break costs, and are easily forgotten.

## Why is this bad?
It may not be. Each splits the graph of its caller; in a loop, in a `try` or in a `with` block the whole function is
given up.

## Example
```python
@torch.compiler.disable
def lookup(table, x):
    return table.get(x)

def step(model, table, x):
    return model(lookup(table, x))
```

## Use instead
If the reason is gone, remove the decorator. Else call the function before the compiled code, or around it.

## Fix safety
There is no fix: it is there on purpose. `breakpoint()` and `graph_break()` on a line of their own can be deleted
(unsafe).

## References
- [GB0098 Skip calling `torch.compiler.disable()`d function](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0098.html)
- [GB0025 Call to `torch._dynamo.graph_break()`](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0025.html)
"""

from __future__ import annotations

from graphmend_lsp.flow.events import Event
from graphmend_lsp.rules.base import Flag, Spec, source

SPEC = Spec("GM602", "deliberate-break", ("deliberate",), "GB0098", deliberate=True)


def flag(event: Event) -> Flag | None:
    return Flag(event.node, f"`{source(event, event.node)}` leaves the graph on purpose; torch.compile splits it here")
