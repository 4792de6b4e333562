"""# GM102 data-dependent-loop

A `while` on a tensor's value, or a `for` whose length is data.

## What it does
Flags `while` loops whose condition reads a tensor, and `for` loops over `range(tensor)`, `tensor.tolist()`,
`mask.nonzero()` and the like. A `for` over a tensor's rows, over `range(x.shape[0])` or over a ModuleList has a length
that is known while tracing and is not flagged.

## Why is this bad?
The number of iterations is not known while tracing. A graph break inside a loop cannot be resumed, so TorchDynamo gives
up the whole function: zero graphs, everything in eager.

## Example
```python
def halve(x):
    while x.abs().max() > 1:
        x = x / 2
    return x
```

## Use instead
A fixed number of iterations with a mask for the elements that are done, a closed form, or
`torch.while_loop` (prototype, no gradients).

## Fix safety
*symbol* is for loops over `x.tolist()`, also in `zip` and `enumerate`: how often they run is known, only the numbers
are not (unsafe, see [GM401](GM401.md)). For others there is no automatic fix: the loop's length decides what is
computed.

## References
- [GB0170 Data-dependent branching](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html)
"""

from __future__ import annotations

import ast

from graphmend_lsp.flow.events import Event
from graphmend_lsp.rules.base import Flag, Spec, source

SPEC = Spec("GM102", "data-dependent-loop", ("while", "for"), "GB0170")


def flag(event: Event) -> Flag | None:
    if event.test is None or not (event.test.data or event.test.carried):
        return None
    node = event.node
    datum = (*event.test.data, *event.test.carried)[0]
    if isinstance(node, ast.While):
        text = source(event, node.test)
        words = f"the loop runs as long as `{text}`, which is known only on the device{{origin}}"
        return Flag(node.test, f"{words}; torch.compile gives up the whole function", datum.value.why)
    if isinstance(node, (ast.For, ast.AsyncFor)):
        text = source(event, node.iter)
        words = f"how often the loop over `{text}` runs is known only on the device{{origin}}"
        return Flag(node.iter, f"{words}; torch.compile gives up the whole function", datum.value.why)
    return None
