"""See graphmend at work on `captioner.py`: check it, mend a copy, and verify by running both.

make demo          (or: python examples/demo.py, where graphmend-lsp and torch are installed)
"""

import difflib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
GRAPHMEND = [sys.executable, "-m", "graphmend_lsp"]


def graphmend(*arguments, cwd, accepted=(0, 1)):
    """Run the command line and let it print; findings are fine here, errors are not."""
    code = subprocess.run([*GRAPHMEND, *arguments], cwd=cwd).returncode
    if code not in accepted:
        sys.exit(f"graphmend {' '.join(arguments)} ended with exit status {code}")


def title(text):
    print(f"\n{'=' * 100}\n{text}\n{'=' * 100}\n", flush=True)


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

    title("3. graphmend verify captioner.py: both are run, in half precision, and compared (this takes a minute)")
    arguments = ["--dtype", "float16", "--backend", "aot_eager", "--python", sys.executable]
    graphmend("verify", "captioner.py::Captioner", *arguments, cwd=HERE, accepted=(0,))
    print("\n  What still breaks is left to you: `fix` refuses it, and `graphmend check` says why.")
    print("  Nothing is computed behind it here, so it makes no second graph.")


if __name__ == "__main__":
    main()
