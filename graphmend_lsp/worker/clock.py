"""Times of calls: cold start and steady state, eager and compiled.  All times are seconds."""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any, Callable, NamedTuple

import torch

from .entries import Call
from .observe import used_up
from .snapshot import tensors_in

_torch: Any = torch
COLD_CALLS = 10
"""At most so many calls are made until none compiles any more."""
LEAST, MOST = 7, 300
"""Runs of the steady state."""
BUDGET = 4.0
"""Seconds for the steady state, eager and compiled together."""
_BLOCK = 3
"""So many calls of one kind follow each other: what is alternated is slowed down alike by whatever else runs."""


class Quartiles(NamedTuple):
    """Median and quartiles of so many runs."""

    median: float
    low: float
    high: float
    runs: int


class Times(NamedTuple):
    """``peak_memory`` in bytes; ``launches`` is (kernels, CUDA graphs) of one call, None on a CPU."""

    cold: float
    to_steady: float
    eager: Quartiles
    compiled: Quartiles
    peak_memory: int | None
    launches: tuple[int, int] | None


class Clock:
    """Times one entry on one device."""

    def __init__(self, fresh: Callable[[], Call], device: str, backward: bool) -> None:
        """``fresh`` makes the arguments anew, outside of what is timed; ``backward``: gradients are taken as well."""
        self._fresh = fresh
        self._cuda = device == "cuda"
        self._backward = backward

    def measure(self, eager: Callable[..., Any], compiled: Callable[..., Any], note: Callable[[str], None]) -> Times:
        """Time the first compiled calls, then both in the steady state.

        Raises:
            Exception: what a call raises, a compiler's own included.
        """
        note("cold")
        first = [self._call(compiled)]
        while len(first) < COLD_CALLS:
            first.append(self._call(compiled))
            if len(first) > 4 and first[-2] < 2 * first[-1]:  # CUDA graphs are recorded in the third call
                break
        note("steady")
        self._call(eager)
        slow, fast = self._alternate(eager, compiled)
        settled = 2 * fast.median
        steady_from = next((i for i, seconds in enumerate(first) if seconds <= settled), len(first))
        peak = self._peak(compiled)
        return Times(first[0], sum(first[:steady_from]), slow, fast, peak, self._launches(compiled))

    def _alternate(self, one: Callable[..., Any], other: Callable[..., Any]) -> tuple[Quartiles, Quartiles]:
        times: tuple[list[float], list[float]] = ([], [])
        deadline = time.perf_counter() + BUDGET
        while len(times[1]) < MOST and (len(times[1]) < LEAST or time.perf_counter() < deadline):
            for function, found in ((one, times[0]), (other, times[1])):
                found += [self._call(function) for _ in range(_BLOCK)]
        return quartiles(times[0]), quartiles(times[1])

    def _call(self, function: Callable[..., Any]) -> float:
        call = self._fresh()
        self._wait()
        if self._cuda:
            begin, end = (_torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            self._run(function, call)
            end.record()
            self._wait()
            return float(begin.elapsed_time(end)) / 1000
        started = time.perf_counter()
        self._run(function, call)
        return time.perf_counter() - started

    def _run(self, function: Callable[..., Any], call: Call) -> None:
        result = used_up(function(*call.args, **call.kwargs))
        if self._backward:
            parts = [t.sum() for t in tensors_in([result]) if t.requires_grad and t.is_floating_point()]
            if parts:
                total: Any = parts[0]
                for part in parts[1:]:
                    total = total + part
                total.backward()

    def _wait(self) -> None:
        if self._cuda:
            _torch.cuda.synchronize()

    def _peak(self, function: Callable[..., Any]) -> int | None:
        if self._cuda:
            _torch.cuda.reset_peak_memory_stats()
            self._call(function)
            return int(_torch.cuda.max_memory_allocated())
        try:
            import resource
        except ImportError:  # Windows
            return None
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024

    def _launches(self, function: Callable[..., Any]) -> tuple[int, int] | None:
        if not self._cuda:
            return None
        try:
            profiler: Any = _torch.profiler
            kinds = [profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA]
            with profiler.profile(activities=kinds) as recorded:
                self._call(function)
            kernels = graphs = 0
            for event in recorded.events():
                name = str(event.name)
                if name in ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx"):
                    kernels += 1
                elif name == "cudaGraphLaunch":
                    graphs += 1
        except Exception:  # the profiler is not available everywhere
            return None
        return kernels, graphs


def quartiles(times: list[float]) -> Quartiles:
    """Median and quartiles of at least two times."""
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    return Quartiles(middle, low, high, len(times))
