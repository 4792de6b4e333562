"""Notebooks: synchronisation of cells, and what each cell gets."""

from __future__ import annotations

import copy
import sys
from typing import Any

import pytest

from graphmend_lsp.notebook import Cell, join

WITH_NOTEBOOKS = {
    "notebookDocument": {"synchronization": {"dynamicRegistration": True, "executionSummarySupport": True}}
}


class Notebook:
    """A client's notebook: cells by URI, and their texts."""

    def __init__(self, wire: Any, client_text: Any, path: Any) -> None:
        self.wire, self.client_text = wire, client_text
        self.uri = path.as_uri()
        self.cells: list[str] = []
        self.texts: dict[str, Any] = {}
        self.versions: dict[str, int] = {}
        self.version = 1
        self.made = 0

    def _new(self, text: str, language: str = "python") -> dict[str, Any]:
        self.made += 1
        uri = self.uri.replace("file:", "vscode-notebook-cell:") + f"#W{self.made}sZmlsZQ%3D%3D"
        self.texts[uri] = self.client_text(text, "utf-16")
        self.versions[uri] = 1
        return {"uri": uri, "languageId": language, "version": 1, "text": text}

    def open(self, *texts: str) -> list[str]:
        items = [self._new(text) for text in texts]
        self.cells = [item["uri"] for item in items]
        cells = [{"kind": 2, "document": uri} for uri in self.cells]
        document = {"uri": self.uri, "notebookType": "jupyter-notebook", "version": 1, "cells": cells}
        self.wire.notify("notebookDocument/didOpen", {"notebookDocument": document, "cellTextDocuments": items})
        return self.cells

    def _changed(self, cells: dict[str, Any]) -> None:
        self.version += 1
        document = {"uri": self.uri, "version": self.version}
        self.wire.notify("notebookDocument/didChange", {"notebookDocument": document, "change": {"cells": cells}})

    def type(self, cell: str, start: int, end: int, new: str) -> None:
        change = self.texts[cell].replace(start, end, new)
        self.versions[cell] += 1
        document = {"uri": cell, "version": self.versions[cell]}
        self._changed({"textContent": [{"document": document, "changes": [change]}]})

    def insert(self, at: int, text: str, language: str = "python") -> str:
        item = self._new(text, language)
        self.cells.insert(at, item["uri"])
        array = {"start": at, "deleteCount": 0, "cells": [{"kind": 2, "document": item["uri"]}]}
        self._changed({"structure": {"array": array, "didOpen": [item]}})
        return item["uri"]

    def remove(self, at: int) -> None:
        gone = self.cells.pop(at)
        structure = {"array": {"start": at, "deleteCount": 1}, "didClose": [{"uri": gone}]}
        self._changed({"structure": structure})

    def move_first_to_the_end(self) -> None:
        self.cells.append(self.cells.pop(0))
        cells = [{"kind": 2, "document": uri} for uri in self.cells]
        self._changed({"structure": {"array": {"start": 0, "deleteCount": len(cells), "cells": cells}}})

    def kind(self, cell: str, kind: int) -> None:
        self._changed({"data": [{"kind": kind, "document": cell}]})

    def close(self) -> None:
        closed = [{"uri": uri} for uri in self.cells]
        self.wire.notify(
            "notebookDocument/didClose", {"notebookDocument": {"uri": self.uri}, "cellTextDocuments": closed}
        )

    def apply(self, edit: dict[str, Any]) -> list[str]:
        """The texts of the cells with a workspace edit."""
        for change in edit["documentChanges"]:
            document = change.get("textDocument", {})
            if document.get("uri") in self.texts:
                assert document["version"] == self.versions[document["uri"]]
                text = self.texts[document["uri"]]
                text.text = text.apply(change["edits"])
        return [self.texts[uri].text for uri in self.cells]


def starts(diagnostics: list[Any]) -> list[tuple[int, int]]:
    return [(d["range"]["start"]["line"], d["range"]["start"]["character"]) for d in diagnostics]


