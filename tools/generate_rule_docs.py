"""Write ``docs/rules`` from the docstrings of the rules: a page for each, and a table of all.

python tools/generate_rule_docs.py            write them
python tools/generate_rule_docs.py --check    exit 1 if they are not up to date
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "rules"
MADE = "<!-- made by tools/generate_rule_docs.py from {source}; do not edit -->\n\n"


def pages() -> dict[str, str]:
    """The text of every file in ``docs/rules``, by name."""
    from graphmend_lsp.rules import all_rules

    made: dict[str, str] = {}
    rows: list[str] = []
    for rule in all_rules():
        source = f"graphmend_lsp/rules/{rule.name.replace('-', '_')}.py"
        made[f"{rule.code}.md"] = MADE.format(source=source) + rule.page.strip() + "\n"
        rows.append(f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.summary} | {rule.gb} |\n")
    head = "# Rules\n\n| code | name | flags | PyTorch's id (2.13) |\n| --- | --- | --- | --- |\n"
    made["README.md"] = MADE.format(source="graphmend_lsp/rules") + head + "".join(rows)
    return made


def outdated() -> list[Path]:
    """Files that differ from what would be written, are missing, or belong to no rule."""
    wanted = {FOLDER / name: text for name, text in pages().items()}
    found = set(FOLDER.glob("*.md"))
    different = [p for p, text in wanted.items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    return sorted({*different, *(found - set(wanted))})


def main() -> int:
    parser = argparse.ArgumentParser(description="Write docs/rules from the rules' docstrings.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if something would change")
    options = parser.parse_args()
    stale = outdated()
    if options.check:
        for path in stale:
            print(f"out of date: {path.relative_to(ROOT).as_posix()}")
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = pages()
    for path in stale:
        if path.name in made:
            path.write_text(made[path.name], encoding="utf-8", newline="\n")
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
