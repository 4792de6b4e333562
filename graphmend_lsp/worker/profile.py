"""Profile one arm: the entry as it is, or mended."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import importlib.util
import os
import platform
import traceback
from typing import Any, Callable, Generator, NamedTuple

import torch
from torch.utils._pytree import tree_map

from . import capture, entries, graphs, load
from .channel import Channel, Failure
from .clock import Clock, Quartiles, Times
from .entries import Call
from .observe import set_seed, used_up
from .snapshot import digest, tensors_in
from .sources import Sources

_torch: Any = torch
_COPIED_BYTES = 2 << 30
"""Larger modules are not copied for each measurement."""
_DIGESTED_BYTES = 512 << 20
"""Of more than this no digest is made."""


class Subject(NamedTuple):
    """What is measured.  ``build`` makes it anew, as far as it can be; ``inputs`` says where the calls come from."""

    build: Callable[[], Any]
    calls: list[Call]
    inputs: str
    captured: bool


def run(job: dict[str, Any], channel: Channel) -> None:
    """One arm.

    The job: ``path``, ``name`` (of the module) and ``entry``; ``roots``, ``texts`` and ``packages`` as ``load.install``
    takes them; ``inputs``, ``init``, ``dtype`` as ``sources`` takes them; ``capture`` None or ``{script, module,
    arguments}``; ``device`` ("", "cuda" or "cpu"), ``training``, ``timing``, ``backend``, ``mode``.

    Raises:
        Failure: it cannot be measured.
    """
    device = _device(job["device"])
    channel.send("device", device=device, name=_device_name(device), python=platform.python_version())
    load.leave_uncompiled()
    overlay = load.install(job["roots"], job["texts"], job["packages"])
    entries.seed()
    if job["capture"] is not None:
        _capture(job, channel, overlay, device)
        return
    channel.send("stage", stage="import")
    module = load.import_file(overlay, job["path"], job["name"])
    kept = load.Globals([module])
    channel.send("stage", stage="inputs")
    moved_to = device if device != "cpu" or job["device"] else ""
    sources = Sources(overlay, {**job, "device": moved_to, "make_up": True}, module)
    with _out_of_memory():
        build, calls, inputs = sources.of(job["entry"])

    def prepared() -> Any:
        kept.restore()
        target = build()
        owner = getattr(target, "__self__", target)
        if isinstance(owner, torch.nn.Module):
            owner.train(job["training"])
        return target

    with torch.set_grad_enabled(job["training"]):
        _measure(job, channel, Subject(prepared, list(calls), inputs, False), device)


def _capture(job: dict[str, Any], channel: Channel, overlay: load.Overlay, device: str) -> None:
    text = overlay.text(job["path"])
    if text is None:
        with open(job["path"], "rb") as stream:
            data = stream.read()
        try:
            text = importlib.util.decode_source(data)
        except (SyntaxError, UnicodeDecodeError) as error:  # the encoding that it names is not there, or not its own
            raise Failure("import", f"{os.path.basename(job['path'])}: {error}") from None
    program = capture.Program(job["capture"]["script"], job["capture"]["module"], tuple(job["capture"]["arguments"]))

    def found(target: Any, call: Call) -> None:
        """Inside the program's call, so that all contexts (autocast, no_grad) are as they are there."""
        call = _cut_off(call)
        where = _device_of(target, call) or device
        channel.send("device", device=where, name=_device_name(where), python=platform.python_version())
        inputs = f"captured from {program.name}"
        pristine, copied = _copied(target)
        build = (lambda: copy.deepcopy(pristine)) if copied else (lambda: target)
        code = 0
        try:
            _measure(job, channel, Subject(build, [call], inputs, True), where)
        except Failure as failure:
            channel.send("failed", kind=failure.kind, message=str(failure))
            code = 1
        except Exception as error:  # ours: else it would look as if the program had ended itself
            traceback.print_exc()
            channel.send("failed", kind="internal", message=f"{type(error).__name__}: {error}")
            code = 1
        finally:
            channel.flush()
            os._exit(code)  # the program goes no further, and nothing of it may hold us up

    channel.send("stage", stage="program")
    watch = capture.Watch(job["path"], job["entry"], text, found)
    capture.run(program, watch, overlay)


