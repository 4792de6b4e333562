"""``graphmend rule``: explain a rule, or list them."""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rule", nargs="?", metavar="CODE|NAME", help="GM101 or its name; without one, a list")
    parser.add_argument("--all", action="store_true", help="every rule's page")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")


def run(options: argparse.Namespace) -> int:
    from graphmend_lsp.cli.main import EXIT_CLEAN, EXIT_ERROR
    from graphmend_lsp.rules import all_rules

    rules = sorted(all_rules(), key=lambda rule: rule.code)
    if options.rule is not None:
        wanted = options.rule.lower()
        chosen = [rule for rule in rules if wanted in (rule.code.lower(), rule.name.lower())]
        if not chosen:
            import difflib

            near = difflib.get_close_matches(wanted, [n for r in rules for n in (r.code.lower(), r.name)], 1)
            hint = f"; did you mean {near[0].upper() if near[0].startswith('gm') else near[0]}?" if near else ""
            print(f"error: no rule is called {options.rule!r}{hint} (graphmend rule lists them)", file=sys.stderr)
            return EXIT_ERROR
    else:
        chosen = rules
    if options.output_format == "json":
        import json

        rows = [{"code": r.code, "name": r.name, "summary": r.summary, "page": r.page} for r in chosen]
        json.dump(rows[0] if options.rule is not None else rows, sys.stdout, indent=2)
        print()
    elif options.rule is None and not options.all:
        width = max((len(rule.name) for rule in rules), default=0)
        for rule in rules:
            print(f"{rule.code} {rule.name:{width}}  {rule.summary}")
    else:
        _show("\n\n".join(page(rule.code, rule.name, rule.page) for rule in chosen))
    return EXIT_CLEAN


def page(code: str, name: str, text: str) -> str:
    """A rule's page with a title, unless it brings its own."""
    text = text.strip()
    return text if text.startswith("# ") else f"# {name} ({code})\n\n{text}"


def _show(markdown: str) -> None:
    from graphmend_lsp.cli import terminal

    if terminal.paint_for(sys.stdout) is terminal.plain:
        print(markdown)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(markdown))
