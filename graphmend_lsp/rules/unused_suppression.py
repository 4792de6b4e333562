"""# GM001 unused-suppression

A suppression comment that hides nothing.

## What it does
Flags `# graphmend: ignore`, `# graphmend: ignore[GM101]`, `# graphmend: ignore-file` and `# noqa: GM101` where no
finding of these codes would be shown.

## Why is this bad?
The comment claims a graph break that is not there (any more), and would hide the next one.

## Example
```python
y = x * 2  # graphmend: ignore[GM101]
```

## Use instead
```python
y = x * 2
```

## Fix safety
Remove the comment.

## References
- [Suppression comments](https://meta-pytorch.github.io/compile-graph-break-site/)
"""

from __future__ import annotations

from graphmend_lsp.flow.events import Event
from graphmend_lsp.rules.base import Flag, Spec

SPEC = Spec("GM001", "unused-suppression", (), "")


def flag(event: Event) -> Flag | None:
    """Never: ``check`` reports these itself, since only it knows what was hidden."""
    del event
    return None
