"""``graphmend fix`` as a command, of whole folders: what ``--diff`` said, once, and nothing a second time."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.robust import fixed

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git applies the diffs")
RULES = Path(__file__).parents[1] / "rules"


@pytest.mark.parametrize("unsafe", [False, True])
def test_fixtures(tmp_path: Path, unsafe: bool) -> None:
    made = fixed.examine(RULES, tmp_path / "work", unsafe=unsafe, share=2)
    assert made.wrong == ()
    assert made.files > 40 and made.mended > 25 and made.changed > 10


def test_what_is_wrong_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mend that is no text, another one than was said, and one more each time."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "m.py").write_text("x = 1\n")
    real, turn = fixed._fix, iter(range(9))

    def fix(folder: Path, arguments: list[str]):  # type: ignore[no-untyped-def]
        if "--diff" not in arguments:
            (folder / "tree" / "m.py").write_text(f"x = ({next(turn)}\n")
            (folder / "tree" / "new.py").write_text("")
        return real(folder, arguments)

    monkeypatch.setattr(fixed, "_fix", fix)
    wrong = "\n".join(fixed.examine(tree, tmp_path / "work").wrong)
    for each in ("fixed again: ['m.py']", "m.py does not parse", "new.py is new", "m.py is not what --diff said"):
        assert each in wrong
