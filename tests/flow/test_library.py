"""What other files' code does is found out once, and what a check says is what it would say without that."""

from __future__ import annotations

import random
import textwrap

import pytest

from graphmend_lsp.check import Analysis, check
from graphmend_lsp.flow import engine, library
from graphmend_lsp.model.module import FunctionInfo
from graphmend_lsp.model.program import NoProgram


class Files(NoProgram):
    """A program of files in memory, each a module of its own."""

    def __init__(self, **texts: str) -> None:
        self.texts = {
            name: "import torch\nfrom torch import nn\n" + textwrap.dedent(text) for name, text in texts.items()
        }

    def source(self, module: str) -> tuple[str, str] | None:
        return None if module not in self.texts else (f"/{module}.py", self.texts[module])

    def module_name(self, path: str) -> tuple[str, bool]:
        return path.strip("/").removesuffix(".py"), False

    def check(self, name: str, previous: Analysis | None = None) -> Analysis:
        found = check(self.texts[name], f"/{name}.py", program=self, previous=previous)
        assert found.internal == ()
        return found


@pytest.fixture(autouse=True)
def shelves():
    """No library is left from another test."""
    library._libraries.clear()
    yield library._libraries
    library._libraries.clear()


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that were analysed, by name."""
    names: list[str] = []
    kept = engine.Engine._kept

    def note(self: engine.Engine, key: object, function: FunctionInfo, *rest: object, **more: object) -> object:
        names.append(function.qualname)
        return kept(self, key, function, *rest, **more)

    monkeypatch.setattr(engine.Engine, "_kept", note)
    return names


def told(found: Analysis) -> list[object]:
    """All that a user sees of the findings."""
    return [
        (f.code, f.span, f.message, f.severity, [(e.path, e.span, e.message) for e in f.evidence], f.offers, f.refusals)
        for f in found.findings
    ]


def without_help(files: Files, name: str) -> list[object]:
    saved = library._libraries[:]
    library._libraries.clear()
    found = told(files.check(name))
    library._libraries[:] = saved
    return found


HELPERS = """
    def scaled(x, factor=2.0):
        y = x * factor
        return y

    def kept(x):
        def inner(y):
            return y + x
        return inner(x)

    def wraps(function):
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)
        return wrapper
"""
MODEL = """
    from helpers import kept, scaled, wraps

    class Model(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor):
            a = scaled(x)
            b = scaled(y, 3.0)
            if a.sum() > 0:
                a = -a
            if b.sum() > 0:
                b = -b
            return kept(a) + self.own(b)

        @wraps
        def own(self, z):
            return z if z.mean() > 0 else -z
"""


def test_code_of_other_files_is_analysed_once(analysed: list[str]) -> None:
    files = Files(helpers=HELPERS, model=MODEL)
    first = files.check("model")
    assert {"scaled", "kept", "kept.<locals>.inner", "wraps", "Model.forward", "Model.own"} <= set(analysed)
    analysed.clear()
    files.texts["model"] = files.texts["model"].replace("a = -a", "a = a * -1")
    second = files.check("model", first)
    assert {"scaled", "kept", "kept.<locals>.inner"}.isdisjoint(analysed)
    assert {"Model.forward", "Model.own"} <= set(analysed)
    assert told(second) == without_help(files, "model")
    files.texts["other"] = files.texts["model"]
    analysed.clear()
    files.check("other")
    assert "scaled" not in analysed


def test_each_call_has_its_own_evidence() -> None:
    files = Files(helpers=HELPERS, model=MODEL)
    for found in (files.check("model"), files.check("model")):
        for finding, line, parameter in zip(found.findings, (8, 9), ("x", "y"), strict=False):
            passed = next(e for e in finding.evidence if e.message == "passed to `scaled` here")
            assert passed.span.line == line
            assert any(e.message == f"`{parameter}` is a parameter, annotated as a tensor" for e in finding.evidence)
            assert [e.path for e in finding.evidence].count("/helpers.py") == 2


def test_a_changed_file_is_read_again() -> None:
    files = Files(helpers=HELPERS, model=MODEL)
    before = files.check("model")
    files.texts["helpers"] = files.texts["helpers"].replace("y = x * factor", "y = x.shape[0]")
    after = files.check("model", before)
    assert told(after) == without_help(files, "model")
    assert len(after.findings) < len(before.findings)
    files.texts["helpers"] = files.texts["helpers"].replace("y = x.shape[0]", "y = x * factor")
    assert told(files.check("model", after)) == told(before)


CYCLE = """
    import model

    def limit():
        return model.LIMIT

    def gated(x):
        return model.gate(x) if x.ndim > 1 else x

    def plain(x):
        return x * 2
