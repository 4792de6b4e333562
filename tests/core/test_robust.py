"""``check`` and ``mend`` never raise, whatever they are given."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from graphmend_lsp.check import check, mend
from graphmend_lsp.settings import Settings


@contextmanager
def in_time() -> Iterator[None]:
    """Fail after ten seconds of CPU time: in an editor, no answer is worse than an exception."""
    if not hasattr(signal, "SIGVTALRM"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError("more than 10 s of CPU time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 10)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


RULES = Path(__file__).resolve().parents[1] / "rules"
HEAD = "import torch\n\n\n@torch.compile\ndef f(x: torch.Tensor):\n"


def elifs(count: int) -> str:
    return (
        HEAD
        + "    if x.sum() > 0:\n        y = 0\n"
        + "".join(f"    elif x.sum() > {n}:\n        y = {n}\n" for n in range(count))
        + "    return y\n"
    )


NASTY = {
    "empty": "",
    "blank": "\n\n   \n",
    "nul": HEAD + "    return x\x00\n",
    "lone surrogate": HEAD + "    print('\ud800')\n    return x\n",
    "surrogate in a name": HEAD + "    \udc80 = x\n    return x\n",
    "byte order mark": "\ufeff" + HEAD + "    print(x)\n    return x\n",
    "parentheses": HEAD + "    return " + "(" * 2000 + "x" + ")" * 2000 + "\n",
    "brackets": HEAD + "    return " + "[" * 90 + "x" + "]" * 90 + "\n",
    "long sum": HEAD + "    return " + " + ".join(["x"] * 5000) + "\n",
    "long test": HEAD + "    if " + " and ".join(["x.any()"] * 2000) + ":\n        x = x + 1\n    return x\n",
    "long attribute": HEAD + "    return x" + ".T" * 3000 + "\n",
    "long call chain": HEAD + "    return x" + ".abs()" * 900 + "\n",
    "elif": elifs(200),
    "deep elif": elifs(1500),
    "deep blocks": HEAD
    + "".join("    " * n + "if x.any():\n" for n in range(1, 80))
    + "    " * 80
    + "x = x + 1\n    return x\n",
    "nested functions": HEAD
    + "".join("    " * n + f"def g{n}():\n" for n in range(1, 60))
    + "    " * 60
    + "return x\n",
    "unclosed string": HEAD + "    print('x\n    return x\n",
    "unclosed docstring": HEAD + '    """text\n    print(x)\n',
    "unclosed bracket": HEAD + "    print(x\n",
    "tabs and spaces": HEAD + "    if x.any():\n\tprint(x)\n    return x\n",
    "form feed": "\x0c" + HEAD + "\x0c    print(x)\n    return x\n",
    "carriage returns": HEAD.replace("\n", "\r") + "    print(x)\r    return x\r",
    "line separators": HEAD + "    print('\u2028')\x0b\n    return x\n",
    "backslash at the end": HEAD + "    print(x) \\",
    "no newline": HEAD + "    print(x)",
    "python 2": "import torch\nprint 'x'\nexec 'y'\n",
    "own base": "import torch\nclass A(A, torch.nn.Module):\n    def forward(self, x):\n        return self.forward(x)\n",  # noqa: E501
    "bases in a circle": "import torch\nclass A(B): pass\nclass B(A):\n    def forward(self, x): return x\n",
    "recursion": HEAD + "    return f(x)\n",
    "mutual recursion": "import torch\ndef g(x):\n    return f(x)\n" + HEAD[13:] + "    return g(x)\n",
    "own alias": "import torch\na = b\nb = a\n" + HEAD[13:] + "    return a(x)\n",
    "import of itself": "from .m import *\nfrom . import m\nimport torch\n" + HEAD[13:] + "    return m.f(x)\n",
    "decorated by itself": "import torch\n@f\n@torch.compile\ndef f(x):\n    return x\n",
    "lambda": "import torch\nf = torch.compile(lambda x: print(x) if x.any() else (yield))\n",
    "stars": HEAD + "    a, *b, (c, *d) = x, *x, [*x]\n    f(*a, **b)\n    return {**a}, [*b]\n",
    "del and global": HEAD + "    global x2\n    x2 = x\n    del x\n    return x\n",
    "walrus everywhere": HEAD + "    return [y := x, (z := y).sum() > 0 and (w := z)]\n",
    "match": HEAD
    + "    match x:\n        case [a, *_] | {'k': a, **_} if a.any(): return a\n        case torch.Tensor(data=d): return d\n        case _: pass\n",  # noqa: E501
    "try star": HEAD + "    try:\n        print(x)\n    except* ValueError:\n        return x\n    return x\n",
    "type parameters": "import torch\nclass A[T]:\n    def forward[U](self, x: U) -> T: return x\ntype X = int\n",
    "async": "import torch\n@torch.compile\nasync def f(x):\n    async with x as y:\n        async for z in y:\n            await z\n    return [i async for i in x]\n",  # noqa: E501
    "empty class": "import torch\nclass A(torch.nn.Module): ...\n",
    "one line": "import torch; f = torch.compile(lambda x: x); print(f)\n",
    "unicode names": "import torch as 火炬\n@火炬.compile\ndef 函数(数据: 火炬.Tensor):\n    if 数据.any():\n        数据 = 数据 + 1\n    print(数据)\n    return 数据\n",  # noqa: E501
    "many functions": "import torch\n"
    + "".join(f"@torch.compile\ndef f{n}(x):\n    print(x)\n    return f{n - 1}(x)\n" for n in range(200)),
}


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())
def test_nothing_raises(text: str) -> None:
    with in_time():
        analysis = check(text, "nasty.py", settings=Settings(entries=("f",)))
        again = check(text + "\n", "nasty.py", settings=Settings(entries=("f",)), previous=analysis)
    assert (analysis.text == text) is (again.text == text + "\n") is True


