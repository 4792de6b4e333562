"""Run both arms in workers, one after the other: two that are timed at once would slow each other down."""

from __future__ import annotations

import contextlib
import datetime
import os
import tempfile
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any, Literal

import graphmend_lsp
from graphmend_lsp.profile.arms import Reader, failure_of
from graphmend_lsp.profile.mended import Mended, confirmed, mend
from graphmend_lsp.profile.plan import Plan
from graphmend_lsp.profile.report import Failure, Report
from graphmend_lsp.project import layout
from graphmend_lsp.project.inputs import module_of
from graphmend_lsp.project.process import WorkerError, WorkerProcess

Progress = Callable[[str, int], None]
"""Takes the stage in words, and how much is done in percent."""

_Name = Literal["original", "mended"]
_STAGES = {
    "start": (0, "starting Python"),
    "import": (8, "importing"),
    "program": (8, "running the program until it calls the entry"),
    "inputs": (12, "making inputs"),
    "count": (18, "counting graphs"),
    "eager": (30, "running eagerly"),
    "warm-up": (35, "starting the compiler"),
    "cold": (45, "timing the cold start"),
    "steady": (75, "timing the steady state"),
}


def profile(
    plan: Plan,
    python: str,
    *,
    folder: str,
    progress: Progress,
    cancelled: Callable[[], bool] = lambda: False,
) -> Report:
    """Profile one entry; what goes wrong is in the report.  Blocks; ``cancelled`` is asked several times a second.

    Args:
        python: the user's interpreter.
        folder: where the processes run.
    """
    started = time.monotonic()
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    options = plan.options
    backend = options.backend if options.timing else ""
    compared = plan.compared is not None
    report = Report(plan.path, plan.entry, python=python, when=now, backend=backend, compared=compared)
    run = _Run(plan, python, folder, progress, cancelled)
    try:
        report = run.report(report)
    except WorkerError as error:
        report = replace(report, failure=run.failure(error))
    return replace(report, output=run.output, seconds=round(time.monotonic() - started, 1))


class _Run:
    """Both arms of one profile."""

    def __init__(self, plan: Plan, python: str, folder: str, progress: Progress, cancelled: Callable[[], bool]) -> None:
        self._plan = plan
        self._python = python
        self._folder = folder
        self._progress = progress
        self._cancelled = cancelled
        self._deadline = time.monotonic() + plan.options.timeout
        self.output: tuple[str, ...] = ()
        """The last lines that the original printed."""

    def report(self, report: Report) -> Report:
        """The report filled in.

        Raises:
            WorkerError: the original could not be measured.
        """
        plan, mending = self._plan, self._plan.compared
        with contextlib.ExitStack() as stack:
            scratch = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="graphmend-profile-", ignore_cleanup_errors=True)
            )
            self._progress(_STAGES["start"][1], 0)
            first = stack.enter_context(self._worker(scratch, "original"))
            second = stack.enter_context(self._worker(scratch, "mended")) if mending is not None else None
            try:
                read = self._follow(first, "original", Mended({}, {}, (), 0, ()))
            finally:
                first.close()
                self.output = first.last_lines()
            arm = read.arm()
            report = replace(
                report,
                device=read.device,
                device_name=read.device_name,
                torch=read.torch,
                inputs=read.inputs,
                training=read.training,
                original=arm,
                notes=tuple(read.notes()),
            )
            if mending is None or second is None:
                return report
            self._progress("mending", 50)
            mended = mend(plan, mending, read.files(), self._go_on)
            broke = {(site.path, site.line) for site in arm.sites}
            in_graphs: dict[str, set[int]] = {}
            for graph in arm.graphs:
                for path, lines in graph.lines.items():
                    in_graphs.setdefault(path, set()).update(lines)
            report = replace(
                report,
                applied=mended.applied,
                left=mended.left,
                findings=confirmed(mended.findings, broke, in_graphs),
            )
            if not mended.texts:
                return report
            try:
                other = self._follow(second, "mended", mended)
            except WorkerError as error:
                if error.kind == "cancelled":
                    raise
                return replace(report, mended_failure=self.failure(error))
            return replace(
                report,
                mended=other.arm(),
                same_inputs=_same(read.digest, other.digest),
                same_result=_same(read.result, other.result),
            )

    @contextlib.contextmanager
    def _worker(self, scratch: str, name: _Name) -> Generator[WorkerProcess]:
        caches = os.path.join(scratch, name)
        environment = {
            "PYTHONDONTWRITEBYTECODE": "1",
            "TORCHINDUCTOR_CACHE_DIR": os.path.join(caches, "inductor"),
            "TRITON_CACHE_DIR": os.path.join(caches, "triton"),
            "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",  # else no start is a cold one
        }
        with WorkerProcess(self._python, self._folder, environment) as process:
            yield process

    def _follow(self, process: WorkerProcess, name: _Name, mended: Mended) -> Reader:
        """Give a process its job and take what it says until it has finished.

        Raises:
            WorkerError: it could not do it.
        """
        process.send(self._job({**self._plan.texts, **mended.texts}))
        reader = Reader(mended, self._plan.texts)
        halves = self._plan.compared is not None
        for event in process.events(self._deadline, self._cancelled):
            if event["event"] == "stage" and event["stage"] in _STAGES:
                done, text = _STAGES[event["stage"]]
                percent = (done // 2 if name == "original" else 50 + done // 2) if halves else done
                self._progress(f"{text} ({name})" if halves else text, percent)
            reader.take(event)
            if event["event"] == "finished":
                return reader
        raise WorkerError("died", "the code ended its process")

    def _job(self, texts: dict[str, str]) -> dict[str, Any]:
        plan, options = self._plan, self._plan.options
        sources = [*options.inputs, *([options.init] if options.init is not None else [])]
        roots = [root for path in (plan.path, *(s.path for s in sources)) for root in layout.search_roots(path)]
        capture = options.capture
        return {
            "kind": "profile",
            "path": plan.path,
            "name": module_of(plan.path),
            "entry": plan.entry,
            "roots": [] if capture is not None else list(dict.fromkeys(roots)),
            "texts": texts,
            "packages": {"graphmend_lsp": graphmend_lsp.__file__},  # mended code takes its runtime from here
            "inputs": [[s.path, module_of(s.path), s.function] for s in options.inputs],
            "init": None
            if options.init is None
            else [options.init.path, module_of(options.init.path), options.init.function],
            "dtype": options.dtype,
            "device": options.device,
            "capture": None
            if capture is None
            else {"script": capture.script, "module": capture.module, "arguments": list(capture.arguments)},
            "training": options.training,
            "timing": options.timing,
            "backend": options.backend,
            "mode": options.mode,
        }

    def _go_on(self) -> None:
        """Whether to go on; between two files there is nobody else to ask.

        Raises:
            WorkerError: the user has cancelled, or it takes too long.
        """
        if self._cancelled():
            raise WorkerError("cancelled", "cancelled")
        if time.monotonic() > self._deadline:
            raise WorkerError("timeout", "it took too long")

    def failure(self, error: WorkerError) -> Failure:
        return failure_of(error.kind, str(error), self._python, self._plan.options.timeout)


def _same(one: str, other: str) -> bool | None:
    return one == other if one and other else None
