"""What stays in the graph where TorchDynamo is told to capture numbers and shapes that are data.

That is so under ``fullgraph=True`` (torch 2.12 and later) and the ``capture_*`` settings of ``torch._dynamo.config``.
Measured with torch 2.13: a number that is read is carried along as a symbol, but not a list of floats, nor what only
the host can compute of it; and nothing that Python must know while tracing: a branch, how often a loop runs, which item
of a list is meant.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from graphmend_lsp.flow import tensors
from graphmend_lsp.flow.events import Event
from graphmend_lsp.flow.values import Kind, Value

_HOST_ONLY = frozenset({"equal", "allclose", "is_nonzero", "complex", "index"})
_SETTINGS = {"extract": "capture_scalar_outputs", "index": "capture_scalar_outputs", "check": "capture_scalar_outputs"}


def setting_for(event: Event) -> str | None:
    """The setting under which what an event reports stays in the graph, if there is one that could."""
    if event.kind == "check" and (event.value is None or event.value.kind is not Kind.SCALAR):
        return None
    return "capture_dynamic_output_shape_ops" if event.kind == "dynamic" else _SETTINGS.get(event.kind)


def is_passed_in(value: Value) -> bool:
    """Whether a tensor may be one whose number TorchDynamo takes from the call, and compiles anew where it changes.

    Measured with torch 2.13: that is so for an argument, buffer or attribute as it is, on the CPU, without dimensions
    and of type int64.  What is not known of these is taken to be so.
    """
    if value.kind is not Kind.TENSOR or any(root[0] == "op" for root in value.roots):
        return False
    plain = value.shape is None or value.shape == () or value.shape in value.roots
    return plain and (not isinstance(value.dtype, str) or value.dtype == "int64")


def is_carried(event: Event, made_of_numbers: AbstractSet[int]) -> bool:
    """Whether it does stay there under that setting; ``made_of_numbers`` as the engine has them."""
    head, _, name = event.name.rpartition(".")
    value = event.value
    if event.kind == "dynamic":
        return name != "one_hot"
    if event.kind == "index":
        return name not in ("list index", "list slice")
    if name in _HOST_ONLY or head in ("math", "cmath"):
        return False
    if value is None:
        return True
    if name == "tolist" and tensors.is_floating(value.dtype):
        return False
    return not (
        value.array and value.roots and all(root[0] == "op" and root[1] in made_of_numbers for root in value.roots)
    )
