"""# GM301 data-dependent-raise

A test on a tensor's value that only guards a `raise`.

## What it does
Flags `if` and `elif` whose body does nothing but raise (or choose what to raise) and whose test is data: `if (x <
0).any(): raise ValueError(...)`. Guards on shapes, dtypes and Python values are decided while tracing and are not
flagged, nor is `if not t: assert False, "constant"`, which Python compiles like `assert t, "constant"`.

## Why is this bad?
The check reads the tensor back to the host on every call, splits the graph, and stops kernels from being queued ahead.

## Example
```python
def forward(self, x):
    if (x < 0).any():
        raise ValueError(f"negative: {x.min()}")
    return x.sqrt()
```

## Use instead
```python
@graph_effect
def _check_negative(x):
    if (x < 0).any():
        raise ValueError(f"negative: {x.min()}")


class Net(nn.Module):
    def forward(self, x):
        _check_negative(x)
        return x.sqrt()
```

## Fix safety
*trap* moves the unchanged guard into an operator of the graph: type, text and values of the exception are kept and
there is no break. It is unsafe if arguments, buffers or Python state may be written before the guard: a compiled
graph applies those writes late, so a failing call would leave them undone. Calls of code that is not seen count as
writes in the function itself; where callers make them before, they are assumed to write nothing. Refused inside a
`try` that would have caught the exception; unsafe behind one with a `finally`, which then does not run. On a GPU the
guard still waits for the value, as the original does.
*assert* uses `torch._assert_async`, which does not wait: always unsafe, since the exception becomes a
`RuntimeError` with a constant message and, on CUDA, arrives later and ends the process' use of the device.

## References
- [GB0170 Data-dependent branching](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html)
"""

from __future__ import annotations

import ast

from graphmend_lsp.flow.events import Event
from graphmend_lsp.rules.assertions import is_assertion
from graphmend_lsp.rules.base import Flag, Spec, raises_only, source

SPEC = Spec("GM301", "data-dependent-raise", ("if",), "GB0170")


def flag(event: Event) -> Flag | None:
    node = event.node
    datum = event.test.cause if event.test is not None else None
    if datum is None or not isinstance(node, ast.If) or not raises_only(node) or is_assertion(event):
        return None
    text = source(event, node.test)
    message = (
        f"whether `{text}` holds is known only on the device{{origin}}; torch.compile splits the graph at this guard"
    )
    return Flag(node.test, message, datum.value.why)
