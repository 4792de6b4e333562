"""See graphmend at work on `captioner.py`: check it, mend a copy, and compare the two under torch.compile.

make demo          (or: python examples/demo.py, where graphmend-lsp and torch are installed)
"""

import difflib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
GRAPHMEND = [sys.executable, "-m", "graphmend_lsp"]


def graphmend(*arguments, cwd):
    """Run the command line and let it print; 0 and 1 (findings) are fine, 2 is an error."""
    if subprocess.run([*GRAPHMEND, *arguments], cwd=cwd).returncode not in (0, 1):
        sys.exit(f"graphmend {' '.join(arguments)} failed")


def title(text):
    print(f"\n{'=' * 100}\n{text}\n{'=' * 100}\n", flush=True)


def measure(folder):
    """What torch itself says about the captioner in `folder`, from a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, str(HERE / "measure.py"), str(folder)], capture_output=True, text=True, encoding="utf-8"
    )
    if done.returncode:
        sys.exit(f"measuring {folder} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def row(name, original, mended):
    print(f"  {name:<42}{original!s:<26}{mended!s}")


def same(original, mended, arm, what):
    """Whether original and mended agree in one respect, over the three calls."""
    calls = ("ordinary", "overflowing", "rejected")
    different = [call for call in calls if original["eager"][call][what] != mended[arm][call][what]]
    return "identical" if not different else f"DIFFERENT for the {', '.join(different)} input"


def main():
    title("1. graphmend check captioner.py: which lines split the graph, and why")
    graphmend("check", "captioner.py", cwd=HERE)

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "captioner.py"
        shutil.copy(HERE / "captioner.py", copy)

        title("2. graphmend fix captioner.py, on a copy: only what provably keeps the behaviour")
        graphmend("fix", copy.name, cwd=folder)
        before = (HERE / "captioner.py").read_text(encoding="utf-8").splitlines(keepends=True)
        after = copy.read_text(encoding="utf-8").splitlines(keepends=True)
        print()
        sys.stdout.writelines(difflib.unified_diff(before, after, "captioner.py", "captioner.py (mended)"))

        title("3. Both under torch.compile, same weights and inputs (this takes a few seconds)")
        original, mended = measure(HERE), measure(folder)

    def lines(report):
        return ", ".join(map(str, report["break_lines"])) or "none"

    row("", "original", "mended")
    row("graphs", original["graphs"], mended["graphs"])
    row("functions that fell back to plain Python", original["skipped"], mended["skipped"])
    row("lines that broke the graph", lines(original), lines(mended))
    if mended["break_lines"]:
        print(f"\n  Line {lines(mended)} is left to you: `fix` refuses it, and `graphmend check` says why.")
        print("  Nothing is computed behind it here, so it makes no second graph.")
    failed = mended["graphs"] >= original["graphs"]
    for arm in ("eager", "compiled"):
        print(f"\n  mended, {arm}, against the original in eager, over three calls:")
        for what, name in (("result", "results, bit for bit"), ("printed", "printed text"), ("logged", "log records")):
            verdict = same(original, mended, arm, what)
            failed = failed or verdict != "identical"
            row(f"  {name}", "", verdict)
    print("\n  The three calls: an ordinary input, one that overflows half precision, one that is rejected with")
    print(f"  {original['eager']['rejected']['result']!r}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
