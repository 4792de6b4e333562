"""Checks files in several processes; imported only where that is worth it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from graphmend_lsp.cli import garbage
from graphmend_lsp.cli.results import Results
from graphmend_lsp.cli.work import Checked, Job
from graphmend_lsp.finding import Problem
from graphmend_lsp.project import store

if TYPE_CHECKING:
    from multiprocessing.context import ForkContext, SpawnContext
    from multiprocessing.process import BaseProcess


def _context() -> ForkContext | SpawnContext:
    """Forked processes start at once and have the index of the project; only Linux is safe for them."""
    return multiprocessing.get_context("fork") if sys.platform == "linux" else multiprocessing.get_context("spawn")


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection[Any, Any]
    rest: deque[int]
    """The jobs it is to do after the one at hand."""
    number: int = -1
    """The job at hand; -1 for none."""


class Pool:
    """Hands each process one file at a time, so that one that ends takes only its file with it."""

    def __init__(self, kept: Results, processes: int) -> None:
        self._context = _context()
        self._kept = kept
        self._processes = processes
        self._workers: list[_Worker] = []
        self._waiting: deque[deque[int]] = deque()

    def run(self, jobs: Sequence[Job]) -> Iterator[Checked]:
        """What is found in each, in order."""
        done: dict[int, Checked] = {}
        self._waiting = _folders(jobs)
        try:
            for _ in range(self._processes):
                self._workers.append(self._started(deque()))
            for worker in self._workers:
                self._hand(worker, jobs)
            for number in range(len(jobs)):
                while number not in done:
                    self._collect(jobs, done)
                yield done.pop(number)
        finally:
            self._end()

    def _collect(self, jobs: Sequence[Job], done: dict[int, Checked]) -> None:
        busy = {worker.pipe: worker for worker in self._workers if worker.number >= 0}
        for pipe in wait(list(busy)):
            worker = busy[pipe]  # type: ignore[index]
            number = worker.number
            try:
                done[number] = worker.pipe.recv()
            except (EOFError, OSError):
                worker.process.join(5)
                done[number] = _lost(jobs[number], worker.process.exitcode)
                worker.pipe.close()
                fresh = self._started(worker.rest)
                worker.process, worker.pipe = fresh.process, fresh.pipe
            self._hand(worker, jobs)

    def _next(self, worker: _Worker) -> int:
        """The next file of the worker's folder, else the first of another one, else the last that another one has.

        Files of one folder mostly look at the same other files, which a process reads once.
        """
        if not worker.rest and self._waiting:
            worker.rest = self._waiting.popleft()
        if worker.rest:
            return worker.rest.popleft()
        longest = max(self._workers, key=lambda each: len(each.rest))
        return longest.rest.pop() if longest.rest else -1

    def _started(self, rest: deque[int]) -> _Worker:
        ours, theirs = self._context.Pipe()
        inherited: tuple[Any, ...] = ()
        if self._context.get_start_method() == "fork":  # else none of them would see the end of this process
            inherited = (ours, *(worker.pipe for worker in self._workers))
        process = self._context.Process(target=_serve, args=(theirs, self._kept, store.is_on(), inherited), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours, rest)

    def _hand(self, worker: _Worker, jobs: Sequence[Job]) -> None:
        number = worker.number = self._next(worker)
        if number < 0:
            return
        try:
            worker.pipe.send(jobs[number])
        except OSError:
            pass  # it has ended: reading from it says so

    def _end(self) -> None:
        for worker in self._workers:
            worker.pipe.close()
            if worker.number >= 0:
                worker.process.terminate()
        for worker in self._workers:
            worker.process.join(5)
            if worker.process.is_alive():
                worker.process.kill()


def _folders(jobs: Sequence[Job]) -> deque[deque[int]]:
    """The numbers of the jobs, by folder."""
    found: dict[str, deque[int]] = {}
    for number, job in enumerate(jobs):
        found.setdefault(os.path.dirname(job.path), deque()).append(number)
    return deque(found.values())


def _lost(job: Job, code: int | None) -> Checked:
    how = f"signal {-code}" if code is not None and code < 0 else f"exit status {code}"
    message = f"internal error: the process that checked it ended ({how}); please report"
    return Checked(job.path, "", problems=(Problem(job.path, None, message),), internal=True)


def _serve(pipe: Connection[Any, Any], kept: Results, keeps_index: bool, inherited: tuple[Any, ...]) -> None:
    """Check what is sent, until nothing more is."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the first process ends the others
    for other in inherited:
        other.close()
    store.keep(keeps_index)
    try:
        for job in garbage.between(_sent(pipe)):
            pipe.send(kept.check(job))
    except OSError:
        return


def _sent(pipe: Connection[Any, Any]) -> Iterator[Job]:
    """The jobs that the first process sends, until it closes the pipe."""
    while True:
        try:
            yield pipe.recv()
        except (EOFError, OSError):
            return
