"""Arguments for constructors, by annotation and by name."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import pathlib
import re
import sys
import types
import typing
from typing import Any, Callable, Iterator, Mapping, NamedTuple, cast

import torch
from torch import nn

from . import hf_config
from .configs import REAL, config_classes, fields_read, matching, smaller, whole
from .signatures import Parameter, parameters, resolved, without_none

_FLAGS = re.compile(
    r"^(use|is|has|with|do|return|enable|add|no|learn|learned)_|bias$|causal|training|bidirectional|batch_first"
)
_CONFIGS = re.compile(r"^(model_?)?(config|configuration|cfg|conf|args|hparams|hps|params|options|opts?|c)$")
_ACTIVATION = re.compile(r"act|nonlin")
_MODULE = re.compile(
    r"(^|_)(module|model|net|network|backbone|encoder|decoder|layer|head|sublayer|fn|func|norm|norm_layer)$"
)
_DEPTH = 4
_CALLABLE: Any = collections.abc.Callable


class Construction(NamedTuple):
    """Arguments of a constructor by name, how they read, and the parameters of which nothing was known."""

    arguments: Mapping[str, Any]
    text: str
    guessed: tuple[str, ...] = ()


class Unknown(Exception):
    """There is nothing to give for a parameter; the text names it."""


@dataclasses.dataclass
class _Maker:
    """Makes values for one constructor.

    Args:
        owner: the class.
        shrink: configurations get small sizes instead of their defaults.
        unknown: makes what is given where neither annotation nor name say anything.
    """

    owner: type
    shrink: bool
    unknown: Callable[[], Any]
    guessed: list[str]
    texts: dict[int, str]

    def arguments(self, kind: Any, depth: int = 0) -> dict[str, Any]:
        """Those without default, and a configuration even with one that is None."""
        found: dict[str, Any] = {}
        for one in parameters(kind):
            if one.required or (depth == 0 and one.default is None and _is_configuration(one)):
                found[one.name] = self.value(one, depth)
        return found

    def value(self, one: Parameter, depth: int = 0) -> Any:
        """Something for one parameter.

        Raises:
            Unknown: there is nothing.
        """
        hint, optional = without_none(one.hint)
        vague = hint is None or isinstance(hint, str) or hint in (Any, dict) or hf_config.is_base(hint)
        if _is_configuration(one) and vague:
            return self._configuration(one.name)
        if hint in (None, Any, inspect.Parameter.empty):
            return self._by_name(one.name)
        if optional and not hf_config.is_config(hint):
            return None
        return self._by_hint(one.name, hint, depth)

    def _by_name(self, name: str) -> Any:
        low = name.lower()
        if _FLAGS.search(low):
            return False
        if _ACTIVATION.search(low):
            return nn.ReLU()
        if low == "device":
            return "cpu"
        if low == "dtype":
            return torch.float32
        if _MODULE.search(low):
            return nn.Identity()
        real = matching(REAL[:3], low)
        size = real if real is not None else whole(low)
        if size is None:
            self.guessed.append(name)
            return self.unknown()
        return [size] * 4 if low in ("layers", "depths", "blocks") and self.unknown is not _number else size

    def _by_hint(self, name: str, hint: Any, depth: int) -> Any:
        if isinstance(hint, str):
            hint = _word(hint)
        origin, inner = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Literal:
            return inner[0]
        if origin is type or hint is type:
            return self._class(name, inner[0] if inner else None)
        if _CALLABLE in (origin, hint) or hint is Callable:
            return self._callable(name, inner)
        kind: Any = origin or hint
        if not inspect.isclass(kind):
            return self._by_name(name)
        if issubclass(kind, (list, tuple, set, frozenset, collections.abc.Iterable)) and kind is not str and origin:
            return self._several(name, kind, inner, depth)
        if kind.__name__ in ("list", "tuple", "Size"):
            size = whole(name)
            return cast("Any", kind)([32 if size is None else size] * 2)
        if issubclass(kind, collections.abc.Mapping):
            return {}
        return self._instance(name, kind, depth)

    def _instance(self, name: str, kind: Any, depth: int) -> Any:
        low = name.lower()
        if kind is bool:
            return False
        if issubclass(kind, enum.Enum):
            return next(iter(kind))
        if kind is int:
            size = whole(low)
            return 32 if size is None else size
        if kind is float:
            real = matching(REAL, low)
            return 0.1 if real is None else real
        if kind is str:
            return (
                "relu" if _ACTIVATION.search(low) else "cpu" if low == "device" else "zeros" if "pad" in low else name
            )
        if kind is torch.device:
            return torch.device("cpu")
        if kind is torch.dtype:
            return torch.float32
        if kind is torch.Tensor or kind is nn.Parameter:
            return kind(torch.ones(32))
        if issubclass(kind, pathlib.PurePath):
            raise Unknown(f"{name}: {kind.__name__}")
        if kind is nn.Module:
            return nn.ReLU() if _ACTIVATION.search(low) else nn.Identity()
        if hf_config.is_config(kind):
            return self._hugging_face(kind)
        if kind.__module__ == "builtins" or inspect.isabstract(kind) or depth >= _DEPTH:
            raise Unknown(f"{name}: {kind.__name__}")
        return self._made(name, kind, depth)

    def _made(self, name: str, kind: Any, depth: int) -> Any:
        """An instance of one of the user's classes."""
        given = self.arguments(kind, depth + 1)
        if self.shrink and not issubclass(kind, nn.Module):
            given = {**smaller(kind), **given}
        text = f"{kind.__name__}({described(given, self.texts)})"
        try:
            made = kind(**given)
        except Exception as error:
            raise Unknown(f"{name}: {text} raised {type(error).__name__}: {error}") from error
        self.texts[id(made)] = text
        return made

    def _hugging_face(self, kind: Any) -> Any:
        if not self.shrink:
            made = kind()
            self.texts[id(made)] = f"{kind.__name__}()"
            return made
        small = hf_config.shrunken(kind)
        chosen = [f"{name}={value}" for name, value in small.chosen.items()]
        more = ", ..." if len(chosen) > 4 else ""
        self.texts[id(small.config)] = f"{kind.__name__}({', '.join(chosen[:4])}{more})"
        return small.config

    def _several(self, name: str, kind: Any, inner: tuple[Any, ...], depth: int) -> Any:
        item = inner[0] if inner else None
        many = 2 if Ellipsis in inner or not issubclass(kind, tuple) else len(inner)
        if re.search(r"layers|depths|blocks", name) and item is int and many == 2 and kind is not tuple:
            many = 4  # stages, as those of a ResNet
        kinds = inner if issubclass(kind, tuple) and Ellipsis not in inner and inner else (item,) * many
        singular = name[:-1] if name.endswith("s") else name
        items: list[Any] = [self._by_hint(singular, each, depth) if each is not None else 32 for each in kinds]
        concrete: Any = kind if kind in (tuple, set, frozenset) else list
        return concrete(items)

    def _class(self, name: str, base: Any) -> Any:
        base, _ = without_none(base)
        if _ACTIVATION.search(name.lower()):
            return nn.ReLU
        if base in (None, nn.Module) or not isinstance(base, type):
            return nn.Identity  # takes any arguments
        return base

    def _callable(self, name: str, inner: tuple[Any, ...]) -> Any:
        made, _ = without_none(inner[-1]) if inner else (None, False)
        if isinstance(made, type) and issubclass(made, nn.Module):  # a factory
            return self._class(name, made)
        return nn.ReLU() if _ACTIVATION.search(name.lower()) else nn.Identity()

    def _configuration(self, name: str) -> Any:
        """For a parameter of that name without annotation: the class that fits, or just the fields that are read."""
        module = sys.modules.get(self.owner.__module__, types)
        declared = getattr(self.owner, "config_class", None)
        candidates = [declared] if isinstance(declared, type) else config_classes(self.owner, module)
        for kind in candidates:
            try:
                return self._hugging_face(kind) if hf_config.is_config(kind) else self._made(name, kind, 1)
            except Exception:
                continue
        return self._fields_read(name, module)

    def _fields_read(self, name: str, module: types.ModuleType) -> Any:
        attributes, keys = fields_read(name, module)
        found = {field: self._by_name(field) for field in [*attributes, *keys]}
        made: Any = found if keys and not set(attributes) - set(dir(dict)) else types.SimpleNamespace(**found)
        self.texts[id(made)] = f"fields {described(found, self.texts)}"
        return made