def _cut_off(call: Call) -> Call:
    """The arguments without what the program computed them by: that can neither be copied nor run backward twice."""

    def cut(value: Any) -> Any:
        is_computed = isinstance(value, torch.Tensor) and value.grad_fn is not None
        return value.detach().requires_grad_() if is_computed else value

    found: Call = tree_map(cut, call)
    return found


def _copied(target: Any) -> tuple[Any, bool]:
    owner = getattr(target, "__self__", target)
    if not isinstance(owner, torch.nn.Module):
        return target, False
    size = sum(t.numel() * t.element_size() for t in (*owner.parameters(), *owner.buffers()))
    if size > _COPIED_BYTES:
        return target, False
    try:
        return copy.deepcopy(target), True
    except Exception:  # e.g. tensors of a graph that autograd still needs
        return target, False


def _measure(job: dict[str, Any], channel: Channel, subject: Subject, device: str) -> None:
    """Count, then run eagerly, then time."""
    name = job["entry"]
    with _out_of_memory():
        target = subject.build()
        training = getattr(getattr(target, "__self__", target), "training", None)
        channel.send("subject", inputs=subject.inputs, training=training, digest=_digest(target, subject.calls))
        makers = [_fresh(call) for call in subject.calls]
        channel.send("stage", stage="count")
        set_seed(1)
        counted = graphs.compiled(target, makers)
        _reraise_memory(counted.error)
    fields = {
        "graphs": [graph._asdict() for graph in counted.graphs],
        "events": len(counted.events),
        "all_events": [list(event) for event in counted.all_events],
        "recompiles": [list(each) for each in counted.recompiles],
        "skipped": counted.skipped,
        "guards": counted.guards,
    }
    channel.send("stage", stage="eager")
    try:
        with _out_of_memory():
            set_seed(1)
            call = makers[0]()
            result = used_up(subject.build()(*call.args, **call.kwargs))
            said = _digest_of(tensors_in([result]))
    except (Exception, SystemExit) as error:
        if isinstance(error, Failure):
            raise
        kind = "inputs" if isinstance(error, TypeError) and not entries.binds(target, makers[0]()) else "raised"
        raise Failure(kind, f"{name} raised {load.described(error)} (inputs: {subject.inputs})") from error
    compiler = "" if counted.error is None else load.described(counted.error)
    channel.send("counted", **fields, result=said, compiler_error=compiler)
    if job["timing"] and not compiler:
        _time(job, channel, subject, makers[0], device)
    channel.send("finished")


def _time(job: dict[str, Any], channel: Channel, subject: Subject, fresh: Callable[[], Call], device: str) -> None:
    channel.send("stage", stage="warm-up")
    backend, mode = job["backend"], job["mode"]
    options: dict[str, Any] = {"backend": backend}
    if mode and backend == "inductor":
        options["mode"] = mode
    del subject.calls[1:]
    try:
        with _out_of_memory():
            _warm_up(options, device)
            _torch._dynamo.reset()
            target = subject.build()
            function: Any = _torch.compile(target, **options)
            owner = getattr(target, "__self__", target)
            training = torch.is_grad_enabled() and bool(getattr(owner, "training", False))
            set_seed(1)
            clock = Clock(fresh, device, backward=training)
            times = clock.measure(target, function, lambda stage: channel.send("stage", stage=stage))
    except Failure:
        raise
    except (Exception, SystemExit) as error:
        channel.send("untimed", reason=_why_untimed(error, backend))
        return
    channel.send("timed", **_plain(times))


def _warm_up(options: dict[str, Any], device: str) -> None:
    """Load and start the compiler, which is nobody's cold start but the first process's."""
    _torch.compile(_nothing_much, **options)(torch.ones(8, device=device or "cpu"))


