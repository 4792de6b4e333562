"""# GM202 logging-in-graph

A call of a logger in compiled code.

## What it does
Flags every method of a `logging.Logger` (also `isEnabledFor`, also `debug` below the level), the functions of the
`logging` module, loguru and absl loggers, and the `warning_once` idiom of transformers.

## Why is this bad?
TorchDynamo does not trace loggers. The graph ends at the call even if the level is disabled and nothing is logged;
in a child module every caller is split as well, and inside a loop or `try` the whole function falls back to eager.

## Example
```python
def forward(self, x):
    if x.shape[-1] > 512:
        logger.warning("long input: %d", x.shape[-1])
    return self.encoder(x)
```

## Use instead
Where the call stands under a condition on a parameter of its function (`if attention_mask is None:`), the message says
what to pass so that it is not reached. Else:
```python
@graph_effect
def _warn_long_input(x):
    logger.warning("long input: %d", x.shape[-1])


class Net(nn.Module):
    def forward(self, x):
        if x.shape[-1] > 512:
            _warn_long_input(x)
        return self.encoder(x)
```

## Fix safety
*defer* keeps level, handlers, order, once-only filters and values; only the reported line is the helper's. With
`exc_info`, `stack_info` or `stacklevel` the record depends on the frame that logs, so the offer is unsafe. Deciding
with `isEnabledFor` needs the answer on the host and is refused.

## References
- [GB0291 logging.Logger method not supported](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0291.html)
"""

from __future__ import annotations

from graphmend_lsp.flow.events import Event
from graphmend_lsp.rules.base import Flag, Spec
from graphmend_lsp.rules.guards import avoided

SPEC = Spec("GM202", "logging-in-graph", ("log",), "GB0291")


def flag(event: Event) -> Flag | None:
    name = event.name.rpartition(".")[2] if event.name.startswith("Logger.") else event.name
    words = f"logging (`{name}`) runs on the host, whatever the level; torch.compile splits the graph here"
    return Flag(event.node, words + avoided(event))
