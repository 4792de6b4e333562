"""Expected texts kept in files; ``--update-snapshots`` writes what comes out instead of comparing."""

from __future__ import annotations

import difflib
from pathlib import Path


class Snapshots:
    def __init__(self, update: bool) -> None:
        self.update = update

    def compare(self, path: Path, text: str | None) -> None:
        """The file must hold ``text``; for None it must not exist."""
        if self.update:
            if text is None:
                path.unlink(missing_ok=True)
            else:
                path.write_text(text, encoding="utf-8", newline="")
            return
        known = path.read_bytes().decode("utf-8") if path.exists() else None
        if known != text:
            rows = difflib.unified_diff(
                (known or "").splitlines(), (text or "").splitlines(), "expected", "got", "", "", 2, ""
            )
            raise AssertionError(
                f"{path.name} is out of date; look at the difference, then run pytest tests/rules --update-snapshots\n"
                + "\n".join(rows)
            )
