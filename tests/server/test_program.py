"""Findings that come from other files: the real core, a workspace of two files."""

from __future__ import annotations

HELPER = "def note(x):\n    print(x)\n    return x\n"
MODEL = "from torch import nn\n\nfrom helper import note\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n"


def test_a_caller_in_another_file(start, everything, tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    helper, model = tmp_path / "helper.py", tmp_path / "model.py"
    helper.write_text(HELPER)
    model.write_text(MODEL + "        return x + 1\n")
    wire = start()
    wire.initialize(everything, rootUri=tmp_path.as_uri())
    wire.open(helper.as_uri(), HELPER)
    assert wire.diagnostics(helper.as_uri(), 1) == []
    wire.open(model.as_uri(), model.read_text())
    called = MODEL + "        return note(x + 1)\n"
    wire.change(model.as_uri(), 2, {"text": called})
    wire.notify("textDocument/didSave", {"textDocument": {"uri": model.as_uri()}})  # the buffer counts, not the disk
    params = wire.wait_for(
        "textDocument/publishDiagnostics", lambda p: p["uri"] == helper.as_uri() and p["diagnostics"]
    )
    (found,) = params["diagnostics"]
    assert found["code"] == "GM201"
    (entry,) = found["relatedInformation"]
    assert entry["location"]["uri"] == model.as_uri() and entry["location"]["range"]["start"]["line"] == 6
    assert "`Net` is an nn.Module" in entry["message"]
    (action,) = [a for a in wire.actions(helper.as_uri(), 1, 6, only=["quickfix"]) if a.get("isPreferred")]
    edits = wire.resolve(action)["edit"]["documentChanges"]
    assert any("graph_effect" in e["newText"] for change in edits for e in change.get("edits", ()))
