"""# GM501 dynamic-shape-op

An operator whose result has a shape that is data: `nonzero`, `unique`, `x[mask]`, `masked_select`, `bincount`.

## What it does
Flags operators that PyTorch marks as having a dynamic output shape, `torch.where` with one argument, reading `x[mask]`
and `x[mask] += ...` with a boolean mask (or with a tensor of which only its name says so), `one_hot` without
`num_classes`, and `repeat_interleave` with a tensor of counts and no `output_size`. `x[mask] = value`, `masked_fill`
and `torch.where` with three arguments keep the shape and are not flagged.

## Why is this bad?
How much memory the result takes is known only once the device has counted. TorchDynamo ends the graph there and begins
another one, which is often compiled again for the next size.

## Example
```python
def positive_mean(x):
    return x[x > 0].mean()
```

## Use instead
Operators that keep the shape, and give what is masked out no weight:
```python
def positive_mean(x):
    positive = x > 0
    return torch.where(positive, x, 0).sum() / positive.sum()
```
`F.one_hot(labels, num_classes=n)` and `x.repeat_interleave(counts, output_size=n)` say the size beforehand.
`torch._dynamo.config.capture_dynamic_output_shape_ops = True`, and `fullgraph=True` (torch 2.12 and later), keep the
operator in the graph; under either nothing is flagged.

## Fix safety
*masked* turns `x[mask] += 1` into `x.copy_(torch.where(mask, x + 1, x))`, and `x[mask] = y[mask]` into
`x.copy_(torch.where(mask, y, x))`; so with sums and multiples of such elements (`y[mask] * 2 + 1`). It is safe, and
offered for `+=`, `-=` and `*=` with a finite number that is written there, where the mask is known to have the shape
of `x` and to lie beside it, and `y` to be like `x`. Unsafe where `x` comes from outside the function: an expanded
tensor cannot be written back. Assumed: `x` holds numbers.
*mask* turns `x[torch.where(mask)] = 0` into `x[mask] = 0`, also with `nonzero(as_tuple=True)`, and where the places
have a name. Safe where the shapes are known to be equal.
*reduction* turns `x[mask].sum()` into `torch.where(mask, x, 0).sum()`, and likewise `mean`, `any`, `all`,
`masked_select`, what is computed of the elements and is 0 for 0 (`(x[mask] - y[mask]).abs().mean()`), `F.mse_loss`,
`l1_loss`, `smooth_l1_loss` and `huber_loss` of them, and `chosen = x[mask]` of which only such is computed. Safe for
`any`, `all` and sums of integers where the shapes are known to be equal; else unsafe: another order of summation rounds
otherwise, and a mask of another shape is broadcast.
*length* passes `output_size` to `repeat_interleave` where the repeats are made of a list of Python ints that is in
sight and still the same at the call: the sum of a written list, else `sum(counts)`. Safe where there is certainly more
than one number, or no input beside the repeats; else unsafe, since one number is repeated for all elements, and its sum
is not the size.
*symbol*, only with the setting `symbols` and on torch 2.13, lets how many elements there are become a symbol of the
graph (unsafe, see [GM401](GM401.md)). `repeat_interleave` with a tensor of repeats gets
`output_size=graph_int(repeats.sum())`; repeats of one number for several elements raise then. `x[mask]` and
`x[mask] += y` get `graph_mask(x, mask)` as their index, and so does `x[mask] = y` beside them; `mask.nonzero()` and
`torch.where(mask)` become `graph_nonzero(mask)`. All three are functions of the runtime file and do in eager what
stood there before. One chosen element is no longer broadcast to several: that raises. A loop over experts,
`for i in (mask.sum(dim=(-1, -2)) > 0).nonzero()`, that does nothing but add rows at `torch.where(mask[i])` becomes
`for i in graph_each(...)`, which compiled goes through all of them: those that are not hit compute with no rows, and
get gradients of zeros instead of none. Refused where, in the same function, something that cannot do with such a size
gets the result: a branch, a loop over the rows, `tolist`, `squeeze()`, `unique`, `cumsum`, `einsum`, `bmm`,
convolutions, `interpolate`, and `reshape(3, -1)`, which inductor (2.13) computes wrongly.
*classes* passes `num_classes` to `one_hot` where another call in the function does (unsafe).
*bins* adds into `n` zeros instead of `torch.bincount(x, minlength=n)`: what is not below `n` raises then (unsafe).
The setting above is named where it helps (measured on torch 2.13), and left to you: it holds for the whole process.

## References
- [GB0036 Dynamic shape operator](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0036.html)
- [GB0246 one_hot](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0246.html)
"""

from __future__ import annotations

from graphmend_lsp.flow.events import Event
from graphmend_lsp.rules.base import Flag, Spec, origin_of, source

SPEC = Spec("GM501", "dynamic-shape-op", ("dynamic",), "GB0036")


def flag(event: Event) -> Flag | None:
    words = f"how many elements `{source(event, event.node)}` has is known only on the device{{origin}}"
    return Flag(event.node, f"{words}; torch.compile splits the graph here", origin_of(event.value))
