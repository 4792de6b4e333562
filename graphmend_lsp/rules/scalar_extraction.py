"""# GM401 scalar-extraction

A tensor's value read as a Python number: `.item()`, `.tolist()`, `int()`, `float()`, `bool()`, `math.sqrt()`.

## What it does
Flags what takes a number out of a tensor. Numbers that are known while tracing (`x.shape[0]`, `x.numel()`, `x.dim()`)
are not flagged. Where the number is a part of a test, the test is flagged instead ([GM101](GM101.md),
[GM102](GM102.md), [GM302](GM302.md)); where it is only printed, the print is ([GM201](GM201.md)).

## Why is this bad?
The number exists only once the device has computed it. TorchDynamo ends the graph there, waits for the device, and
begins another graph with the number as an input. In a loop, in a `try` or in a `with` block the whole function is
given up.

## Example
```python
def scaled(x):
    return x / x.abs().max().item()
```

## Use instead
The tensor itself. One with a single element and no dimensions takes part in arithmetic as the number would:
```python
def scaled(x):
    return x / x.abs().max().detach()
```
Or let TorchDynamo carry the number through the graph: `torch._dynamo.config.capture_scalar_outputs = True`. It does so
on its own under `fullgraph=True` (torch 2.12 and later). Under either only what still fails is flagged: lists of
floats, `torch.equal`, functions of `math`, and where such a number decides something later (a branch:
[GM101](GM101.md), how often a loop runs: [GM102](GM102.md)). There compiling raises under `fullgraph=True`.

## Fix safety
*keep* is offered where the number, or the one name it is given, is only an operand beside a tensor, and where the
tensor is known to have no dimensions. Comparisons with a tensor, `+=` and the like, `x[i] = number`, and the number
of `clamp`, `masked_fill` or `torch.where` count as well; `max(n.item(), 1)` becomes `n.detach().clamp(min=1)`. It is
unsafe: a Python number is a double, so arithmetic with it rounds otherwise, and it never changes the type of the
result. `int(np.prod(x.shape))` becomes `x.shape.numel()`, which is safe. *number* is for integers that the module
itself keeps as tensors, see [GM402](GM402.md).
*symbol*, only with the setting `symbols`, turns `x.tolist()` into `graph_list(x)` and `x.item()` into
`graph_int(x)`, functions of the runtime file: the integers become symbols of the graph, which
`torch._dynamo.config.capture_scalar_outputs` does for a whole process. Unsafe: what has to know such a number while
tracing splits the graph there, or compiling fails. Offered for torch 2.13, where sizes, `arange`, `reshape`,
`split` and loops over such lists were measured in eager, aot_eager and inductor. Refused where a branch, `range`, a
slice, an index, a text, `float()` or `interpolate` in the function gets the number.
Floats, and lists of more than 128 numbers, are read as before.
Refused where the number is needed on the host.

## References
- [GB0124 Unsupported Tensor.item() call](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0124.html)
- [GB0033 Data dependent operator](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0033.html)
"""

from __future__ import annotations

from graphmend_lsp.flow.events import Event
from graphmend_lsp.rules.base import Flag, Spec, origin_of, source

SPEC = Spec("GM401", "scalar-extraction", ("extract",), "GB0124")


def flag(event: Event) -> Flag | None:
    words = f"`{source(event, event.node)}` waits for a value that is known only on the device{{origin}}"
    return Flag(event.node, f"{words}; torch.compile splits the graph here", origin_of(event.value))
