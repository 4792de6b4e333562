"""Run the two arms of a comparison side by side and gather the verdicts."""

from __future__ import annotations

import os
import re
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

from graphmend_lsp.project import layout
from graphmend_lsp.project.inputs import INPUT_FUNCTIONS, Source, module_of
from graphmend_lsp.project.process import WorkerError, WorkerProcess
from graphmend_lsp.verify.plan import Plan
from graphmend_lsp.verify.report import Counts, Differing, EntryReport, NotCompared, Report

Progress = Callable[[str], None]


def verify(
    plan: Plan,
    python: str,
    *,
    folder: str | None = None,
    progress: Progress = lambda text: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Report:
    """Run original and mended code in two processes of ``python`` and compare what they do.

    What goes wrong in a process makes the entries concerned inconclusive, with the reason.  ``folder`` is where the
    processes run; default: the one of the file's project.
    """
    started = time.monotonic()
    if all(plan.mended.get(path) == text for path, text in plan.original.items()):
        return Report(plan.path, _unchanged(plan), plan.applied, plan.against, python=python)
    run = _Run(plan, python, folder or _project(plan.path), progress, cancelled)
    entries = run.entries()
    return Report(
        plan.path,
        entries,
        plan.applied,
        plan.against,
        run.torch,
        python,
        plan.options.calls,
        round(time.monotonic() - started, 1),
        tuple(run.left_out),
    )


def _unchanged(plan: Plan) -> tuple[EntryReport, ...]:
    reason = "there is nothing to mend" + ("" if plan.entries else " (name a function that is compiled as FILE::NAME)")
    if plan.against:
        reason = "the files are the same"
    elif plan.left:
        reason = f"no fix can be applied ({plan.left} left: graphmend check says why)"
    return tuple(EntryReport(name, "unchanged", reason) for name in plan.entries or ("",))


def _project(path: str) -> str:
    root = layout.import_root(path)
    return layout.project_root(root) or root


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


class _Arm:
    """One process and what it has said; read in a thread of its own, since both arms run at the same time."""

    def __init__(self, run: _Run, name: str, scratch: str) -> None:
        self.name = name
        self.out = os.path.join(scratch, f"{name}.pt")
        environment = {
            "PYTHONDONTWRITEBYTECODE": "1",
            "TORCHINDUCTOR_CACHE_DIR": os.path.join(scratch, f"{name}-inductor"),
        }
        self.process = WorkerProcess(run.python, run.folder, environment)
        self.events: list[dict[str, Any]] = []
        self.error: WorkerError | None = None

    def last(self, event: str, entry: str) -> dict[str, Any] | None:
        return next((e for e in reversed(self.events) if e["event"] == event and e.get("entry") == entry), None)


class _Run:
    def __init__(self, plan: Plan, python: str, folder: str, progress: Progress, cancelled: Callable[[], bool]) -> None:
        self.plan = plan
        self.python = python
        self.folder = folder
        self.torch = ""
        self.left_out: list[tuple[str, str]] = []
        self._progress = progress
        self._cancelled = cancelled
        self._deadline = time.monotonic() + plan.options.timeout

    def entries(self) -> tuple[EntryReport, ...]:
        with tempfile.TemporaryDirectory(prefix="graphmend-verify-", ignore_cleanup_errors=True) as scratch:
            arms: list[_Arm] = []
            try:
                for name in ("original", "mended"):
                    arms.append(_Arm(self, name, scratch))
                return self._compare(*arms)
            except WorkerError as error:
                names = self.plan.entries or ("",)
                return tuple(EntryReport(name, "inconclusive", self._reason(error, "")) for name in names)
            finally:
                for arm in arms:
                    arm.process.close()

    def _compare(self, original: _Arm, mended: _Arm) -> tuple[EntryReport, ...]:
        """The original chooses the entries; then both run, and the mended arm compares at the end."""
        names = list(self.plan.entries)
        candidates = names if self.plan.choose else None
        original.process.send(self._job(original, [] if self.plan.choose else names, candidates))
        if self.plan.choose:
            names = self._wait_for_choice(original)
        mended.process.send(self._job(mended, names, candidates))
        other = threading.Thread(target=self._follow, args=(original, False), daemon=True)
        other.start()
        self._follow(mended, True)
        other.join()
        for arm in (original, mended):
            if arm.error is not None and arm.error.kind == "cancelled":
                raise arm.error
        if original.error is None and mended.error is None:
            mended.process.send({"against": original.out})
            self._follow(mended, True)
            original.process.send({})
        return tuple(self._entry(name, original, mended) for name in names)

    def _wait_for_choice(self, arm: _Arm) -> list[str]:
        for event in arm.process.events(self._deadline, self._cancelled):
            self._note(arm, event, True)
            if event["event"] == "chosen":
                self.left_out = [(name, reason) for name, reason in event["left_out"]]
                if not event["entries"]:
                    reasons = "; ".join(f"{name}: {reason}" for name, reason in self.left_out)
                    raise WorkerError("entry", f"no entry can be called ({reasons})")
                return list(event["entries"])
        raise WorkerError("died", "the process ended before it had begun")

    def _follow(self, arm: _Arm, shown: bool) -> None:
        """Take what an arm says until it has observed all, has compared, or ends."""
        try:
            for event in arm.process.events(self._deadline, self._cancelled):
                self._note(arm, event, shown)
                if event["event"] in ("observed", "finished"):
                    return
            arm.error = WorkerError("died", "the code ended its process")
        except WorkerError as error:
            arm.error = error

    def _note(self, arm: _Arm, event: dict[str, Any], shown: bool) -> None:
        arm.events.append(event)
        if event["event"] == "started":
            self.torch = str(event["torch"])
        elif event["event"] == "run" and shown:
            self._progress(
                f"{event['entry']}: {event['label']}, {event['backend']} ({event['done'] + 1}/{event['total']})"
            )

    def _job(self, arm: _Arm, names: list[str], candidates: list[str] | None) -> dict[str, Any]:
        plan, options = self.plan, self.plan.options
        texts = dict(plan.original if arm.name == "original" else plan.mended)
        inputs = [self._source(source) for source in options.inputs]
        if plan.against and not inputs:  # both are called with the inputs of the original
            for function in INPUT_FUNCTIONS:
                if re.search(rf"^def {function}\(", plan.original[plan.path], re.MULTILINE):
                    path = os.path.join(os.path.dirname(plan.path), "_graphmend_inputs_of_the_original.py")
                    texts[path] = plan.original[plan.path]
                    parent = module_of(plan.path).rpartition(".")[0]
                    inputs = [[path, f"{parent}.{_stem(path)}" if parent else _stem(path), function]]
                    break
        others = [path for path in plan.original if path != plan.path and plan.mended.get(path) != plan.original[path]]
        roots = [root for path in (plan.path, *others) for root in layout.search_roots(path)]
        roots += [root for source in options.inputs for root in layout.search_roots(source.path)]
        return {
            "kind": "verify",
            "arm": arm.name,
            "path": plan.path,
            "name": module_of(plan.path),
            "roots": list(dict.fromkeys(roots)),
            "texts": texts,
            "state": [[path, module_of(path)] for path in others],
            "entries": names,
            "candidates": candidates,
            "inputs": inputs,
            "init": None if options.init is None else self._source(options.init),
            "dtype": options.dtype,
            "device": options.device,
            "backends": list(options.backends),
            "calls": options.calls,
            "out": arm.out,
            "threads": max(1, (os.cpu_count() or 2) // 2),
        }

    def _source(self, source: Source) -> list[str]:
        return [source.path, module_of(source.path), source.function]

    def _entry(self, name: str, original: _Arm, mended: _Arm) -> EntryReport:
        counted = [arm.last("counted", name) for arm in (original, mended)]
        before, after = (None if event is None else Counts.read(event["counts"]) for event in counted)
        inputs = "" if counted[0] is None else str(counted[0]["inputs"])
        inputs = inputs.replace(" of _graphmend_inputs_of_the_original.py", "")
        failed = [arm.last("entry-failed", name) for arm in (original, mended)]
        compared = mended.last("compared", name)
        reason = ""
        if failed[0] is not None:
            reason = str(failed[0]["message"])
        elif original.error is not None:
            reason = self._reason(original.error, "the original")
        elif failed[1] is not None or mended.error is not None:
            error = mended.error
            text = str(failed[1]["message"]) if failed[1] is not None else str(error)
            if error is None or error.kind not in ("timeout", "died", "start", "torch"):
                row = Differing("the file", "eager", False, "exception", f"the mended code: {text}")
                return EntryReport(name, "different", "", inputs, differences=(row,), before=before)
            reason = self._reason(error, "the mended code")
        elif compared is None:
            reason = "it was not run"
        if compared is None or reason:
            return EntryReport(name, "inconclusive", reason, inputs, before=before, after=after)
        differences = tuple(Differing(**row) for row in compared["differences"])
        skipped = tuple(NotCompared(row["label"], row["backend"], row["reason"]) for row in compared["skipped"])
        runs = tuple(sorted(compared["runs"].items()))
        repeated = original.last("repeated", name)
        unstable = [] if repeated is None else list(repeated["differences"])
        if differences and unstable:
            reason = f"the original does not do the same twice: {unstable[0]}"
            return EntryReport(name, "inconclusive", reason, inputs, runs, differences, skipped, before, after)
        for backend in () if differences else ("eager", *self.plan.options.backends):
            if backend not in dict(runs):
                why = next((f": {row.reason}" for row in skipped if row.backend == backend), "")
                reason = reason or f"nothing could be compared under {backend}{why}"
        if reason:
            return EntryReport(name, "inconclusive", reason, inputs, runs, (), skipped, before, after)
        verdict = "different" if differences else "same"
        return EntryReport(name, verdict, "", inputs, runs, differences, skipped, before, after)

    def _reason(self, error: WorkerError, what: str) -> str:
        if error.kind == "timeout":
            seconds = self.plan.options.timeout
            return f"{what} took more than {seconds:.0f} s" if what else f"it took more than {seconds:.0f} s"
        if error.kind == "torch":
            return f"{self.python} cannot import torch: {error}"
        return str(error)
