"""The parts of ``graphmend profile`` that only a CUDA device can show.  One command, under 6 minutes.

    python bench/gpu_check.py [--python PYTHON]      (--python: an interpreter with torch for CUDA, and transformers)

Checks, each printed with what was measured: device, launches and memory in a report; CUDA graphs with and without
mending (``mode="reduce-overhead"``), and that prints deferred into a graph are made in each replay; what happens when
the device is out of memory; cold start and steady state of three rows of Table 2 (skipped without transformers).
Exit status 1 if a check does not hold, 2 without CUDA.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
STEP_SECONDS = 110
ROWS = (
    ("t5.py", "t5/modeling_t5.py", "T5ForConditionalGeneration"),
    ("bart.py", "bart/modeling_bart.py", "BartForConditionalGeneration"),
    ("grounding_dino.py", "grounding_dino/modeling_grounding_dino.py", "GroundingDinoForObjectDetection"),
)
MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(256, 256) for _ in range(8)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
            if x.abs().max() > 1e4:
                x = x.clamp(max=1e4)
        print("mean", x.mean())
        return x


class Greedy(nn.Module):
    def forward(self, x):
        return torch.empty(1 << 44, device=x.device)


def example_inputs():
    return torch.randn(32, 256)
"""
PRINTS = """\
import torch
from model_mended import Net

torch.manual_seed(0)
net = torch.compile(Net().cuda().eval(), mode="reduce-overhead")
with torch.no_grad():
    for number in range(6):
        torch.compiler.cudagraph_mark_step_begin()
        net(torch.full((32, 256), float(number), device="cuda"))
torch.cuda.synchronize()
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=sys.executable)
    args = parser.parse_args()
    asked = "import torch; print(torch.__version__, torch.cuda.is_available() and torch.cuda.get_device_name())"
    said = subprocess.run([args.python, "-c", asked], capture_output=True, text=True).stdout.strip()
    print(f"torch and device: {said or 'no torch'}")
    if not said or said.endswith("False"):
        return 2
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "model.py").write_text(MODEL)
        for title, holds, what in (*checks(args.python, folder), *table2(args.python)):
            failed += not holds
            print(f"{'ok  ' if holds else 'FAIL'} {title}: {what}", flush=True)
    return 1 if failed else 0


Check = tuple[str, bool, str]


def checks(python: str, folder: Path) -> Iterator[Check]:
    """What a small model shows."""
    report = profile(python, folder, "model.py::Net")
    yield "a report", *judge(report)
    report = profile(python, folder, "model.py::Net", "--mode", "reduce-overhead")
    holds, what = judge(report)
    before, after = (launches(report, arm) for arm in ("original", "mended"))
    yield "CUDA graphs", holds, f"{what}; CUDA graph launches a call {before['graphs']} -> {after['graphs']}"
    fix = subprocess.run([sys.executable, "-m", "graphmend_lsp", "fix", "model.py"], cwd=folder, capture_output=True)
    (folder / "model_mended.py").write_text((folder / "model.py").read_text())
    (folder / "prints.py").write_text(PRINTS)
    ran = subprocess.run([python, "prints.py"], cwd=folder, capture_output=True, text=True, timeout=STEP_SECONDS)
    printed = [line for line in ran.stdout.splitlines() if line.startswith("mean")]
    different = len(set(printed)) == len(printed) == 6
    told = (
        f"{len(printed)} prints in 6 calls, {len(set(printed))} different {ran.stderr[-200:] if ran.returncode else ''}"
    )
    yield "deferred prints under CUDA graphs", fix.returncode in (0, 1) and different, told
    failure = profile(python, folder, "model.py::Greedy", "--no-timing").get("failure") or {}
    yield "out of memory", failure.get("kind") == "out-of-memory", str(failure.get("message"))[:120]


def table2(python: str) -> Iterator[Check]:
    """Three real models, if transformers is there."""
    where = subprocess.run(
        [python, "-c", "import transformers; print(transformers.__path__[0])"], capture_output=True, text=True
    ).stdout.strip()
    if not where:
        print("no transformers: rows of Table 2 skipped")
        return
    scripts = HERE / "profile" / "scripts"
    for script, file, entry in ROWS:
        target = f"{where}/models/{file}::{entry}"
        yield entry, *judge(profile(python, scripts, target, "--capture", f"python {script}"))


def profile(python: str, folder: Path, target: str, *options: str) -> dict[str, Any]:
    """The report as JSON."""
    command = [sys.executable, "-m", "graphmend_lsp", "profile", target, "--python", python, "--json"]
    command += ["--timeout", str(STEP_SECONDS), *options]
    command += [] if "--capture" in options else ["--device", "cuda"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return json.loads(done.stdout) if done.stdout else {"failure": {"kind": "internal", "message": done.stderr[-300:]}}


def launches(report: dict[str, Any], arm: str) -> dict[str, int]:
    return ((report.get(arm) or {}).get("launches")) or {"kernels": -1, "graphs": -1}


def judge(report: dict[str, Any]) -> tuple[bool, str]:
    """Whether every number of a GPU is there, and the numbers."""
    original, mended = report.get("original"), report.get("mended")
    if not original or not mended:
        return False, str(report.get("failure") or report.get("mended_failure"))
    arms = (original, mended)
    holds = report["device"] == "cuda" and all(
        arm["compiled"] and arm["cold"] > 0 and arm["peak_memory"] and arm["launches"]["kernels"] >= 0 for arm in arms
    )
    if not all(arm["compiled"] for arm in arms):
        return False, f"not timed: {original['untimed'] or mended['untimed']}"
    noise = " (within noise)" if report["steady_within_noise"] else ""
    steady = [arm["compiled"]["median"] * 1e3 for arm in arms]
    pairs = {
        "graphs": [len(arm["graphs"]) for arm in arms],
        "kernels": [arm["launches"]["kernels"] for arm in arms],
        "peak KiB": [arm["peak_memory"] >> 10 for arm in arms],
    }
    told = [f"{name} {one} -> {other}" for name, (one, other) in pairs.items()]
    told += [
        f"cold {original['cold']:.2f} -> {mended['cold']:.2f} s ({report['cold_ratio']:.2f}x)",
        f"steady {steady[0]:.3f} -> {steady[1]:.3f} ms ({report['steady_ratio']:.2f}x{noise})",
        f"eager {original['eager']['median'] * 1e3:.3f} ms",
        f"{report['seconds']} s",
    ]
    return holds, ", ".join(told)


if __name__ == "__main__":
    started = time.monotonic()
    code = main()
    print(f"{time.monotonic() - started:.0f} s")
    sys.exit(code)
