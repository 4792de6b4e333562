"""# GM101 data-dependent-branch

An `if`, `elif`, conditional expression or `match` on a tensor's value.

## What it does
Flags tests whose outcome is known only once the tensor has been computed: a comparison of tensors, `.any()`,
`.all()`, the truth of a tensor, a value read with `.item()` inside the test. Tests on shapes, dtypes, devices, `None`,
configuration and Python numbers are known while tracing and are never flagged.

## Why is this bad?
TorchDynamo traces one path. It cannot know which one a tensor's value selects, so it ends the graph before the test,
reads the value to the host (on a GPU: waits for it), and starts a new graph behind it. The two graphs are compiled,
scheduled and launched apart; nothing is fused across the test and CUDA graphs are split. Inside a loop, a `try` or a
context manager of your own the whole function falls back to eager.

## Example
```python
def forward(self, x):
    if x.abs().max() > 1:
        x = x.clamp(-1, 1)
    return self.proj(x)
```

## Use instead
```python
def forward(self, x):
    x = torch.where(x.abs().max() > 1, x.clamp(-1, 1), x)
    return self.proj(x)
```

## Fix safety
*where* computes both sides and selects. It is offered as safe if both sides are pure, total operations with finite
gradients, the result is not expected to be the very same object as an argument, and both have equal shape and dtype;
where shape and dtype cannot be proved, `select` of the small runtime file compares them while tracing and keeps the
branch if they differ. Assumed: arithmetic dtypes (masks are bool, numbers are not), operands that broadcast in both
paths; operations that only floating point has (`mean`, `silu`, `softmax`) get floating point, also on the side that
is not taken. An in-place step that makes floats (`y *= 0.5`, `y /= 2`) is unsafe unless `y` is known to hold floats: it
raises for integers, and the selection gives floats. It is refused where a side may raise, draws random numbers, writes
state, or is needed as a Python value.
A number that is read for the test only (`x.sum().item() > 0`) stays on the device where what it is compared with has a
few bits (`0`, `0.5`, `100`); others are compared in double precision, which a tensor is not.
Of a chained comparison (`0 < x.min() < 1`) what stands in the middle is computed twice, so it must be pure, and what
comes later always, so it must not raise either.
A side that holds matrix products or modules of unknown cost is offered as `torch.cond` only, as unsafe. A branch that
only prints or logs is deferred as a whole, with its test.

The result requires a gradient if either side does, with a gradient of zeros for the side not taken, where the `if`
left none; if what only one side goes back to can have an infinite slope (`sqrt`, a quotient whose divisor has no
lower bound in sight, such as `.clamp(min=1e-6)`), that zero becomes NaN and the fix is unsafe. Texts of tensors name
that history (`grad_fn=<WhereBackward0>`). So `backward` may have more to do than before: where later code writes in
place into what it needs, it raises as it did on the other path, and a backend that differentiates while it compiles
raises then. Where autograd refused an in-place operation of the original, it no longer does. Under `torch.no_grad` a
selection has no history at all: a value that brings one along from outside is selected there as an unsafe fix only.

A selection lies densely in memory. Where a side was an expanded tensor (`x.expand(...)`, passed in), an operator may
take another path for it and round the last bit differently (`softplus` on a CPU: once in 13,000 random modules).

A store or call that *both* sides end with stays one, and takes what differs from the side that holds:

```python
if x.abs().max() > 1:                     # self.scale = torch.where(x.abs().max() > 1, x * 0.5, x * 2)
    self.scale = x * 0.5
else:
    self.scale = x * 2
```

It was made once on either path and still is, so it may write, cost or draw random numbers; only the operands that
differ are computed on both paths. It is safe if they are new tensors (an attribute that was `self.a` itself would be
another tensor in compiled code) and leave no gradient history behind in what is stored. The attribute or buffer is
bound anew as before, never written in place: what it held may be held elsewhere, and may have another dtype after
`.half()`. An attribute that a side makes on first use (`if not hasattr(self, "k"): self.k = ...`) or moves to a device
(`self.k = self.k.to(device)`) can be prepared in front of the branch. That offer is unsafe: the attribute is there
earlier, made by the first call, and whatever making it raises or prints comes then. It is refused where the attribute
is made from the data, where other code asks whether it is there, and inside a `try`. Where a parameter may hold None or
a number in other calls (by its default or annotation), only what works for those, too, is offered.

## References
- [GB0170 Data-dependent branching](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html)
- [Control flow operators: torch.cond](https://docs.pytorch.org/docs/stable/cond.html)
"""

from __future__ import annotations

import ast

from graphmend_lsp.flow.events import Datum, Event
from graphmend_lsp.rules.assertions import is_assertion
from graphmend_lsp.rules.base import Flag, Spec, raises_only, source

SPEC = Spec("GM101", "data-dependent-branch", ("if", "ifexp", "match"), "GB0170")


def flag(event: Event) -> Flag | None:
    datum = event.test.cause if event.test is not None else None
    if datum is None:
        return None
    node = event.node
    if isinstance(node, ast.If) and (raises_only(node) or is_assertion(event)):
        return None
    if isinstance(node, (ast.If, ast.IfExp)):
        shown = node.test
    elif isinstance(node, ast.Match):
        shown = node.subject
    else:
        return None
    text = source(event, datum.node if _in_a_guard(node, datum) else shown)
    return Flag(
        shown, f"`{text}` is known only on the device{{origin}}; torch.compile splits the graph here", datum.value.why
    )


def _in_a_guard(node: ast.stmt | ast.expr, datum: Datum) -> bool:
    """Whether not what is matched is data, but the guard of a case."""
    guards = [case.guard for case in node.cases if case.guard is not None] if isinstance(node, ast.Match) else []
    return any(part is datum.node for guard in guards for part in ast.walk(guard))
