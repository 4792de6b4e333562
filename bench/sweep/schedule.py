"""Which architecture is measured in which arm, and the processes that measure."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import queue
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TRAIN_EVERY, HALF_EVERY = 4, 6


class Worker:
    """A process of worker.py: tasks in, one answer a task."""

    def __init__(self, python: str, package: str, site: Path | None = None, arguments: tuple[str, ...] = ()) -> None:
        environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "TORCH_LOGS")}
        environment |= {
            "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1",
            "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        if site:
            environment["PYTHONPATH"] = str(site)
        command = [python, str(HERE / "worker.py"), package, *arguments]
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            stderr=subprocess.DEVNULL,
        )
        self.hello = self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith("ANSWER "):
                return json.loads(line[7:])
        raise RuntimeError("the measuring process ended")

    def ask(self, task: dict[str, Any]) -> bool:
        """Whether the process is still there after the task; if not, that is what the task has as its result."""
        try:
            assert self.process.stdin
            self.process.stdin.write(json.dumps(task) + "\n")
            self.process.stdin.flush()
            self._answer()
            return True
        except (RuntimeError, OSError) as error:
            out = Path(task["out"])
            if not out.exists():
                kept = {key: task[key] for key in ("package", "name", "arm", "variant", "key") if key in task}
                out.parent.mkdir(parents=True, exist_ok=True)
                out.write_text(json.dumps({**kept, "error": str(error)}))
            self.close()
            return False

    def close(self) -> None:
        with contextlib.suppress(OSError):
            assert self.process.stdin
            self.process.stdin.close()
        self.process.wait()


def place(work: Path, package: str, name: str, arm: str) -> Path:
    """The file of what was measured."""
    return work / "measured" / package / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.{arm}.json"


def read(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


Name = tuple[str, int, list[str]]  # name, suspicious lines, arms that the text of its file asks for


def names(options: argparse.Namespace, work: Path, package: str) -> list[Name]:
    """All architectures of a package, those with suspicious lines first, in the same order every time."""
    kept = work / f"{package}.names.json"
    if not kept.exists():
        worker = Worker(options.python, package, arguments=("--list",))
        kept.write_text(json.dumps(worker.hello))
        worker.close()
    found: list[Name] = json.loads(kept.read_text())
    found.sort(key=lambda item: (-min(item[1], 4), hashlib.sha256(item[0].encode()).hexdigest()))
    return [one for one in found if re.search(options.only, one[0])]


def measure(options: argparse.Namespace, work: Path, package: str) -> None:
    """Measure until `limit` architectures are built."""
    todo = iter(names(options, work, package))
    lock = threading.Lock()
    built = 0
    number = 0
    start = time.monotonic()

    def following() -> tuple[int, Name] | None:
        nonlocal number
        with lock:
            if built >= options.limit:
                return None
            name = next(todo, None)
            number += 1
            return None if name is None else (number, name)

    def work_off() -> None:
        nonlocal built
        worker: Worker | None = None
        while item := following():
            for task in _tasks(options, work, package, item[0], item[1]):
                kept = read(Path(task["out"]))
                if kept is None or (options.retry and _failed(kept)):
                    Path(task["out"]).unlink(missing_ok=True)
                    worker = worker or Worker(options.python, package)
                    if not worker.ask(task):
                        worker = None
                    kept = read(Path(task["out"]))
                    _tell(start, built, task, kept)
                if task["arm"] == "eval":
                    if kept is None or "recipe" not in kept:
                        break
                    with lock:
                        built += 1
        if worker:
            worker.close()

    threads = [threading.Thread(target=work_off) for _ in range(options.workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _failed(kept: dict[str, Any]) -> bool:
    return "not_built" in kept or "error" in kept


def _tasks(options: argparse.Namespace, work: Path, package: str, number: int, one: Name) -> Iterator[dict[str, Any]]:
    """The arms of an architecture; the later ones use the recipe that the first has found."""
    name, _, asked = one
    arms = ["eval"]
    arms += ["train"] * ("train" in asked or number % TRAIN_EVERY == 0)
    arms += ["odd"] * ("odd" in asked)
    arms += ["half"] * ("half" in asked or number % HALF_EVERY == 0)
    for arm in (arm for arm in arms if not options.arms or arm in options.arms.split(",")):
        task = {"package": package, "name": name, "arm": arm, "seconds": options.seconds}
        if arm != "eval":
            task["recipe"] = (read(place(work, package, name, "eval")) or {}).get("recipe")
        yield task | {"out": str(place(work, package, name, arm))}


def _tell(start: float, built: int, task: dict[str, Any], kept: dict[str, Any] | None) -> None:
    kept = kept or {"error": "nothing was written"}
    if "error" in kept:
        said = kept["error"].partition("\n")[0][:90]
    elif "not_built" in kept:
        said = "not built"
    else:
        said = f"{kept.get('graphs')} graphs, {len(kept.get('breaks', []))} break events"
    minutes = (time.monotonic() - start) / 60
    print(f"{minutes:5.1f} min, {built} built: {task['name']} {task['arm']}: {said}", flush=True)


def run_all(python: str, package: str, site: Path | None, tasks: list[dict[str, Any]], workers: int) -> None:
    """All these tasks, with workers of their own."""
    waiting: queue.Queue[dict[str, Any]] = queue.Queue()
    for task in tasks:
        waiting.put(task)
    start = time.monotonic()

    def work_off() -> None:
        worker: Worker | None = None
        with contextlib.suppress(queue.Empty):
            while True:
                task = waiting.get_nowait()
                worker = worker or Worker(python, package, site)
                if not worker.ask(task):
                    worker = None
                _tell(start, 0, task, read(Path(task["out"])))
        if worker:
            worker.close()

    threads = [threading.Thread(target=work_off) for _ in range(min(workers, len(tasks)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
