"""# GM601 untraceable-call

A call that only the host can run: clocks, files, `random.random`, locks, `json`, the state of the random generator.

## What it does
Flags calls of Python's library, of numpy and of torch itself that TorchDynamo cannot trace, `with lock:`, and optional
imports that fail (`try: import flash` where it is not installed beside torch). Which calls these are was measured, for
several releases of torch; the installed one decides. What is traced is not flagged: `random.randint`, `os.environ`,
`os.path.join`, `re.match`, `copy.deepcopy` of a list.

## Why is this bad?
The graph ends at the call, which runs in Python, and another one begins behind it. In a loop, in a `try` or in a
`with` block the whole function is given up.

## Example
```python
import time

def step(model, x):
    started = time.perf_counter()
    x = model(x)
    return x, time.perf_counter() - started
```

## Use instead
Make the call outside the compiled code, and pass in what it gives. For some there is a twin that is traced:
`list(items)` for `copy.copy(items)`, `random.uniform(0.0, 1.0)` for
`random.random()` (the same draw).

## Fix safety
*twin* replaces the call by the one that is traced: safe for `random.random()` that is an operand beside a tensor, and
for `copy.copy` of a list or dict that is made in the function; unsafe for one that may be of a subclass, and for
`copy.deepcopy` of a tensor (`t.detach().clone()`). Other calls are not moved: when they run would change.
`torch._dynamo.config.allow_rnn = True`, which has `nn.LSTM` and its kin traced, is named and left to you.

## References
- [GB0007 Attempted to call function marked as skipped](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0007.html)
"""

from __future__ import annotations

import ast

from graphmend_lsp.flow.events import Event
from graphmend_lsp.rules.base import Flag, Spec, source

SPEC = Spec("GM601", "untraceable-call", ("host",), "GB0007")


def flag(event: Event) -> Flag | None:
    text = source(event, event.node)
    if isinstance(event.node, (ast.Import, ast.ImportFrom)):
        return Flag(event.node, f"`{text}` fails in this environment; torch.compile splits the graph here")
    return Flag(event.node, f"`{text}` runs on the host; torch.compile splits the graph here")
