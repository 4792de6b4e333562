"""Texts that are deep, long or odd, in several sizes; each is checked, mended and shown in bounded time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

HEAD = "import torch\nfrom torch import nn\n\n\n@torch.compile\ndef f(x: torch.Tensor, y=None):\n"
TAIL = "    if x.sum() > 0:\n        x = x + 1\n    print(x)\n    return x\n"


def _expression(text: str) -> str:
    return f"{HEAD}    y = {text}\n{TAIL}"


def _nested(begin: str, end: str, depth: int, middle: str = "x") -> str:
    return _expression(begin * depth + middle + end * depth)


def _blocks(header: Callable[[int], str], depth: int, body: str = "x = x + 1") -> str:
    rows = [f"{' ' * (4 + level)}{header(level)}\n" for level in range(depth)]
    return HEAD + "".join(rows) + f"{' ' * (4 + depth)}{body}\n" + TAIL


_DEEP: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: _nested("(", ")", n),
    "brackets": lambda n: _nested("[", "]", n),
    "braces": lambda n: _nested("{1: ", "}", n),
    "calls": lambda n: _nested("torch.relu(", ")", n),
    "lambdas": lambda n: _nested("lambda: ", "", n),
    "not": lambda n: _nested("not ", "", n),
    "minus": lambda n: _nested("-", "", n),
    "ternaries": lambda n: _nested("x if x.any() else ", "", n),
    "powers": lambda n: _nested("x ** ", "", n),
    "await": lambda n: _nested("await ", "", n),
    "f-strings": lambda n: _expression("f'{" * min(n, 150) + "x" + "}'" * min(n, 150)),
    "subscripts": lambda n: _nested("x[", "]", n),
    "subscript chain": lambda n: _expression("x" + "[0]" * n),
    "attributes": lambda n: _expression("x" + ".T" * n),
    "method chain": lambda n: _expression("x" + ".abs()" * n),
    "call chain": lambda n: _expression("x" + "()" * n),
    "ifs": lambda n: _blocks(lambda _: "if x.any():", n),
    "whiles": lambda n: _blocks(lambda _: "while x.any():", n),
    "fors": lambda n: _blocks(lambda level: f"for i{level} in range(3):", n),
    "withs": lambda n: _blocks(lambda _: "with torch.no_grad():", n),
    "tries": lambda n: HEAD
    + "".join(f"{' ' * (4 + level)}try:\n" for level in range(n))
    + f"{' ' * (4 + n)}x = x + 1\n"
    + "".join(f"{' ' * (3 + n - level)}except E:\n{' ' * (4 + n - level)}x = -x\n" for level in range(n))
    + TAIL,
    "functions": lambda n: _blocks(lambda level: f"def g{level}(x):", n, "return x"),
    "classes": lambda n: _blocks(lambda level: f"class C{level}(nn.Module):", n, "pass"),
    "decorators": lambda n: "import torch\n" + "@torch.compile\n" * n + "def f(x):\n    print(x)\n    return x\n",
    "elif": lambda n: HEAD + "    if x.any():\n        y = 0\n"
    + "".join(f"    elif x.sum() > {k}:\n        y = {k}\n" for k in range(n)) + TAIL,
    "else if": lambda n: HEAD
    + "".join(
        f"{' ' * (4 + level)}if x.sum() > {level}:\n{' ' * (5 + level)}y = 1\n{' ' * (4 + level)}else:\n"
        for level in range(n)
    )
    + f"{' ' * (4 + n)}y = 2\n" + TAIL,
    "comprehensions": lambda n: _expression("[x for _ in " * n + "x" + "]" * n),
    "patterns": lambda n: HEAD
    + "    match x:\n        case " + "[" * n + "a" + "]" * n + ":\n            x = a\n" + TAIL,
    "types": lambda n: HEAD + "    y: " + "list[" * n + "int" + "]" * n + " = x\n" + TAIL,
}  # fmt: skip
_LONG: dict[str, Callable[[int], str]] = {
    "sum": lambda n: _expression(" + ".join(["x"] * n)),
    "and": lambda n: _expression(" and ".join(["x.any()"] * n)),
    "comparison": lambda n: _expression(" < ".join(["x"] * n)),
    "matrix products": lambda n: _expression(" @ ".join(["x"] * n)),
    "test of sums": lambda n: HEAD + f"    if {' + '.join(['x.sum()'] * n)} > 0:\n        x = x + 1\n" + TAIL,
    "tuple": lambda n: _expression("(" + "x, " * n + ")"),
    "list of numbers": lambda n: _expression("[" + ", ".join(map(str, range(n))) + "]"),
    "dictionary": lambda n: _expression("{" + ", ".join(f"'k{k}': x" for k in range(n)) + "}"),
    "arguments": lambda n: _expression("torch.stack(" + ", ".join(f"a{k}=x" for k in range(n)) + ")"),
    "parameters": lambda n: "import torch\n@torch.compile\ndef f("
    + ", ".join(f"a{k}" for k in range(n)) + "):\n    print(a0)\n    return a0.sum() > 0\n",
    "string": lambda n: _expression("'" + "a" * 50 * n + "'"),
    "strings": lambda n: _expression(" ".join(["'a'"] * n)),
    "wide characters": lambda n: _expression("'" + "🙂é" * 20 * n + "', x.item(), '🙂'"),
    "comment": lambda n: HEAD + "    # " + "é" * 50 * n + "\n" + TAIL,
    "name": lambda n: _expression("x" * 50 * n),
    "number": lambda n: _expression("1" * n),
    "one line": lambda n: HEAD + "    " + "; ".join(["x = x + 1"] * n) + "; print(x)\n" + TAIL,
    "prints": lambda n: HEAD + "    print(x)\n" * min(n, 400) + TAIL,
    "assignments": lambda n: HEAD + "".join(f"    a{k} = x + {k}\n" for k in range(n)) + TAIL,
    "chained targets": lambda n: HEAD + "    " + " = ".join(f"a{k}" for k in range(n)) + " = x\n" + TAIL,
    "functions in a row": lambda n: "import torch\n"
    + "".join(f"def g{k}(x):\n    return g{k + 1}(x)\n" for k in range(n)) + HEAD[13:] + "    x = g0(x)\n" + TAIL,
    "calls of all": lambda n: "import torch\n"
    + "".join(f"def g{k}(x):\n    print(x)\n    return g{k * 2 + 1}(x) + g{k * 2 + 2}(x)\n" for k in range(n))
    + HEAD[13:] + "    x = g0(x)\n" + TAIL,
    "classes in a row": lambda n: "from torch import nn\n"
    + "class C0(nn.Module):\n    def m0(self, x):\n        return x\n"
    + "".join(f"class C{k}(C{k - 1}):\n    def m{k}(self, x):\n        return x\n" for k in range(1, n))
    + f"class D(C{n - 1}):\n    def forward(self, x):\n        print(x)\n        return self.m0(x)\n",
    "imports": lambda n: "".join(f"from .m{k} import *\nimport a{k}.b as c{k}\n" for k in range(n)) + HEAD + TAIL,
    "blank lines": lambda n: HEAD + "\n" * 20 * n + TAIL,
    "line ends": lambda n: (HEAD + TAIL).replace("\n", "\r\n") + "\r" * n + "\n\r" * n,
    "semicolons": lambda n: HEAD + "    pass" + ";pass" * n + "\n" + TAIL,
    "backslashes": lambda n: _expression("x + \\\n" * n + "x"),
    "suppressions": lambda n: HEAD + "    x = x  # noqa: GM101\n" * n + TAIL,
    "globals": lambda n: "".join(f"A{k} = A{k - 1}\n" for k in range(n)) + HEAD + f"    x = x + A{n - 1}\n" + TAIL,
    "nul bytes": lambda n: HEAD + "\0" * n + TAIL,
    "lone surrogates": lambda n: _expression("'" + "\ud83d" * n + "'"),
    "byte order marks": lambda n: "\ufeff" + HEAD + TAIL + "\ufeff" * n,
    "form feeds": lambda n: "\f" * n + HEAD + "\f    x = x\f + 1\n" + TAIL + "\f\v\x1c\x1d\x85\u2028\u2029" * n,
    "tabs": lambda n: HEAD.replace("    ", "\t") + TAIL.replace("    ", "\t") + "\t" * n + "\n",
    "tabs and spaces": lambda n: HEAD + TAIL + "\tx\n    y\n" * n,
    "mixed line ends": lambda n: (HEAD + TAIL).replace("\n", "\r", 3).replace("    p", "    x\r\n    p") * min(n, 20),
    "right to left": lambda n: HEAD + "    # \u202e" + "\u202b" * n + "\n" + TAIL,
    "combining": lambda n: _expression("'e" + "\u0301" * n + "'"),
    "unclosed brackets": lambda n: HEAD + "    print(" * n + "\n" + TAIL,
    "unclosed strings": lambda n: HEAD + "    '''\n" + "x\n" * n,
    "dedents": lambda n: HEAD + "".join(f"{' ' * (n - level)}x\n" for level in range(min(n, 300))) + TAIL,
    "only brackets": lambda n: "([{" * n,
    "only quotes": lambda n: "\"'" * n,
    "only newlines": lambda n: "\r\n\r" * n,
    "only at signs": lambda n: "@" * n,
    "binary": lambda n: "".join(map(chr, range(256))) * (n // 100 + 1),
}  # fmt: skip

DEPTHS = (90, 1_000, 20_000)
LENGTHS = (1_000, 20_000)


def texts(depths: tuple[int, ...] = DEPTHS, lengths: tuple[int, ...] = LENGTHS) -> Iterator[tuple[str, str]]:
    """Names and texts of all kinds in these sizes."""
    for name, make in _DEEP.items():
        for depth in depths:
            if depth <= 1_000 or not _wide(make):
                yield f"{name}, {depth} deep", make(depth)
    for name, make in _LONG.items():
        for length in lengths:
            yield f"{name}, {length:,} long", make(length)


def _wide(make: Callable[[int], str]) -> bool:
    """Whether the text grows with the square of the depth, which indentation does."""
    return len(make(400)) > 3 * len(make(200))
