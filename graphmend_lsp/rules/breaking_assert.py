"""# GM302 breaking-assert

An assertion on a tensor in a form that breaks the graph.

## What it does
Flags `assert` on a tensor's value where the message is not a constant (an f-string breaks even if it formats static
values only), where the test is `not t` or `a if b else c`, has `and`/`or` of several tensors, a chained comparison,
`any()`/`all()`,
`torch.equal`, `torch.allclose` or `.item()`; and `torch._assert`, `torch._check*` with a tensor, or with a message
function that refers to one.
`assert tensor, "constant"` (or without a message) does not break and is not flagged: TorchDynamo turns it into an
assertion of the graph.

## Why is this bad?
A form TorchDynamo cannot turn into an assertion is a data-dependent branch: the graph is split there, and inside
loops and generators the function falls back to eager.

## Example
```python
def iou(a):
    assert torch.isfinite(a).all(), f"non-finite among {a.shape[0]}"
    return a.mean()
```

## Use instead
```python
def iou(a):
    assert torch.isfinite(a).all(), "non-finite boxes"
    return a.mean()
```

## Fix safety
*trap* keeps the assertion, its type and its text in an operator of the graph (see GM301 for the one condition). Of
`torch._check_tensor_all` in a helper, such as `torch_compilable_check` of transformers, it changes the helper, and so
every model that calls it.
*assert* uses `torch._assert_async`: unsafe, the exception becomes a RuntimeError with a constant message, and a
condition of `torch._check_tensor_all` that is not of dtype bool is no longer refused.

## References
- [GB0170 Data-dependent branching](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html)
- [GB0171 assert with non-string message](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0171.html)
"""

from __future__ import annotations

import ast

from graphmend_lsp.flow.events import Event
from graphmend_lsp.flow.values import Kind
from graphmend_lsp.rules.assertions import cause_of
from graphmend_lsp.rules.base import Flag, Spec, source

SPEC = Spec("GM302", "breaking-assert", ("assert", "check"), "GB0170")


def flag(event: Event) -> Flag | None:
    node = event.node
    if isinstance(node, ast.Assert):
        cause = cause_of(node, event.test) if event.test is not None else None
        datum = event.test.cause if event.test is not None else None
        if cause is None or datum is None:
            return None
        text = source(event, node.test)
        message = f"this assertion of `{text}` breaks the graph: {cause}{{origin}}"
        return Flag(node, message, datum.value.why)
    if isinstance(node, ast.Call):
        why = event.value.why if event.value is not None else None
        if event.name != "torch._assert" and (event.value is None or event.value.kind is Kind.PYTHON):
            message = (
                f"the message of this `{event.name}` is not made of constants only; torch.compile splits the graph here"
            )
            return Flag(node, message)
        return Flag(
            node,
            f"`{event.name}` needs the tensor's value on the host{{origin}}; torch.compile splits the graph here",
            why,
        )
    return None