"""
IN_CYCLE = """
    import cycle

    LIMIT = 1.0

    def gate(x):
        return x if x.sum() > LIMIT else -x

    class Model(nn.Module):
        def forward(self, x):
            if cycle.plain(x).sum() > cycle.limit():
                x = x + 1
            return cycle.gated(x)
"""


def test_what_looks_back_into_the_file_at_hand_is_not_shared(analysed: list[str]) -> None:
    files = Files(cycle=CYCLE, model=IN_CYCLE)
    first = files.check("model")
    assert len(first.findings) == 2
    for edit in (("LIMIT = 1.0", "LIMIT = torch.ones(1)"), ("x.sum() > LIMIT", "x.shape[0] > 3"), ("x + 1", "x + 2")):
        files.texts["model"] = files.texts["model"].replace(*edit)
        analysed.clear()
        first = files.check("model", first)
        assert "plain" not in analysed
        assert told(first) == without_help(files, "model")
    assert len(first.findings) == 1


def test_a_file_that_was_read_for_another_is_checked_without_what_is_known_of_it(
    shelves: list[library.Library],
) -> None:
    block = """
    class Block(nn.Module):
        def forward(self, x):
            return scaled(x) if x.sum() > 0 else x
"""
    files = Files(helpers=HELPERS + block, model=MODEL)
    files.check("model")
    assert told(files.check("helpers")) == without_help(files, "helpers")
    assert len(shelves) == 2
    assert told(files.check("model")) == without_help(files, "model")


def test_a_worn_library_gives_way(monkeypatch: pytest.MonkeyPatch, shelves: list[library.Library]) -> None:
    monkeypatch.setattr(library, "_CONTEXTS", 1)
    files = Files(helpers=HELPERS, model=MODEL)
    files.check("model")
    assert [each.worn for each in shelves] == [True]
    files.check("model")
    assert len(shelves) == 2


def test_a_library_that_answers_wrongly_about_types_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of ours inside the library costs no finding: the check finds out itself."""
    files = Files(helpers=HELPERS, model=MODEL)
    expected = told(files.check("model"))
    library._libraries.clear()

    def broken(self: library.Library, *rest: object) -> object:
        raise ValueError("an error of ours")

    monkeypatch.setattr(library.Library, "_facts", broken)
    assert [row[:3] for row in told(files.check("model"))] == [row[:3] for row in expected]  # type: ignore[index]


PIECES = (
    "            x = scaled(x, 1.5)",
    "            x = kept(x)",
    "            if x.sum() > 0: x = -x",
    "            n = scaled(x).tolist()",
    "            x = self.own(x)",
    "            y = wraps(scaled)(y)",
    "            y = wraps(lambda z: z * x.item())(y)",
    "            print(kept(y).mean())",
    "            x, y = y, x",
)


@pytest.mark.parametrize("seed", range(6))
def test_many_edits(seed: int) -> None:
    """After each edit, of the file at hand or of one it uses, the check says what a check without any help says."""
    pick = random.Random(seed)
    files = Files(helpers=HELPERS, model=MODEL, cycle=CYCLE)
    found: Analysis | None = None
    for _ in range(12):
        name = "helpers" if pick.random() < 0.2 else "model"
        lines = files.texts[name].split("\n")
        where = [
            i for i, line in enumerate(lines) if line.lstrip().startswith(("a = ", "x = ", "b = ", "y = ", "return"))
        ]
        at = pick.choice(where)
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        if pick.random() < 0.7:
            lines.insert(at, indent + (pick.choice(PIECES).lstrip() if name == "model" else "x = x + 1"))
        elif len(where) > 5:
            lines[at] = indent + "pass"
        files.texts[name] = "\n".join(lines)
        found = files.check("model", found)
        assert told(found) == without_help(files, "model")


