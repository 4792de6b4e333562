"""Entries by name, and the inputs to call them with."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any, Callable, List, Mapping, NamedTuple, Sequence, cast

import torch

from .channel import Failure
from .load import described
from .observe import set_seed

EXAMPLE, KERNEL, CONSTRUCTOR = "example_inputs", "get_inputs", "get_init_inputs"
"""Functions of a file that make inputs: the first two those of a call, the last those of the constructor."""


class Call(NamedTuple):
    """The arguments of one call."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


Inputs = List[Call]


def seed() -> None:
    """Start all generators anew, so that every process makes the same weights and inputs."""
    set_seed(0)


def lookup(module: ModuleType, name: str) -> Any:
    """The object of a qualified name.

    Raises:
        Failure: kind "entry".
    """
    target: Any = module
    for part in name.split("."):
        try:
            target = getattr(target, part)
        except AttributeError:
            raise Failure("entry", f"{module.__name__} has no {name}") from None
    return target


def builder(module: ModuleType, name: str, make_arguments: Callable[[], Any] | None) -> Callable[[], Any]:
    """How to make an entry anew: the module of a class, a method bound to one, or a plain function.

    ``torch.compile`` as a decorator is taken off: the caller decides how to compile.

    Raises:
        Failure: kind "entry", no such name, or not something to call.
    """
    target = lookup(module, name)
    owner_name, _, method = name.rpartition(".")
    owner: Any = lookup(module, owner_name) if owner_name else None
    if isinstance(target, type):
        owner, method = target, ""
    if not isinstance(owner, type):
        function: Any = _uncompiled(target)
        if not callable(function):
            raise Failure("entry", f"{name} is {type(function).__name__}, not a function or class")
        return lambda: function
    if method == "forward" and issubclass(owner, torch.nn.Module):
        method = ""

    def build() -> Any:
        seed()
        args, kwargs = call_of(make_arguments()) if make_arguments is not None else Call((), {})
        seed()
        instance: Any = owner(*args, **kwargs)
        return _uncompiled(getattr(instance, method)) if method else instance

    return build


def _uncompiled(function: Any) -> Any:
    return getattr(function, "_torchdynamo_orig_callable", function)


def call_of(value: Any) -> Call:
    """What an input function returns, as arguments: a dict is keywords, a tuple or list positions, all else one."""
    if isinstance(value, dict):
        return Call((), cast("dict[str, Any]", value))
    if isinstance(value, (tuple, list)):
        return Call(tuple(cast("Sequence[Any]", value)), {})
    return Call((value,), {})


def calls_of(value: Any) -> Inputs:
    """The same for several calls: a list of tuples or dicts is one call each."""
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if items and all(isinstance(item, (tuple, dict)) for item in items):
            return [call_of(item) for item in items]
    return [call_of(value)]


def make(function: Callable[[], Any], what: str) -> Any:
    """Call an input function.

    Raises:
        Failure: kind "inputs", what it raised.
    """
    seed()
    try:
        return function()
    except (Exception, SystemExit) as error:
        raise Failure("inputs", f"{what} raised {described(error)}") from error


def binds(target: Any, call: Call) -> bool:
    """Whether a call's arguments fit the parameters of what is called; True where that cannot be known."""
    function = target.forward if isinstance(target, torch.nn.Module) else target
    try:
        inspect.signature(function).bind(*call.args, **call.kwargs)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def modules_of(module: ModuleType) -> list[str]:
    """The ``nn.Module`` classes that a file defines and that can be called."""
    fields: dict[str, Any] = vars(module)
    return [
        name
        for name, value in fields.items()
        if isinstance(value, type)
        and issubclass(value, torch.nn.Module)
        and value.__module__ == module.__name__
        and value.forward is not torch.nn.Module.forward
    ]
