"""What pages are made of: escaping, tables and links."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from graphmend_lsp.profile.style import STYLE

MOST_ROWS = 200
_MOST_TEXT = 800
_NUMBER = re.compile(r"GB\d+")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, those that turn the direction of a text, and surrogates, which UTF-8 cannot encode."""


def escaped(text: str, most: int = _MOST_TEXT) -> str:
    """A text for an element or a quoted attribute, shortened."""
    if len(text) > most:
        text = text[: most - 1] + "…"
    return html.escape(_UNPRINTABLE.sub("\ufffd", text))


def gb_url(number: str) -> str | None:
    """PyTorch's page on a kind of break, as ``Finding.gb_url`` has it; None for what is no number."""
    if not _NUMBER.fullmatch(number):
        return None
    return f"https://meta-pytorch.github.io/compile-graph-break-site/gb/{number.lower()}.html"


def gb_link(number: str) -> str:
    """A number of a break, linked to its page."""
    url = gb_url(number)
    return escaped(number) if url is None else f'<a href="{url}" rel="noreferrer">{number}</a>'


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """A table of cells that are markup already; "" without rows.  The first cell of a row heads it."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{escaped(name)}</th>' for name in heads)
    body = "\n".join(
        f'<tr><th scope="row">{row[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>"
        for row in rows[:MOST_ROWS]
    )
    more = f"<p>… and {len(rows) - MOST_ROWS} more (in the JSON report).</p>" if len(rows) > MOST_ROWS else ""
    return (
        f'<div class="wide"><table class="{kind or "list"}"><caption>{escaped(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>{more}"
    )


def section(title: str, content: str, key: str) -> str:
    """A part of a page; "" without content."""
    return (
        f'<section aria-labelledby="{key}"><h2 id="{key}">{escaped(title)}</h2>\n{content}\n</section>\n'
        if content
        else ""
    )


def document(title: str, body: str) -> str:
    """A page that needs nothing from elsewhere, and by its policy may not fetch anything."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
