"""# GM402 tensor-as-index

A tensor where a number is needed: a slice bound, the index of a list, a size, a dimension.

## What it does
Flags tensors as bounds of a slice, as the index of a list or tuple, in `range(...)`, and where an operator takes
sizes, counts or dimensions (`torch.arange(n)`, `x.topk(k)`, `x.view(n, -1)`, `torch.zeros(n)`). An index tensor into a
tensor (`x[rows]`) is not flagged unless it is a computed integer without dimensions. Neither is a tensor that is passed
to such an operator just as it came in: TorchDynamo takes its value from the call. An element of it is computed, and is.

## Why is this bad?
The number has to come from the device before the shape of anything is known. TorchDynamo ends the graph there and
begins another one.

## Example
```python
def steps(durations):
    return torch.arange(durations.max(), device=durations.device)
```

## Use instead
A bound that does not depend on data, such as `durations.shape[1]` or a setting of the model, and a mask for what is
beyond. Or pass the number in as a Python `int`. `torch._dynamo.config.capture_scalar_outputs = True`, and
`fullgraph=True` (torch 2.12 and later), keep most of them in the graph; under either only items and slices of lists are
flagged.

## Fix safety
*number* is for integers that a module keeps as tensors (`self.register_buffer("stride", torch.tensor(stride))`): the
buffer stays, `self.stride_value = stride` is added beside it, and the methods of the class compute with that. Safe if
the buffer is not persistent, the number is known to be an int, all of the arithmetic is that of integers, and no method
returns it or hands it on; else unsafe, with what changes. Refused if a name holds it as a number and as a tensor.
Assumed: parameters hold what their annotations or defaults say; no other file writes the buffer.
*list* is for rows of a tensor that was made of a list of ints (`shapes = torch.as_tensor(sizes)`): the loop runs over
the list. Where the loop is in another method, which gets the tensor, the call passes the list; unsafe, since an
override of that method gets it, too. Refused where the rows are used for more than sizes, bounds and exact arithmetic,
or the list may have changed.
*row* turns `x[best]` into `x[best.reshape(1)].squeeze(0)` where the row is only computed with and `x` is not written,
likewise `x[:, best]`, and `x[int(best)]` where the number is for nothing else:
safe for what `argmax` and `argmin` give, which is assumed to be an index of what it is used on.
*block* turns `cache[start : start + n] = k` into `cache.index_copy_(0, start + torch.arange(n), k)`. Unsafe: what is
written has to fit.
*symbol* wraps a size in `graph_int(...)` (unsafe, see [GM401](GM401.md)).
For other tensors there is no automatic fix: which bound holds is not written in the code.

## References
- [GB0124 Unsupported Tensor.item() call](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0124.html)
- [GB0033 Data dependent operator](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0033.html)
"""

from __future__ import annotations

from graphmend_lsp.flow.events import Event
from graphmend_lsp.rules.base import Flag, Spec, origin_of, source

SPEC = Spec("GM402", "tensor-as-index", ("index",), "GB0124")


def flag(event: Event) -> Flag | None:
    words = f"`{source(event, event.node)}` is needed as a number that is known only on the device{{origin}}"
    return Flag(event.node, f"{words}; torch.compile splits the graph here", origin_of(event.value))