@pytest.fixture(scope="module")
def wire(start, everything):
    wire = start(True)
    wire.answered = wire.initialize({**everything, **WITH_NOTEBOOKS})
    return wire


@pytest.fixture
def notebook(wire, client_text, tmp_path):
    return Notebook(wire, client_text, tmp_path / "nb.ipynb")


def test_what_the_client_is_asked_to_send(wire, start):
    sync = wire.answered["capabilities"]["notebookDocumentSync"]
    python = [{"language": "python"}]
    assert sync["notebookSelector"] == [
        {"notebook": "jupyter-notebook", "cells": python},
        {"notebook": "interactive", "cells": python},
    ]
    assert sync["save"] is True
    assert "notebookDocumentSync" not in start(True).initialize()["capabilities"]  # Neovim, Helix, Emacs


def test_diagnostics_stand_in_their_cells(wire, notebook):
    first, second, third = notebook.open("%matplotlib inline\nx = 1", "def f():\n    '😀'; safe_break\n    x", "")
    assert wire.diagnostics(first) == []
    (found,) = wire.diagnostics(second, 1)
    assert found["range"] == {"start": {"line": 1, "character": 10}, "end": {"line": 1, "character": 20}}
    assert wire.diagnostics(third) == []
    # the evidence, "line 1 of the text", is in the first cell
    (related,) = found["relatedInformation"]
    assert related["location"]["uri"] == first


def test_typing_in_one_cell(wire, notebook):
    first, second = notebook.open("def f():\n    safe_break", "def g():\n    safe_break")
    assert starts(wire.diagnostics(second, 1)) == [(1, 4)]
    notebook.type(first, 0, 0, "\n\n")
    assert starts(wire.diagnostics(first, 2)) == [(3, 4)]
    assert starts(wire.diagnostics(second, 1)) == [(1, 4)]
    notebook.type(second, 13, 23, "mended")
    assert wire.diagnostics(second, 2) == []
    assert wire.text(second) == notebook.texts[second].text


def test_cells_come_go_and_move(wire, notebook):
    first, second = notebook.open("def f():\n    safe_break", "x")
    assert starts(wire.diagnostics(first)) == [(1, 4)]
    added = notebook.insert(1, "safe_break")
    assert starts(wire.diagnostics(added)) == [(0, 0)]
    notebook.move_first_to_the_end()
    notebook.type(second, 0, 1, "y")
    wire.diagnostics(second, 2)
    assert wire.command("graphmend.printDebugInformation", {"uri": notebook.uri}) == (
        "safe_break\n\ny\n\ndef f():\n    safe_break\n\n"
    )
    wire.notifications.clear()
    notebook.remove(0)
    assert wire.diagnostics(added) == []
    assert starts(wire.diagnostics(first)) == [(1, 4)]
    notebook.close()
    assert wire.diagnostics(first) == []
    assert wire.diagnostics(second) == []


def test_a_cell_becomes_text_and_code_again(wire, notebook):
    (cell,) = notebook.open("safe_break")
    assert starts(wire.diagnostics(cell)) == [(0, 0)]
    notebook.kind(cell, 1)
    assert wire.diagnostics(cell) == []
    notebook.kind(cell, 2)
    assert starts(wire.diagnostics(cell)) == [(0, 0)]


def test_other_languages_are_left_out(wire, notebook):
    (cell,) = notebook.open("safe_break")
    assert starts(wire.diagnostics(cell)) == [(0, 0)]
    other = notebook.insert(0, "safe_break", "r")
    assert wire.diagnostics(other) == []
    assert starts(wire.diagnostics(cell)) == [(0, 0)]


def test_an_unknown_notebook_does_no_harm(wire, notebook, tmp_path):
    notebook._changed({"data": []})
    uri = (tmp_path / "m.py").as_uri()
    wire.open(uri, "safe_break")
    assert starts(wire.diagnostics(uri)) == [(0, 0)]


