"""# GM103 data-dependent-test

Any other truth test of a tensor: `and`, `or`, `not`, `in`, a chained comparison, `any()`, `all()`, a comprehension's
filter, sorting by a tensor.

## What it does
Flags expressions that ask Python for the truth of a tensor outside an `if`, `while` or `assert` (those have rules of
their own): `a and b` as a value, `not t`, `0 < t < 1`, `2 in t`, `any(t > 0 for t in xs)`, `[x for x in xs if
x.sum() > 0]`,
`sorted(xs, key=lambda t: t.mean())`.

## Why is this bad?
Each asks for a Python bool, which only the device knows: the graph ends there, and inside a comprehension or
generator the whole function falls back to eager.

## Example
```python
def in_range(t):
    return 0 < t < 1
```

## Use instead
```python
def in_range(t):
    return torch.logical_and(0 < t, t < 1)
```

## Fix safety
*logical* turns `a and b` (`or` likewise) into `torch.logical_and(a, b)` where all operands are truths that are computed
there and then, and may be computed on every call: safe, Python would give one of them. Assumed: they lie on one device.
`not`, chained comparisons, `any()` and the rest give a Python bool or a list where the tensor form gives a tensor.
Whether that matters depends on the uses, so there is no automatic fix for them.

## References
- [GB0170 Data-dependent branching](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html)
"""

from __future__ import annotations

from graphmend_lsp.flow.events import Event
from graphmend_lsp.rules.base import Flag, Spec, source

SPEC = Spec("GM103", "data-dependent-test", ("boolop", "not", "in", "compare", "any", "filter", "sort"), "GB0170")

_WORDS = {
    "boolop": "`and`/`or` asks for the truth of a tensor",
    "not": "`not` asks for the truth of a tensor",
    "in": "`in` compares with a tensor's value",
    "compare": "a chained comparison asks for the truth of a tensor",
    "any": "`any()`/`all()` ask for the truth of tensors",
    "filter": "the filter is known only on the device",
    "sort": "the order depends on tensor values",
}


def flag(event: Event) -> Flag | None:
    if event.test is None or not event.test.is_data:
        return None
    datum = event.test.data[0]
    text = source(event, event.node)
    return Flag(
        event.node, f"{_WORDS[event.kind]} in `{text}`{{origin}}; torch.compile splits the graph here", datum.value.why
    )
