"""# GM201 print-in-graph

`print`, `pprint`, writes to `sys.stdout`/`sys.stderr`, or `str()`/`repr()` of a tensor in compiled code.

## What it does
Flags calls that write text, whatever they print (constants and shapes break as well), and conversions of a tensor to
text (`str(t)`, `repr(t)`, `"%s" % t`, `f"{t!r}"`). A plain f-string of a tensor does not break by itself and is not
flagged.

## Why is this bad?
Text output is a side effect of the host. TorchDynamo ends the graph, prints in eager, and starts a new graph: two
graphs for one line, and zero inside a loop, a `try` or a context manager, where the whole function falls back to
eager. A print in a child module splits every caller, too.

## Example
```python
def forward(self, x):
    h = self.fc(x)
    print(f"norm {h.norm():.3f}")
    return torch.relu(h)
```

## Use instead
```python
@graph_effect
def _report_norm(h):
    print(f"norm {h.norm():.3f}")


class Net(nn.Module):
    def forward(self, x):
        h = self.fc(x)
        _report_norm(h)
        return torch.relu(h)
```

## Fix safety
*defer* moves the unchanged call into a helper that runs as an operator of the graph: at the same place, in the same
order, with the same values, on every call, and with no graph break in the function, its callers, or loops. Under AOT
backends a printed tensor lacks its `grad_fn=` text. Refused where a value cannot be handed to the helper, and where
a `try` in compiled code could catch an error of its formatting (`f"{x:.3f}"` of more than one number); unsafe where
such an error would leave a context like `torch.no_grad` switched on. Calls in the arguments that do more than give
a value (`print(queue.pop())`) are made where the print stood, in their order, or the fix is refused.
An error that the compiler meets while it traces the code behind the print (shapes that do not fit) now comes before
anything of the graph runs, the print included; an error that comes when the graph runs comes after it, as before.
*delete* drops the text, so it is unsafe.

## References
- [GB0059 Failed to trace builtin operator](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html)
"""

from __future__ import annotations

from graphmend_lsp.flow.events import Event
from graphmend_lsp.rules.base import Flag, Spec

SPEC = Spec("GM201", "print-in-graph", ("print", "text"), "GB0059")


def flag(event: Event) -> Flag | None:
    if event.kind == "text":
        words = {
            "f-string": "using the text of a tensor",
            "%": "`%` formats a tensor as text",
            "str": "`str()` of a tensor",
            "repr": "`repr()` of a tensor",
        }
        what = words.get(event.name, f"`{event.name}()` of a tensor")
        why = event.value.why if event.value is not None else None
        return Flag(
            event.node, f"{what} needs its values on the host{{origin}}; torch.compile splits the graph here", why
        )
    name = event.name.removeprefix("builtins.")
    return Flag(event.node, f"`{name}` writes text on the host; torch.compile splits the graph here")
