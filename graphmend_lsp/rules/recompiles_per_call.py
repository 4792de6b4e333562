"""# GM701 recompiles-per-call

State that is another one at each call: `self.count += 1`, a list attribute that grows.

## What it does
Flags what the compiled code counts on or makes longer from call to call: a number or a text in an attribute of a
module, in what it holds (`self.stats.n`, `self.stats["n"]`), in a global or on a class; a list, tuple, `deque` or dict
of a module, an object or a global that gets a new item each time.

Containers are flagged where you ask for the rule: `select = ["ALL"]` in `[tool.graphmend]`, `--select GM701`. What a
model collects is mostly taken out again by the code around it, which the model does not show.

Not flagged is what does not cost a compilation at each call (measured): a `float`; a number in a closure, in an
argument or in a plain object whose own method is compiled (the second compilation makes these symbolic); a tensor,
whether buffer or attribute; what the same compiled code sets back, clears or cuts, or counts with `%` or `min` up to a
few; what stands under a test of the state itself (`if len(self.log) < 10:`); what is left out while compiling
(`if not torch.compiler.is_compiling():`). What happens under `if self.training:` is flagged: it costs when you train.
Before torch 2.8 (measured: 2.4) a `float` is flagged instead of a number of a module.

## Why is this bad?
There is no graph break. But the graph is guarded by the state that it was traced with: the value of the number, the
length of the list. The next call finds another one, and TorchDynamo compiles the code again, seconds for a model. After
8 times (`torch._dynamo.config.recompile_limit`) it gives up: from then on the function runs without a graph, and under
`fullgraph=True` the call raises.

## Example
```python
def forward(self, x):
    self.count += 1
    return self.layer(x)
```

## Use instead
A tensor, which is not guarded by its value:
```python
def __init__(self):
    ...
    self.register_buffer("count", torch.zeros((), dtype=torch.long))

def forward(self, x):
    self.count += 1
    return self.layer(x)
```
That is for counting. Do not compute with a buffer that the same compiled code writes in place where gradients are
wanted: in torch 2.13 `self.count += 1; return x * self.count` then has, without an error, the gradient of the next
count (measured, aot_eager and inductor); `self.count = self.count + 1` has the right one.

Or count outside of what is compiled. For a number in a module there is
`torch._dynamo.config.allow_unspec_int_on_nn_module = True` (torch 2.5 and later); in a file that sets it such numbers
are not flagged. A list that collects results is best returned, or emptied before each call.

## Fix safety
The fix makes the number a buffer, by `register_buffer(..., persistent=False)` in the constructor, so `state_dict` stays
as it is. It is always unsafe. In the file, everything is adapted: what only counts is written in place; where compiled
code computes with the number, too, a new tensor is stored at each call (see above); methods that are not compiled read
`self.count.item()`, and set it by `fill_`. What changes:

- Code in other files that reads the number gets a tensor: it compares, formats and converts like the number, but is
  printed as `tensor(3)`, is another key of a dict, and changes in place later. To store a number there raises a
  TypeError.
- The buffer moves with the module, is among its `buffers()`, is broadcast by `DistributedDataParallel`, and is lost
  where a module is made on the device `meta` and then given empty memory. It holds 64 bits.
- Arithmetic with it is done in a tensor's precision (`0.9 ** self.step` in float32, which was a double), and it may
  decide the type of the result beside a tensor without dimensions. After a call under `torch.inference_mode()` it is a
  tensor of that mode, which training refuses.

Offered is that for an int that a module's own constructor sets on every path after `super().__init__()`, and that the
class adds to, takes from or sets. Refused, with the reason, where compiled code uses the number for more than
arithmetic with tensors (a branch, an index, a size, an f-string, a result), where anything else in the file may be the
same attribute (of an object that is not `self`, in a subclass, by `getattr`), where a base class is not torch's and not
known, and for texts, floats, containers, globals and attributes of plain objects.

## References
- [Dealing with recompilations](https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html)
"""

from __future__ import annotations

from graphmend_lsp.flow.events import Event
from graphmend_lsp.rules.base import Flag, Spec, source

SPEC = Spec("GM701", "recompiles-per-call", ("grow",), "")
_WORDS = {"number": "is another number", "float": "is another number", "text": "is another text", "length": "is longer"}


def flag(event: Event) -> Flag | None:
    if event.grows is None:
        return None
    words = f"`{source(event, event.grows.target)}` {_WORDS[event.grows.what]} at each call"
    return Flag(event.node, f"{words}; torch.compile compiles the code again each time, until it gives up")