def test_an_error_of_ours_in_code_of_other_files_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever checks meets it again, so that it is not lost in what all share."""
    files = Files(helpers=HELPERS, model=MODEL)
    run = engine.Interpreter.run

    def broken(self: engine.Interpreter) -> object:
        if self.function.name == "scaled":
            raise ValueError("an error of ours")
        return run(self)

    monkeypatch.setattr(engine.Interpreter, "run", broken)
    for _ in range(2):
        found = check(files.texts["model"], "/model.py", program=files)
        assert [(each.what, each.error) for each in found.internal] == [
            ("the analysis of `scaled`", "ValueError: an error of ours")
        ]
        assert found.findings


def after(first: str, name: str, **texts: str) -> tuple[list[object], list[object]]:
    """What is said of a file after a check of another, and what is said of it alone."""
    files = Files(**texts)
    alone = without_help(files, name)
    files.check(first)
    return told(files.check(name)), alone


def test_numbers_that_other_files_make_are_known() -> None:
    """A tensor made of a number in code of another file is one here, too."""
    files = Files(
        helpers="class L(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.scales = [torch.tensor(1.0)]\n",
        model="import torch._dynamo\nfrom helpers import L\ntorch._dynamo.config.capture_scalar_outputs = True\n"
        "class M(L):\n    def forward(self, x: torch.Tensor):\n        n = self.scales[0].item()\n"
        "        if n > 3:\n            x = x + 1\n        return x\n",
    )
    assert not files.check("model").findings


def test_one_call_does_not_decide_for_another() -> None:
    """Whether what an operator makes is made of numbers is another question in each context."""
    head = "import torch._dynamo\nfrom helpers import g\ntorch._dynamo.config.capture_scalar_outputs = True\n"
    head += "torch._dynamo.config.capture_dynamic_output_shape_ops = True\n@torch.compile\ndef f(x: torch.Tensor):\n"
    found, alone = after(
        "numbers",
        "model",
        helpers="def g(k):\n    t = torch.tensor(k)\n    return (t * 2).item()\n",
        numbers=head + "    return x if g(4) > 3 else -x\n",
        model=head + "    return x if g(x.sum()) > 3 else -x\n",
    )
    assert found == alone and len(found) == 1


def test_what_was_learned_meanwhile_is_not_kept() -> None:
    helpers = (
        "class B(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.p = self.mk()\n"
        "        self.q = torch.ones(2)\n    def mk(self):\n        return self.q\n"
        "def f(x, n):\n    return x if n < 1 else g(x, n - 1)\ndef g(x, n):\n    return f(x, n) * 2\n"
    )
    head = "from helpers import B, f, g\nclass M(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    body = "    def forward(self, x: torch.Tensor):\n        return x if self.b.q.sum() > 0 else -x\n"
    other = "    def forward(self, x: torch.Tensor):\n        return x if self.z.sum() > 0 else -x\n"
    found, alone = after(
        "one",
        "two",
        helpers=helpers,
        one=head + "        self.b = B()\n" + body,
        two=head + "        self.z = B().mk()\n" + other,
    )
    assert found == alone and found
    free = "from helpers import f, g\n@torch.compile\ndef h(x: torch.Tensor, n: int):\n"
    free += "    return x if {}(x, n).sum() > 0 else -x\n"
    found, alone = after("one", "two", helpers=helpers, one=free.format("g"), two=free.format("f"))
    assert found == alone and found


def test_a_file_that_was_at_hand_once_is_like_any_other() -> None:
    helpers = "def h(x, k, s):\n    return x * k if s else 5\n"
    calls = "".join(f"        a = h(x, {i}.0, 'i')\n" for i in range(16))
    model = "from helpers import h\nclass M(nn.Module):\n    def forward(self, x: torch.Tensor):\n" + calls
    model += "        return x if h(x, 2.5, '') else a\n"
    found, alone = after("helpers", "model", helpers=helpers, model=model)
    assert found == alone


def test_typing_a_number_again_and_again(shelves: list[library.Library]) -> None:
    """Each is another calling context; past the limit there is another library, not another answer."""
    helpers = "def h(x, k, s):\n    return x * k if s else 5\n"
    text = "from helpers import h\nclass M(nn.Module):\n    def forward(self, x: torch.Tensor):\n"
    text += "        return x if h(x, {}.5, '') else -x\n"
    files = Files(helpers=helpers, model=text)
    plain = files.texts["model"]
    found: Analysis | None = None
    for number in range(library._CONTEXTS + 5):
        files.texts["model"] = plain.replace("{}", str(number))
        found = files.check("model", found)
        assert not found.findings
    assert len(shelves) == 2


def test_a_file_far_away_changes_while_the_file_at_hand_does_not_parse() -> None:
    files = Files(
        deep="def d(x):\n    return x * 2\n",
        helpers="from deep import d\ndef h(x):\n    return d(x)\n",
        model="from helpers import h\nclass M(nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        "        return x if h(x).sum() > 0 else -x\n\n\ndef other():\n    pass\n",
    )
    found = files.check("model")
    files.texts["model"] = files.texts["model"].replace("    pass\n", "    pass (\n")
    found = files.check("model", found)
    assert len(found.findings) == 1
    files.texts["deep"] = files.texts["deep"].replace("x * 2", "5")
    assert not files.check("model", found).findings


def test_a_check_that_is_stopped_leaves_nothing_half_known(monkeypatch: pytest.MonkeyPatch) -> None:
    files = Files(helpers=HELPERS, model=MODEL)
    expected = without_help(files, "model")
    run = engine.Interpreter.run

    def stopped(self: engine.Interpreter) -> object:
        if self.function.name == "scaled":
            raise KeyboardInterrupt
        return run(self)

    with monkeypatch.context() as patch:
        patch.setattr(engine.Interpreter, "run", stopped)
        with pytest.raises(KeyboardInterrupt):
            files.check("model")
    assert told(files.check("model")) == expected