def test_a_cell_that_does_not_parse(wire, notebook):
    first, second = notebook.open("def f(:\n", "def g():\n    safe_break")
    assert starts(wire.diagnostics(second)) == [(1, 4)]
    (fix,) = [a for a in wire.actions(second, 1, 6, only=["quickfix"]) if "Mend it" in a["title"]]
    assert "edit" not in wire.resolve(fix)
    said = wire.wait_for("window/showMessage")["message"]
    assert said.endswith("not applied, the file does not parse (cell 1, line 1: invalid syntax)")
    assert wire.diagnostics(first) == []


def test_quick_fix_hover_and_suppression_in_a_cell(wire, notebook):
    _, cell = notebook.open("x = 1\r\ny = 2", "def f():\r\n    '😀'; safe_break\r\n")
    actions = wire.actions(cell, 1, 12, only=["quickfix"])
    assert [a["title"] for a in actions] == [
        "GraphMend (GM201): Mend it",
        "GraphMend (GM201): Delete it (changes behaviour: it is gone)",
        "GraphMend (GM201): Ignore on this line",
    ]  # nothing of a notebook is run
    hover = wire.hover(cell, 1, 12)
    assert hover["range"]["start"] == {"line": 1, "character": 10}
    assert "compiled here (cell 1, line 1)" in hover["contents"]["value"]
    suppress = wire.resolve(actions[2])["edit"]
    assert notebook.apply(suppress)[1] == "def f():\r\n    '😀'; safe_break  # graphmend: ignore[GM201]\r\n"
    notebook.texts[cell].text = "def f():\r\n    '😀'; safe_break\r\n"
    assert notebook.apply(wire.resolve(actions[0])["edit"])[1] == "def f():\r\n    '😀'; mended\r\n"
    assert wire.hover(cell, 0, 0) is None
    assert not wire.actions(notebook.cells[0], 0, 0, only=["quickfix", "refactor"])


def test_fix_all_mends_every_cell_once(start, everything, client_text, tmp_path):
    wire = start()
    wire.initialize({**everything, **WITH_NOTEBOOKS})
    notebook = Notebook(wire, client_text, tmp_path / "nb.ipynb")
    body = (
        "    def forward(self, x):\n        if x.sum() > 0:\n            x = x + 1\n"
        "        else:\n            x = x - 1\n        return x"
    )
    cells = notebook.open(
        "import torch", f"class A(torch.nn.Module):\n{body}", "x = 1", f"class B(torch.nn.Module):\n{body}"
    )
    assert starts(wire.diagnostics(cells[3])) == [(2, 11)]
    for only in ("source.fixAll", "notebook.source.fixAll.graphmend"):
        (action,) = wire.actions(cells[2], 0, 0, only=[only])
        assert action["kind"] == ("source.fixAll.graphmend" if only[0] == "s" else only)
        edit = wire.resolve(action)["edit"]
        assert [c["textDocument"]["uri"] for c in edit["documentChanges"]] == [cells[1], cells[3]]

    def on_save(cell: str, kind: str) -> Any:
        place = {"line": 0, "character": 0}
        context = {"diagnostics": [], "only": [kind], "triggerKind": 2}
        params = {"textDocument": {"uri": cell}, "range": {"start": place, "end": place}, "context": context}
        return wire.request("textDocument/codeAction", params) or []

    assert [len(on_save(cell, "source.fixAll.graphmend")) for cell in cells] == [1, 0, 0, 0]
    assert [len(on_save(cell, "notebook.source.fixAll")) for cell in cells] == [1, 1, 1, 1]
    assert sum(a["kind"].endswith("fixAll.graphmend") for a in wire.actions(cells[1], 2, 12)) == 1
    mended = notebook.apply(edit)
    assert mended[0] == "import torch" and all("torch.where" in mended[n] for n in (1, 3))


