"""Measurements as child processes, each kept as a JSON file named by what went into it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rows import HERE
from sites import Site, digest, tree_digest

CHILD = HERE / "child"
_VERSIONS = """
import importlib.util, json, sys, torch, transformers
from importlib.metadata import PackageNotFoundError, version
def place(name):
    found = importlib.util.find_spec(name)
    return found.submodule_search_locations[0] if found else None
def release(name):
    try: return version(name)
    except PackageNotFoundError: return None
print(json.dumps({
    "python": sys.version.split()[0], "torch": torch.__version__, "transformers": transformers.__version__,
    "chronos": release("chronos-forecasting"), "cuda": torch.cuda.is_available(),
    "packages": {name: place(name) for name in ("transformers", "chronos") if place(name)},
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """The Python that runs the models."""

    path: str
    releases: dict[str, Any]
    packages: dict[str, Path]

    @property
    def device(self) -> str:
        return "cuda" if self.releases["cuda"] else "cpu"

    def key(self) -> str:
        names = ("python", "torch", "transformers", "chronos")
        return digest(*(str(self.releases[name]) for name in names), self.device)


def interpreter(path: str) -> Interpreter:
    """Ask it what it has."""
    done = subprocess.run([path, "-c", _VERSIONS], env=environment(), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{path} does not have torch and transformers:\n{done.stderr[-2000:]}")
    releases = json.loads(done.stdout.strip().rpartition("\n")[2])
    packages = {name: Path(place) for name, place in releases.pop("packages").items()}
    return Interpreter(path, releases, {**packages, "table2_standins": HERE / "standins"})


def environment(**more: str) -> dict[str, str]:
    """Without what would change a measurement."""
    dropped = ("PYTHONPATH", "TORCH_LOGS", "TORCH_TRACE", "TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "HF_HUB_OFFLINE": "1", **more}


class Runner:
    """Runs measurements and remembers them."""

    def __init__(self, python: Interpreter, work: Path, *, fresh: bool) -> None:
        self.python = python
        self.cache = work / "cache"
        self.cache.mkdir(parents=True, exist_ok=True)
        self.fresh = fresh
        self.done: set[str] = set()  # in this run
        self.base = digest(python.key(), tree_digest(CHILD, ".py"), tree_digest(HERE / "standins", ".py"))

    def key(self, build: dict[str, Any], mode: str, site: Site, files: list[str], extra: dict[str, Any]) -> str:
        parts = (json.dumps(build, sort_keys=True), mode, site.key(files), json.dumps(extra, sort_keys=True))
        return digest(self.base, *parts)

    def reference(self, build: dict[str, Any]) -> Path:
        """The file of the original's eager results."""
        return self.cache / f"{digest(self.base, json.dumps(build, sort_keys=True))}.pt"

    def measure(
        self, name: str, build: dict[str, Any], mode: str, site: Site, files: list[str], /, **extra: Any
    ) -> dict[str, Any]:
        """One measurement, from its file if there is one."""
        keep = site.arm == "original" and mode == "eager"
        answer = self.cache / f"{name}-{mode}-{self.key(build, mode, site, files, {**extra, 'keep': keep})}.json"
        if answer.exists() and (not self.fresh or answer.name in self.done):
            return json.loads(answer.read_text(encoding="utf-8"))
        self.done.add(answer.name)
        task = {
            "build": build,
            "mode_of_run": mode,
            "reference": str(self.reference(build)),
            "keep": keep,
            "device": self.python.device if mode == "time" else "cpu",
            **extra,
        }
        with tempfile.TemporaryDirectory() as folder:
            result = self._child(Path(folder), task, site)
        if "error" not in result:
            answer.write_text(json.dumps(result, indent=1), encoding="utf-8")
        return result

    def _child(self, folder: Path, task: dict[str, Any], site: Site) -> dict[str, Any]:
        """Run it with caches of its own, so that no arm profits from another."""
        (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
        own = {
            "PYTHONPATH": str(site.folder),
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
            "TRITON_CACHE_DIR": str(folder / "triton"),
            "CUDA_CACHE_PATH": str(folder / "cuda"),
        }
        if task["device"] == "cpu":
            own |= {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        command = [self.python.path, str(CHILD / "measure.py"), str(folder / "task.json"), str(folder / "answer.json")]
        done = subprocess.run(command, env=environment(**own), capture_output=True, text=True)
        answer = folder / "answer.json"
        if done.returncode or not answer.exists():
            return {"error": (done.stderr.strip() or done.stdout.strip())[-3000:] or f"exit {done.returncode}"}
        return json.loads(answer.read_text(encoding="utf-8"))