def _number() -> int:
    return 32


def _numbers() -> list[int]:
    return [32, 32]


_KINDS: tuple[tuple[bool, Callable[[], Any]], ...] = (
    (True, _number),
    (False, _number),
    (True, nn.Identity),
    (True, _numbers),
    (True, lambda: nn.Identity),
    (True, lambda: None),
)


def constructions(owner: type) -> Iterator[Construction]:
    """Ways to make an instance, the likeliest first.

    Raises:
        Unknown: there is nothing to give for a parameter.
    """
    seen: set[str] = set()
    for shrink, unknown in _KINDS:
        maker = _Maker(owner, shrink, unknown, [], {})
        given = maker.arguments(owner)
        text = described(given, maker.texts)
        if text not in seen:
            seen.add(text)
            yield Construction(given, text, tuple(maker.guessed))


def described(given: Mapping[str, Any], texts: Mapping[int, str]) -> str:
    """Arguments as they would be written."""
    return ", ".join(f"{name}={texts.get(id(value)) or _shown(value)}" for name, value in given.items())


def _shown(value: Any) -> str:
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, torch.Tensor):
        return f"a tensor {list(value.shape)}"
    return " ".join(repr(value).split())[:60]


def _is_configuration(one: Parameter) -> bool:
    hint, _ = without_none(one.hint)
    return bool(_CONFIGS.match(one.name.lower())) or hf_config.is_config(hint)


def _word(text: str) -> Any:
    """An annotation that could not be evaluated."""
    name = text.partition("[")[0].strip()
    known = resolved(name, {**vars(typing), "torch": torch, "nn": nn, "Tensor": torch.Tensor})
    return known if not isinstance(known, str) else None
