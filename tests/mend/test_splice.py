"""Where the pieces of a change go in a file, and what stays as it was."""

from __future__ import annotations

import ast
import re

import pytest

from graphmend_lsp.check import mend
from graphmend_lsp.model.program import NoProgram, RuntimePlace
from graphmend_lsp.settings import Settings

PRINT = "def f(x: torch.Tensor):\n    y = x * 2\n    print('norm', y.norm())\n    return y + 1\n"
BRANCH = "def f(x: torch.Tensor):\n    y = x * 2\n    if y.sum() > 0:\n        y = y * 3\n    return y\n"
SHAPES = (
    "def f(x: torch.Tensor, w: torch.Tensor):\n    y = x * 2\n    if x.sum() > 0:\n        y = y * w\n    return y\n"
)


class Beside(NoProgram):
    def runtime(self, path: str) -> RuntimePlace:
        del path
        return RuntimePlace("._graphmend", "pkg/_graphmend.py", "# the runtime\n")


def mended(text: str) -> str:
    made = mend(text, "pkg/m.py", program=Beside(), settings=Settings(entries=("f",)))
    assert made.text != text, "nothing was mended"
    ast.parse(made.text.removeprefix("\ufeff"))
    assert not made.analysis.problems and not made.analysis.findings
    return made.text


IMPORT = "from ._graphmend import graph_effect\n"


# -- imports -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "head",
    [
        "import torch\n",
        '"""Docstring."""\nimport torch\n',
        '"""Docstring.\n\nOf several lines.\n"""\n\nfrom __future__ import annotations\n\nimport os\nimport torch\n',
        "# -*- coding: utf-8 -*-\n# Copyright\n\nimport torch\n",
        "#!/usr/bin/env python\nimport torch\n",
        "import torch\nfrom torch import (\n    nn,\n    Tensor,\n)\n",
        "import torch\n\ntry:\n    import numpy as np\nexcept ImportError:\n    np = None\n",
        "import torch\nif True:\n    import os\n",
    ],
    ids=["plain", "docstring", "future", "comments", "shebang", "several lines", "try", "if"],
)
def test_the_import_comes_behind_the_last_import(head: str) -> None:
    out = mended(f"{head}\n\n{PRINT}")
    assert out.startswith(head + IMPORT)


def test_imports_below_functions_do_not_count() -> None:
    text = f"import torch\n\n\ndef g():\n    pass\n\n\nimport os\n\n\n{PRINT}"
    assert mended(text).startswith("import torch\n" + IMPORT)


def test_an_existing_import_of_the_runtime_is_extended() -> None:
    text = f"import torch\nfrom ._graphmend import select\n\n\n{PRINT}\n\ny = select\n"
    out = mended(text)
    assert "from ._graphmend import graph_effect, select\n" in out
    assert out.count("_graphmend import") == 1


def test_an_existing_import_is_used_as_it_is() -> None:
    text = f"import torch\nfrom ._graphmend import graph_effect as effect\n\n\n{PRINT}"
    out = mended(text)
    assert "@effect\ndef" in out and out.count("_graphmend import") == 1


@pytest.mark.parametrize(
    ("head", "name"),
    [("import torch as th\n", "th"), ("import torch\n", "torch"), ("import torch.nn as nn\nimport torch as T\n", "T")],
)
def test_torch_under_its_name_here(head: str, name: str) -> None:
    out = mended(f"{head}\n\n{BRANCH.replace('torch', name)}")
    assert f"y = {name}.where(" in out and "import torch\n" not in out.replace(head, "")


def test_torch_is_imported_where_the_file_has_only_parts_of_it() -> None:
    out = mended("from torch import Tensor, nn\n\n\n" + BRANCH.replace("torch.Tensor", "Tensor"))
    assert "import torch\n" in out and "torch.where(" in out


# -- names of the user ---------------------------------------------------------------------------------


def test_the_users_own_graph_effect() -> None:
    out = mended(f"import torch\n\n\ndef graph_effect(x):\n    return x\n\n\n{PRINT}")
    assert re.search(r"import graph_effect as (\w+)", out)
    alias = re.search(r"import graph_effect as (\w+)", out).group(1)
    assert f"@{alias}\ndef" in out


def test_the_users_own_select() -> None:
    out = mended(f"import torch\n\nselect = 3\n\n\n{SHAPES}")
    alias = re.search(r"import select as (\w+)", out)
    assert alias is not None and f"y = {alias.group(1)}(" in out


def test_an_attribute_of_that_name_is_no_collision() -> None:
    out = mended("import torch\n\n\n" + SHAPES.replace("x * 2", "x + x.select(0, 0)"))
    assert "import select\n" in out and "x.select(0, 0)" in out


def test_a_helper_takes_no_name_of_the_file() -> None:
    plain = mended(f"import torch\n\n\n{PRINT}")
    name = re.search(r"@graph_effect\ndef (\w+)", plain).group(1)
    out = mended(f"import torch\n\n{name} = 1\n\n\n{PRINT}")
    other = re.search(r"@graph_effect\ndef (\w+)", out).group(1)
    assert other != name and f"    {other}(" in out


# -- the helper ----------------------------------------------------------------------------------------