QUICK = [name for name in NASTY if name not in ("many functions", "deep elif", "long test")]


@pytest.mark.parametrize("name", QUICK)
def test_mending_raises_nothing(name: str) -> None:
    with in_time():
        mended = mend(NASTY[name], "nasty.py", settings=Settings(entries=("f",)), accept=lambda f, o: True)
    if not check(NASTY[name], "nasty.py").problems:
        assert not mended.analysis.problems


@pytest.mark.parametrize("name", ["GM101/flag_refused.py", "GM201/flag_prints.py"])
def test_half_typed_files(name: str) -> None:
    """Every prefix of a file, each checked after the one before, as an editor does it."""
    text = (RULES / name).read_text(encoding="utf-8")
    whole = check(text, name)
    previous = None
    for end in range(0, len(text) + 1, 7):
        previous = check(text[:end], name, previous=previous)
    final = check(text, name, previous=previous)
    assert [(f.code, f.span, f.message) for f in final.findings] == [
        (f.code, f.span, f.message) for f in whole.findings
    ]


def test_a_broken_middle_keeps_the_findings_of_others() -> None:
    text = (
        HEAD
        + "    print(x)\n    return x\n\n\n"
        + HEAD[14:].replace("f(", "g(")
        + "    y = x +\n\n\n"
        + HEAD[14:].replace("f(", "h(")
        + "    print(x)\n    return x\n"
    )
    good = check(text.replace("x +\n", "x + 1\n"), "m.py")
    assert [f.function for f in good.findings] == ["f", "h"]
    for previous in (None, good):
        broken = check(text, "m.py", previous=previous)
        assert broken.problems and broken.problems[0].line is not None
        assert [(f.function, f.span) for f in broken.findings] == [(f.function, f.span) for f in good.findings]


@pytest.mark.parametrize("name", sorted(str(p.relative_to(RULES)) for p in RULES.glob("GM*/flag_*.py")))
def test_an_edit_elsewhere_changes_no_finding(name: str) -> None:
    text = (RULES / name).read_bytes().decode("utf-8")
    before = check(text, name)
    for changed, shift in ((text + "\n\nEXTRA = 1\n", 0), ("# a line\n" + text, 1)):
        after = check(changed, name, previous=before)
        fresh = check(changed, name)
        assert [(f.code, f.span.line - shift, f.message.count("`")) for f in after.findings] == [
            (f.code, f.span.line, f.message.count("`")) for f in before.findings
        ]
        assert after.findings == fresh.findings
