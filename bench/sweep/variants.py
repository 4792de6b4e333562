"""In the measuring interpreter: what reaches more lines than the plain call does.

`train`: training mode, gradient checkpointing, labels, padded text without a mask. `odd`: evaluation mode with labels,
a mask that masks something, attentions as outputs, and experts as their plain loop. What a model does not take is left
out, one thing after the other.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
from typing import Any


def varied(arm: str, model: Any, values: dict[str, Any]) -> dict[str, Any]:
    """The inputs of an arm, of which one eager call of a copy has succeeded; the model is put into the arm's mode."""
    import torch

    changes: list[dict[str, Any]] = [labels(model, values)]
    if arm == "train":
        model.train()
        _checkpoint(model)
        changes.append(_unmasked(model, values))
    else:
        _plain_experts(model)
        changes += [_padded(values), _outputs(model)]
    chosen = dict(values)
    for change in changes:
        tried = {name: value for name, value in {**chosen, **change}.items() if value is not None}
        try:
            with torch.set_grad_enabled(arm == "train"):
                copy.deepcopy(model)(**tried)
            chosen = tried
        except Exception:
            continue
    return chosen


def _checkpoint(model: Any) -> None:
    for module in model.modules():
        if getattr(module, "gradient_checkpointing", None) is False:
            with contextlib.suppress(Exception):
                model.gradient_checkpointing_enable({"use_reentrant": False})
            return


def _plain_experts(model: Any) -> None:
    parts = [model.config] if hasattr(model, "config") else []
    while parts:
        part = parts.pop()
        if hasattr(part, "_experts_implementation"):
            part._experts_implementation = "eager"
        parts += [value for value in vars(part).values() if hasattr(value, "to_dict")]


def labels(model: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Labels where they are plain: the text itself, or a few numbers of classes."""
    import torch

    names, kind = inspect.signature(model.forward).parameters, type(model).__name__
    if "labels" not in names:
        return {}
    ids = values.get("decoder_input_ids", values.get("input_ids"))
    if kind.endswith(("ForCTC",)):
        return {"labels": torch.ones(next(iter(values.values())).shape[0], 4, dtype=torch.int64)}
    if kind.endswith("Classification") and "Token" not in kind:
        return {"labels": torch.zeros(next(iter(values.values())).shape[0], dtype=torch.int64)}
    if ids is not None and kind.endswith(("LM", "LMHeadModel", "ForConditionalGeneration", "TokenClassification")):
        return {"labels": ids}
    return {}


def _unmasked(model: Any, values: dict[str, Any]) -> dict[str, Any]:
    """No mask, and padding at the end of the first text."""
    if "attention_mask" not in values or "input_ids" not in values:
        return {}
    padding = getattr(model.config, "pad_token_id", None)
    ids = values["input_ids"].clone()
    if isinstance(padding, int) and padding >= 0:
        ids[0, -1] = padding
    return {"attention_mask": None, "input_ids": ids}


def _padded(values: dict[str, Any]) -> dict[str, Any]:
    mask = values.get("attention_mask")
    if mask is None or mask.dim() != 2:
        return {}
    mask = mask.clone()
    mask[0, -2:] = 0
    return {"attention_mask": mask}


def _outputs(model: Any) -> dict[str, Any]:
    names = inspect.signature(model.forward).parameters
    return {"output_attentions": True} if "output_attentions" in names else {}