def test_a_helper_stands_above_decorators_and_comments() -> None:
    out = mended(f"import torch\n\n\n# about f\n# more\n@torch.no_grad()\n@torch.compile\n{PRINT}")
    assert re.search(
        r"\n\n\n@graph_effect\ndef \w+\(.*\):\n    print\(.*\n\n\n# about f\n# more\n@torch.no_grad\(\)\n@torch.compile\ndef f",  # noqa: E501
        out,
    )


def test_a_helper_for_a_method_stands_above_the_class() -> None:
    text = "import torch\nfrom torch import nn\n\n\n@final\nclass f(nn.Module):\n" + "".join(
        f"    {line}\n" for line in PRINT.replace("def f(x", "def forward(self, x").splitlines()
    )
    out = mended(text.replace("@final", "@some.decorator"))
    assert out.index("@graph_effect") < out.index("@some.decorator\nclass f")


# -- what stays as it was --------------------------------------------------------------------------------


def test_crlf() -> None:
    out = mended(f"import torch\n\n\n{PRINT}".replace("\n", "\r\n"))
    assert "\n" not in out.replace("\r\n", "")


def test_tabs() -> None:
    out = mended(f"import torch\n\n\n{BRANCH}".replace("    ", "\t"))
    assert "\n\ty = torch.where(" in out and "    " not in out


def test_a_byte_order_mark() -> None:
    assert mended(f"\ufeffimport torch\n\n\n{PRINT}").startswith("\ufeffimport torch\n" + IMPORT)


def test_no_newline_at_the_end() -> None:
    assert not mended(f"import torch\n\n\n{PRINT}".rstrip("\n")).endswith("\n")


def test_one_line_if() -> None:
    out = mended("import torch\n\n\n" + BRANCH.replace(":\n        y = y * 3", ": y = y * 3"))
    assert re.search(r"\n    y = torch.where\(.*\)\n    return y\n", out)


def test_statements_on_one_line() -> None:
    out = mended(
        "import torch\n\n\ndef f(x: torch.Tensor):\n    y = x * 2; print('norm', y.norm()); z = y + 1\n    return z\n"
    )
    assert re.search(r"    y = x \* 2\n    _\w+\(.*\)\n    z = y \+ 1\n    return z\n", out) or re.search(
        r"y = x \* 2; _\w+\(.*\); z = y \+ 1\n", out
    )


def test_a_function_on_one_line() -> None:
    out = mended("import torch\n\n\ndef f(x: torch.Tensor): print('norm', x.norm()); return x + 1\n")
    assert out.rstrip().endswith("return x + 1")


def test_comments_are_kept() -> None:
    text = (
        BRANCH.replace("    if y", "    # why\n    if y")
        .replace("> 0:\n", "> 0:  # positive\n        # inside\n")
        .replace("y * 3\n", "y * 3  # thrice\n")
    )
    out = mended(f"import torch\n\n\n{text}")
    for comment in ("# why", "# positive", "# inside", "# thrice"):
        assert comment in out


def test_a_print_alone_in_a_block() -> None:
    out = mended("import torch\nDEBUG = True\n\n\n" + PRINT.replace("    print", "    if DEBUG:\n        print"))
    assert re.search(r"    if DEBUG:\n        _\w+\(", out)


def test_only_the_statement_the_helper_and_the_import_change() -> None:
    odd = "def g( a,b ) :\n  return { 'a':a , \"b\" :b }  ;\n\n\n"
    text = f"import torch\n\n\n{odd}{PRINT}\n\n{odd}"
    out = mended(text)
    lost = [line for line in text.splitlines() if line not in out.splitlines()]
    assert lost == ["    print('norm', y.norm())"] or lost == []
    assert out.count(odd.strip()) == 2


def test_the_file_of_the_runtime_is_created() -> None:
    made = mend(f"import torch\n\n\n{PRINT}", "pkg/m.py", program=Beside(), settings=Settings(entries=("f",)))
    assert [(new.path, new.text) for new in made.creates] == [("pkg/_graphmend.py", "# the runtime\n")]
    made = mend(f"import torch\n\n\n{BRANCH}", "pkg/m.py", program=Beside(), settings=Settings(entries=("f",)))
    assert not made.creates


@pytest.mark.parametrize(("depth", "mends"), [(8, True), (40, False)])
@pytest.mark.parametrize(("left", "right"), ["[]", "()"])
def test_deep_patterns(depth: int, mends: bool, left: str, right: str) -> None:
    """LibCST would take hours for the deeper ones."""
    head = "import torch\n\n\n@torch.compile\n"
    case = f"        case {left * depth}a{right * depth}:\n            x = a\n"
    text = head + PRINT.replace("    return", f"    match y:\n{case}    return")
    made = mend(text, "m.py")
    assert (made.text != text) is mends
    assert [f.code for f in made.analysis.findings] == [] if mends else ["GM201"]


def test_a_test_of_hundreds_of_terms_costs_no_other_fix() -> None:
    long = f"    if {' and '.join(['x.any()'] * 400)}:\n        x = x * 2\n    return x\n"
    text = f"import torch\n\n\n@torch.compile\ndef g(x: torch.Tensor):\n{long}\n\n@torch.compile\n{PRINT}"
    made = mend(text, "m.py")
    assert [offer.kind for _, offer in made.applied] == ["defer"]
    assert long in made.text and made.analysis.internal == ()
