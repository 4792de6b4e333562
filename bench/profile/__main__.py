"""``graphmend profile`` on real models, against a count that shares no code with it and against Table 2.

    python bench/profile --python PYTHON [--timing]         (or: make bench-profile MODELS_PYTHON=...)

Each script in ``scripts/`` builds one tiny model of transformers and calls it; ``--capture`` takes the call from there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Row:
    """``breaks`` are those of Table 2 as measured here (bench/RESULTS.md): as it is, mended, mended with --unsafe."""

    script: str
    file: str
    entry: str
    breaks: tuple[int, int, int]


ROWS = (
    Row("t5.py", "t5/modeling_t5.py", "T5ForConditionalGeneration", (3, 0, 0)),
    Row("bart.py", "bart/modeling_bart.py", "BartForConditionalGeneration", (7, 0, 0)),
    Row("phi3.py", "phi3/modeling_phi3.py", "Phi3ForCausalLM", (5, 5, 0)),
    Row(
        "grounding_dino.py", "grounding_dino/modeling_grounding_dino.py", "GroundingDinoForObjectDetection", (17, 7, 7)
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("scripts", nargs="*", help="only these, such as t5.py")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with torch and transformers 4.52.4")
    parser.add_argument("--timing", action="store_true", help="with cold start and steady state")
    parser.add_argument("--unsafe", action="store_true", help="also with the fixes that change behaviour")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    models = subprocess.run(
        [args.python, "-c", "import transformers; print(transformers.__path__[0])"], capture_output=True, text=True
    ).stdout.strip()
    if not models:
        print(f"{args.python} has no transformers", file=sys.stderr)
        return 2
    failed = 0
    for row in ROWS:
        if args.scripts and row.script not in args.scripts:
            continue
        script = HERE / "scripts" / row.script
        counting = [args.python, str(HERE / "counting.py"), str(script), row.entry]
        answer = subprocess.run(counting, capture_output=True, text=True)
        known = json.loads(answer.stdout.strip().splitlines()[-1])
        for unsafe in (False, True) if args.unsafe else (False,):
            started = time.monotonic()
            report = profiled(args, row, f"{models}/models/{row.file}", script, unsafe)
            problems = judge(report, known, row, unsafe)
            failed += bool(problems)
            told = "; ".join(problems) or "as counted independently, mended as in Table 2"
            name = row.script + (" --unsafe" if unsafe else "")
            print(f"{name}: {shown(report)} [{time.monotonic() - started:.0f} s] {told}", flush=True)
    return 1 if failed else 0


def profiled(args: argparse.Namespace, row: Row, path: str, script: Path, unsafe: bool) -> dict[str, Any]:
    """The report as JSON."""
    command = [sys.executable, "-m", "graphmend_lsp", "profile", f"{path}::{row.entry}", "--python", args.python]
    command += ["--capture", f"python {script}", "--json", "--device", args.device]
    command += [] if args.timing else ["--no-timing"]
    command += ["--unsafe"] if unsafe else []
    return json.loads(subprocess.run(command, capture_output=True, text=True).stdout)


def judge(report: dict[str, Any], known: dict[str, Any], row: Row, unsafe: bool) -> list[str]:
    """What is not as it should be."""
    original, mended = report["original"], report["mended"]
    if original is None or mended is None:
        return [str(report["failure"] or report["mended_failure"] or "nothing was mended")]
    first, after = row.breaks[0], row.breaks[2 if unsafe else 1]
    sites = [[site["path"], site["line"]] for site in original["sites"]]
    checks = {
        f"graphs {len(original['graphs'])}, counted {known['graphs']}": len(original["graphs"]) == known["graphs"],
        f"events {original['events']}, counted {known['events']}": original["events"] == known["events"],
        f"sites {sites}, counted {known['sites']}": sites == known["sites"],
        f"{len(original['graphs']) - 1} breaks, Table 2 has {first}": len(original["graphs"]) - 1 == first,
        f"mended {len(mended['graphs']) - 1} breaks, Table 2 has {after}": len(mended["graphs"]) - 1 == after,
        "the arms had other inputs": report["same_inputs"] is True,
        "the results differ": report["same_result"] is True or unsafe,
    }
    return [text for text, holds in checks.items() if not holds]


def shown(report: dict[str, Any]) -> str:
    """The numbers in a line."""
    parts: list[str] = []
    for name in ("original", "mended"):
        arm = report[name]
        if arm is not None:
            times = f", cold {arm['cold']:.1f} s, {arm['compiled']['median'] * 1e3:.2f} ms" if arm["compiled"] else ""
            parts.append(f"{len(arm['graphs'])} graphs, {arm['events']} events, {len(arm['sites'])} sites{times}")
    return " -> ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
