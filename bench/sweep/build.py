"""In the measuring interpreter: a model of an architecture and its inputs, the same ones in every process."""

from __future__ import annotations

from typing import Any

import overrides
import shrink

MOST_PARAMETERS = 160_000_000


class NotBuilt(Exception):
    """No strategy gave a model that runs; the text says why."""


def weights(model: Any) -> None:
    """Fill every parameter from a generator, since some are left as memory was."""
    import torch

    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for _, parameter in model.named_parameters():
            if not parameter.is_floating_point():
                continue
            if parameter.dim() > 1 or not torch.isfinite(parameter).all():
                spread = 0.5 / max(1, parameter.shape[-1] if parameter.dim() else 1) ** 0.5
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * spread)
        for _, buffer in model.named_buffers():
            if buffer.is_floating_point() and not torch.isfinite(buffer).all() and not torch.isinf(buffer).any():
                buffer.zero_()


def _transformers_model(name: str, strategy: str) -> Any:
    import catalog
    import torch

    kind, configuration = catalog.transformers_class(name)
    config = shrink.small(configuration, strategy, overrides.OVERRIDES.get(name, {}))
    with torch.device("meta"):
        size = sum(parameter.numel() for parameter in kind(config).parameters())
    if size > MOST_PARAMETERS:
        raise ValueError(f"{size / 1e6:.0f} million parameters")
    torch.manual_seed(0)
    return kind(config)


def model(package: str, name: str, strategy: str) -> Any:
    """The model in evaluation mode."""
    import torch

    if package == "transformers":
        made = _transformers_model(name, strategy)
    elif package == "timm":
        import timm

        torch.manual_seed(0)
        made = timm.create_model(name, pretrained=False)
    else:
        import diffuse

        torch.manual_seed(0)
        made = diffuse.model(name)
    weights(made)
    return made.eval()


def inputs(package: str, made: Any, name: str, recipe: dict[str, Any], call: int) -> dict[str, Any]:
    """The inputs of one call by a recipe that `find` has returned."""
    feeder = _feeder(package, made, name, call)
    feeder.tokens.update(recipe["tokens"])
    return list(feeder.candidates())[recipe["candidate"]]


def _feeder(package: str, made: Any, name: str, call: int) -> Any:
    if package == "transformers":
        import feed

        return feed.Feed(made, overrides.OVERRIDES.get(name, {}), call)
    import pictures

    return pictures.Feed(package, made, name, call)


def find(package: str, name: str) -> tuple[Any, dict[str, Any]]:
    """The first model and inputs with which one eager call succeeds, and the recipe for both."""
    import torch

    notes: list[str] = []
    strategies = shrink.STRATEGIES if package == "transformers" else ("default",)
    for strategy in strategies:
        try:
            made = model(package, name, strategy)
        except Exception as error:
            notes.append(f"{strategy}: {type(error).__name__}: {str(error).strip()[:300]}")
            continue
        feeder = _feeder(package, made, name, 0)
        for candidate in range(_count(feeder, notes)):
            for _ in range(4):  # once more for each kind of placeholder that an error asks for
                try:
                    values = list(feeder.candidates())[candidate]
                    with torch.no_grad():
                        made(**values)
                    recipe = {"strategy": strategy, "candidate": candidate, "tokens": dict(feeder.tokens)}
                    recipe["notes"], recipe["inputs"] = notes, _shapes(values)
                    return made, recipe
                except Exception as error:
                    text = f"{type(error).__name__}: {str(error).strip()[:300]}"
                    notes.append(f"{strategy}, candidate {candidate}: {text}")
                    if not feeder.adapted(str(error)):
                        break
            feeder.tokens.clear()
    raise NotBuilt("\n".join(notes))


def _count(feeder: Any, notes: list[str]) -> int:
    try:
        return len(list(feeder.candidates()))
    except Exception as error:
        notes.append(f"no inputs: {type(error).__name__}: {str(error).strip()[:300]}")
        return 0


def _shapes(values: dict[str, Any]) -> dict[str, str]:
    return {
        name: str(tuple(value.shape)) if hasattr(value, "shape") else repr(value)[:80] for name, value in values.items()
    }