def test_a_fix_with_helper_and_import(start, everything, client_text, tmp_path, monkeypatch):
    """The mended cells run in their order, with the runtime beside the notebook."""
    torch = pytest.importorskip("torch")
    wire = start()
    wire.initialize({**everything, **WITH_NOTEBOOKS})
    notebook = Notebook(wire, client_text, tmp_path / "nb.ipynb")
    model = (
        "class A(torch.nn.Module):\n    def forward(self, x):\n        print('norm', x.norm())\n        return x * 2"
    )
    cells = notebook.open("import torch\n!echo hello", "%%time\n# the model\n" + model, "y = A()(torch.ones(4))")
    (found,) = wire.diagnostics(cells[1])
    assert starts([found]) == [(4, 8)]
    action = next(a for a in wire.actions(cells[1], 4, 10, only=["quickfix"]) if a.get("isPreferred"))
    edit = wire.resolve(action)["edit"]
    runtime = next(c for c in edit["documentChanges"] if c.get("kind") == "create")
    assert runtime["uri"] == (tmp_path / "_graphmend.py").as_uri()
    texts = notebook.apply(edit)
    assert texts[0] == "import torch\nfrom _graphmend import graph_effect\n!echo hello"
    assert texts[1].startswith("%%time\n@graph_effect\ndef ") or texts[1].startswith(
        "%%time\n# the model\n@graph_effect"
    )
    (text,) = [c for c in edit["documentChanges"] if c.get("textDocument", {}).get("uri") == runtime["uri"]]
    (tmp_path / "_graphmend.py").write_text(text["edits"][0]["newText"], encoding="utf-8")
    code = join(Cell(text, number) for number, text in enumerate(texts, 1)).text
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "_graphmend", raising=False)
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "nb", "exec"), space)
    assert torch.equal(space["y"], torch.full((4,), 2.0))
    torch._dynamo.reset()
    assert torch._dynamo.explain(space["A"]())(torch.ones(4)).graph_break_count == 0


def test_clients_without_document_changes(start, everything, client_text, tmp_path):
    capabilities = copy.deepcopy(everything)
    del capabilities["workspace"]
    wire = start(True)
    wire.initialize({**capabilities, **WITH_NOTEBOOKS})
    notebook = Notebook(wire, client_text, tmp_path / "nb.ipynb")
    _, cell = notebook.open("x", "def f():\n    safe_break")
    action = next(a for a in wire.actions(cell, 1, 6, only=["quickfix"]) if "Mend" in a["title"])
    changes = wire.resolve(action)["edit"]["changes"]
    assert list(changes) == [cell]
    assert notebook.texts[cell].apply(changes[cell]) == "def f():\n    mended"


def test_a_client_that_asks_for_diagnostics_is_sent_those_of_cells(start, everything, client_text, tmp_path):
    capabilities = copy.deepcopy(everything)
    capabilities["textDocument"]["diagnostic"] = {}
    capabilities["workspace"]["diagnostics"] = {"refreshSupport": True}
    wire = start(True)
    wire.initialize({**capabilities, **WITH_NOTEBOOKS})
    notebook = Notebook(wire, client_text, tmp_path / "nb.ipynb")
    (cell,) = notebook.open("safe_break")
    assert starts(wire.diagnostics(cell)) == [(0, 0)]
    asked = wire.request("textDocument/diagnostic", {"textDocument": {"uri": cell}})
    assert asked["items"] == []
    every = wire.request("workspace/diagnostic", {"previousResultIds": []})
    assert every["items"] == []


def test_a_notebook_is_not_run(wire, notebook):
    (cell,) = notebook.open("def f():\n    safe_break")
    (found,) = wire.diagnostics(cell)
    plan = {"do": "offer", "offer": "where", "risk": "", "finding": found["data"]}
    assert wire.command("graphmend.verify", plan) is None
    assert "a notebook is not run" in wire.wait_for("window/showMessage")["message"]
    assert wire.command("graphmend.profile", {"uri": notebook.uri, "entry": "f"}) is None
    assert "a notebook is not run" in wire.wait_for("window/showMessage")["message"]
