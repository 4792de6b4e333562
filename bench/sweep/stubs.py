"""A stand-in for torchvision, which timm imports and which there is not for every build of torch.

Only importing has to work: nothing of it is called by the forward of a model that is measured.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from typing import Any


class _Asked(type):
    """A class of the stand-in has every attribute."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()


class _Anything(metaclass=_Asked):
    """What any name of the stand-in is: a class that can be called, subclassed and asked for anything."""

    def __init__(self, *arguments: object, **named: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()

    def __call__(self, *arguments: object, **named: object) -> Any:
        return arguments[0] if arguments else _Anything()


class _Module(types.ModuleType):
    __version__ = "0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (_Anything,), {"__module__": self.__name__})
        setattr(self, name, made)
        return made


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name == "torchvision" or name.startswith("torchvision."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> Any:
        made = _Module(spec.name)
        made.__path__ = []
        return made

    def exec_module(self, module: Any) -> None:
        pass


def install() -> None:
    """Put the stand-in in place where torchvision is missing. transformers goes on without it, but with timm."""
    if importlib.util.find_spec("torchvision") is not None:
        return
    if importlib.util.find_spec("transformers") is not None:
        from transformers.utils import import_utils

        import_utils.is_torchvision_available()  # both answers are cached
        kept, import_utils.is_torchvision_available = import_utils.is_torchvision_available, lambda: True
        getattr(import_utils.is_timm_available, "cache_clear", lambda: None)()
        import_utils.is_timm_available()
        import_utils.is_torchvision_available = kept
    sys.meta_path.append(_Finder())
