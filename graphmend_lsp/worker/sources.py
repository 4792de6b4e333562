"""Where entries and their arguments come from, for what runs them."""

from __future__ import annotations

import copy
import os
from typing import Any, Callable

import torch

from . import entries, load, vary
from .channel import Failure
from .entries import Inputs
from .vary import Target, entry_moved


class Sources:
    """Where entries and their inputs come from."""

    def __init__(self, overlay: load.Overlay, job: dict[str, Any], module: Any) -> None:
        self._module = module
        self._target = Target(getattr(torch, job["dtype"]) if job["dtype"] else None, job["device"] or None)
        self._make_up: bool = job.get("make_up", False)
        self._functions: list[tuple[str, Callable[[], Any]]] = []
        for path, name, function in job["inputs"]:
            source = load.import_file(overlay, path, name)
            self._functions.append((f"{function}() of {os.path.basename(path)}", entries.lookup(source, function)))
        if not self._functions:
            for function in (entries.EXAMPLE, entries.KERNEL):
                if callable(getattr(module, function, None)):
                    self._functions = [(f"{function}()", getattr(module, function))]
                    break
        self._init: Callable[[], Any] | None = getattr(module, entries.CONSTRUCTOR, None)
        if job["init"]:
            path, name, function = job["init"]
            self._init = entries.lookup(load.import_file(overlay, path, name), function)

    def of(self, name: str) -> tuple[Callable[[], Any], Inputs, str]:
        """How to build an entry, its calls, and where these come from.

        Raises:
            Failure: there are no inputs, or the entry cannot be built.
        """
        if not self._functions and self._make_up:
            from . import synthesis

            made = synthesis.synthesize(self._module, name, self._init, self._target.device or "")
            calls = [vary.moved(call, self._target) for call in made.calls]
            return entry_moved(made.build, self._target), calls, made.how
        if not self._functions:
            raise Failure(
                "inputs",
                f"no inputs: write a function {entries.EXAMPLE}() that returns a tuple of arguments, or name one",
            )
        build = entries.builder(self._module, name, self._init)
        calls = [call for what, make in self._functions for call in entries.calls_of(entries.make(make, what))]
        build, calls = entry_moved(build, self._target), [vary.moved(call, self._target) for call in calls]
        try:
            target = build()
        except (Exception, SystemExit) as error:
            raise Failure("build", f"building {name} raised {load.described(error)}") from error
        for call in calls:
            try:
                copy.deepcopy(call)
            except Exception as error:
                raise Failure("inputs", f"the arguments cannot be copied: {load.described(error)}") from error
            if not entries.binds(target, call):
                raise Failure("inputs", f"the arguments of {self._functions[0][0]} do not fit {name}")
        return build, calls, ", ".join(what for what, _ in self._functions)

    def modules(self) -> list[str]:
        return entries.modules_of(self._module)