def _nothing_much(x: torch.Tensor) -> torch.Tensor:
    return (x + 1).relu()


def _why_untimed(error: BaseException, backend: str) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    if "InvalidCxxCompiler" in text or "No working C++ compiler" in text or "C++ compiler" in text:
        return f"{backend} needs a C++ compiler, and there is none: graphs and breaks were counted, nothing was timed"
    if "Triton" in text or "triton" in text:
        return f"{backend} needs Triton, which does not work here ({text[:160]}): nothing was timed"
    return f"{backend} failed, so nothing was timed: {text[:300]}"


def _plain(times: Times) -> dict[str, Any]:
    def quartiles(found: Quartiles) -> dict[str, Any]:
        return found._asdict()

    launches = None if times.launches is None else {"kernels": times.launches[0], "graphs": times.launches[1]}
    return {
        "cold": times.cold,
        "to_steady": times.to_steady,
        "eager": quartiles(times.eager),
        "compiled": quartiles(times.compiled),
        "peak_memory": times.peak_memory,
        "launches": launches,
    }


def _fresh(call: Call) -> Callable[[], Call]:
    """Copies of the arguments, since the code may write into them; the arguments themselves if they have none."""
    try:
        kept = copy.deepcopy(call)
    except Exception:
        return lambda: call
    return lambda: copy.deepcopy(kept)


# -- devices and memory --------------------------------------------------------------------------------


def _device(wanted: str) -> str:
    """The device to use.

    Raises:
        Failure: kind "no-cuda".
    """
    has_cuda = bool(torch.cuda.is_available())
    if wanted == "cuda" and not has_cuda:
        build = "this torch is built without CUDA" if not _torch.version.cuda else "torch finds no CUDA device"
        raise Failure("no-cuda", f"{build} (torch {torch.__version__}); --device cpu profiles on the CPU")
    return wanted or ("cuda" if has_cuda else "cpu")


def _device_name(device: str) -> str:
    if device == "cuda":
        return str(torch.cuda.get_device_name())
    with contextlib.suppress(OSError):
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _device_of(target: Any, call: Call) -> str:
    owner = getattr(target, "__self__", target)
    found = list(owner.parameters()) if isinstance(owner, torch.nn.Module) else []
    found += tensors_in([list(call.args), dict(call.kwargs)])
    kinds = [tensor.device.type for tensor in found]
    return "cuda" if "cuda" in kinds else "cpu" if kinds else ""


@contextlib.contextmanager
def _out_of_memory() -> Generator[None]:
    """What an allocator raises, as a result."""
    try:
        yield
    except Failure as failure:
        _reraise_memory(failure.__cause__)
        raise
    except Exception as error:
        _reraise_memory(error)
        raise


def _reraise_memory(error: BaseException | None) -> None:
    if error is None:
        return
    kinds = {type(error).__name__, *(cls.__name__ for cls in type(error).__mro__)}
    text = " ".join(str(error).split())
    if "OutOfMemoryError" in kinds or isinstance(error, MemoryError) or "can't allocate memory" in text:
        raise Failure("out-of-memory", f"out of memory: {text[:300]}") from error


# -- digests -------------------------------------------------------------------------------------------


def _digest(target: Any, calls: list[Call]) -> str:
    """Of the parameters, buffers and arguments; "" if they are too large."""
    owner = getattr(target, "__self__", target)
    found: list[torch.Tensor] = []
    if isinstance(owner, torch.nn.Module):
        found += [*owner.parameters(), *owner.buffers()]
    return _digest_of([*found, *tensors_in([[list(call.args), dict(call.kwargs)] for call in calls])])


def _digest_of(tensors: list[torch.Tensor]) -> str:
    if sum(t.numel() * t.element_size() for t in tensors) > _DIGESTED_BYTES:
        return ""
    found = hashlib.sha256()
    for tensor in tensors:
        try:
            found.update(digest(tensor.detach().cpu()).encode())
        except Exception:  # a tensor without elements of its own (meta, sparse, quantized)
            found.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
    return found.hexdigest()
