"""# GM603 state-built-in-graph

Layers, classes or gradients made in compiled code: `nn.Linear(...)`, a `class`, `backward()`, an optimizer's step.

## What it does
Flags layers with parameters that are built in the region, also in the constructor of a module that is made there (those
without, such as `nn.ReLU()`, are traced), `nn.Parameter` of anything but what was passed in, class
statements inside functions, `loss.backward()`, `torch.autograd.grad`, `requires_grad_()` of what was passed in,
`retain_grad()`, and `step()` of an optimizer.

## Why is this bad?
TorchDynamo traces what a model computes, not how it is built or trained. The graph ends there. A layer built at each
call is, besides, one that is never trained.

## Example
```python
def forward(self, x):
    return nn.Linear(x.shape[-1], 4)(x)
```

## Use instead
Build it in `__init__`. Compile the forward pass, and call `backward()` and `step()` outside; for gradients inside the
region there is `torch.func.grad`.

## Fix safety
*hoist* moves a class out of the function, where it uses nothing of it: safe if the class holds constants that are read
of it and nothing else, unsafe otherwise, since all calls then share one class. For the rest there is no automatic fix:
it would change what the module holds.

## References
- [GB0264 Attempted to use torch.nn.Parameter() constructor with Dynamo](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0264.html)
- [GB0123 Unsupported Tensor.backward() call](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0123.html)
- [GB8977 Invalid call to __build_class__](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb8977.html)
"""

from __future__ import annotations

import ast

from graphmend_lsp.flow.events import Event
from graphmend_lsp.rules.base import Flag, Spec, source

SPEC = Spec("GM603", "state-built-in-graph", ("build",), "GB0264")


def flag(event: Event) -> Flag | None:
    node = event.node
    if isinstance(node, ast.ClassDef):
        return Flag(node, f"class `{node.name}` is made at each call; torch.compile splits the graph here")
    if isinstance(node, ast.Attribute):
        return Flag(node, f"setting `{source(event, node)}` cannot be traced; torch.compile splits the graph here")
    return Flag(node, f"`{source(event, node)}` builds or trains; torch.compile splits the graph here")
