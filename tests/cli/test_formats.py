"""The formats that CI systems read: SARIF, GitHub's annotations, GitLab's code quality report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest

from graphmend_lsp import __version__
from graphmend_lsp.cli import main
from graphmend_lsp.rules import all_rules
from graphmend_lsp.text import Edit, Span, apply_edits

from .conftest import CLEAN, MODEL, Run
from .test_notebooks import BODY, write

SCHEMA = json.loads((Path(__file__).parent / "sarif" / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
LEVELS = {"note", "warning", "error"}
BRANCH = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x * 2
        if x.abs().max() > 10:
            x = x.clamp(-10, 10)
        return x
"""
HELPER = """\
import torch


def report(x):
    print("a:b, 100%", x.shape)
    return x
"""
USER = """\
import torch

from helper import report


@torch.compile(fullgraph=True)
def run(x: torch.Tensor) -> torch.Tensor:
    return report(x)
"""


def sarif(run: Run, *arguments: str, **environment: str) -> dict[str, Any]:
    """The log of a check, held against the schema and what GitHub asks for beyond it."""
    log = json.loads(run("check", "--format", "sarif", *arguments, **environment).out)
    jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(log)
    accepted_by_github(log)
    (only,) = log["runs"]
    return only


def accepted_by_github(log: dict[str, Any]) -> None:
    """What GitHub's "SARIF support for code scanning" requires, recommends and limits."""
    assert log["version"] == "2.1.0" and log["$schema"].endswith("/sarif-schema-2.1.0.json")
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"] and driver["semanticVersion"]
        assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])
        for rule in driver["rules"]:
            assert rule["id"] and 0 < len(rule["name"]) <= 255
            assert 0 < len(rule["shortDescription"]["text"]) <= 1024
            assert 0 < len(rule["fullDescription"]["text"]) <= 1024
            assert rule["help"]["text"] and rule["help"]["markdown"]
            assert rule["defaultConfiguration"]["level"] in LEVELS
            assert len(rule["properties"]["tags"]) <= 10
            assert rule["properties"]["precision"] in ("very-high", "high", "medium", "low")
            assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")
        for result in run["results"]:
            assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
            assert result["level"] in LEVELS and result["message"]["text"]
            (location,) = result["locations"]
            assert location["physicalLocation"]["artifactLocation"]["uri"]
            assert location["physicalLocation"]["region"]["startLine"] >= 1
            assert all(result["partialFingerprints"].values())
            ids = {related["id"] for related in result.get("relatedLocations", ())}
            assert {int(number) for number in re.findall(r"(?<!\\)\]\((\d+)\)", result["message"]["text"])} == ids


def region(result: dict[str, Any]) -> tuple[int, ...]:
    found = result["locations"][0]["physicalLocation"]["region"]
    return tuple(found[key] for key in ("startLine", "startColumn", "endLine", "endColumn"))


def uri(result: dict[str, Any]) -> str:
    return result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


def test_sarif(run: Run, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(BRANCH)
    made = sarif(run)
    driver = made["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("graphmend", __version__)
    assert [rule["id"] for rule in driver["rules"]] == [rule.code for rule in all_rules()]
    assert all(rule["helpUri"].startswith("https://") for rule in driver["rules"] if rule["id"] != "GM001")
    assert made["columnKind"] == "unicodeCodePoints"
    assert made["originalUriBaseIds"]["%SRCROOT%"]["uri"] == tmp_path.as_uri() + "/"
    assert made["invocations"] == [{"executionSuccessful": True}]
    (result,) = made["results"]
    assert (result["ruleId"], result["level"]) == ("GM101", "note")
    assert region(result) == (7, 12, 7, 30)
    location = result["locations"][0]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": "net.py", "uriBaseId": "%SRCROOT%"}
    assert location["physicalLocation"]["region"]["snippet"]["text"] == "x.abs().max() > 10"
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "Net.forward"
    evidence = [related["message"]["text"] for related in result["relatedLocations"]]
    assert any("annotated as a tensor" in text for text in evidence)


def test_sarif_without_findings(run: Run, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(CLEAN)
    assert sarif(run)["results"] == []


def test_levels_follow_severities(run: Run, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "user.py").write_text(USER)
    (result,) = sarif(run)["results"]
    assert result["level"] == "error"  # fullgraph=True
    (other,) = [r for r in result["relatedLocations"] if "compiled" in r["message"]["text"]]
    assert other["physicalLocation"]["artifactLocation"]["uri"] == "user.py"
    (tmp_path / "pyproject.toml").write_text("[tool.graphmend.severity]\nGM2 = 'warning'\n")
    assert [r["level"] for r in sarif(run)["results"]] == ["warning"]


def test_files_are_named_from_the_top_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    top = tmp_path / "top"
    folder = top / "a b" / "ü#1%"
    folder.mkdir(parents=True)
    (folder / "net.py").write_text(BRANCH)
    (tmp_path / "outside.py").write_text(BRANCH)

    def uris(*arguments: str) -> list[str]:
        main(["check", "--format", "sarif", *arguments])
        return [uri(result) for result in json.loads(capsys.readouterr().out)["runs"][0]["results"]]

    monkeypatch.chdir(folder)
    assert uris() == ["net.py"]
    monkeypatch.setenv("GITHUB_WORKSPACE", str(top / "a b"))
    assert uris() == ["%C3%BC%231%25/net.py"]
    (top / ".git").mkdir()
    outside, inside = uris("net.py", str(tmp_path / "outside.py"))
    assert inside == "a%20b/%C3%BC%231%25/net.py"
    assert unquote(outside) == (tmp_path / "outside.py").as_uri()
    main(["check", "--format", "github"])
    assert capsys.readouterr().out.startswith("::notice file=a b/ü#1%25/net.py,line=7,")


def test_fingerprints_stay_while_lines_move(run: Run, tmp_path: Path) -> None:
    def marks(text: str) -> list[str]:
        (tmp_path / "net.py").write_text(text)
        return [mark for result in sarif(run)["results"] for mark in result["partialFingerprints"].values()]

    before = marks(BRANCH)
    assert marks("# a comment\nimport os\n" + BRANCH) == before
    assert marks(BRANCH.replace("return x\n", "y = x + 1\n        return y\n")) == before
    assert marks(BRANCH.replace("x.abs().max() > 10:", "(\n            x.abs().max() > 10\n        ):  # big")) != []
    assert marks(BRANCH.replace("> 10:", "> 11:")) != before
    twice = BRANCH.replace(
        "        return x\n", "        if x.abs().max() > 10:\n            x = x * 2\n        return x\n"
    )
    first, second = marks(twice)
    assert first == before[0] and second == first.replace(":1", ":2")


def test_fixes_are_the_edits_of_safe_offers(run: Run, tmp_path: Path) -> None:
    """Columns count code points: the edit is right behind characters outside the basic plane."""
    path = tmp_path / "net.py"
    text = BRANCH.replace(
        "        x = x * 2\n", '        x = x * 2; "\N{WAVING HAND SIGN}"; \\\n            x = x + 1\n'
    )
    path.write_text(text, encoding="utf-8")
    (result,) = sarif(run)["results"]
    (fix,) = result["fixes"]
    (change,) = fix["artifactChanges"]
    edits: list[Edit] = []
    for replacement in change["replacements"]:
        place = replacement["deletedRegion"]
        span = Span(place["startLine"], place["startColumn"] - 1, place["endLine"], place["endColumn"] - 1)
        edits.append(Edit(span, replacement["insertedContent"]["text"]))
    assert run("fix").code == 0
    assert apply_edits(text, edits) == path.read_text(encoding="utf-8")


def test_a_fix_that_needs_a_new_file_is_only_named(run: Run, model: Path) -> None:
    (result,) = sarif(run)["results"]
    assert "fixes" not in result
    assert {"safe"} <= {offer["safety"] for offer in result["properties"]["offers"]}
    assert run("fix").code == 0  # the runtime file is there now
    model.write_text(MODEL)
    (result,) = sarif(run, "model.py")["results"]
    assert len(result["fixes"]) == 1


def test_what_could_not_be_checked_is_in_sarif(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("x = 1\ndef f(:\n    pass\n")
    made = sarif(run, ".", "none.py")
    (invocation,) = made["invocations"]
    assert not invocation["executionSuccessful"]
    said = {
        unquote(n["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]): n
        for n in invocation["toolExecutionNotifications"]
    }
    assert said["broken.py"]["locations"][0]["physicalLocation"]["region"] == {"startLine": 2}
    assert said["none.py"]["message"]["text"] == "no such file or directory"
    assert len(made["results"]) == 1


def test_sarif_of_standard_input(run: Run) -> None:
    log = json.loads(run("check", "--format", "sarif", "-", stdin=BRANCH.encode()).out)
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    named = json.loads(run("check", "--format", "sarif", "-", "--stdin-filename", "net.py", stdin=BRANCH.encode()).out)
    assert uri(named["runs"][0]["results"][0]) == "net.py"


@pytest.mark.parametrize("indent", [None, 1])
def test_findings_in_notebooks_have_lines_of_the_file(run: Run, tmp_path: Path, indent: int | None) -> None:
    path = write(tmp_path / "nb.ipynb", "%matplotlib inline\nimport torch", BODY)
    if indent is None:  # all on one line
        path.write_text(json.dumps(json.loads(path.read_text())))
    (result,) = sarif(run)["results"]
    location = result["locations"][0]
    line = location["physicalLocation"]["region"]["startLine"]
    assert "fixes" not in result and "startColumn" not in location["physicalLocation"]["region"]
    assert {"fullyQualifiedName": "cell 3, line 4", "kind": "cell"} in location["logicalLocations"]
    rows = path.read_text(encoding="utf-8").splitlines()
    assert r"print(\"step\")" in rows[line - 1] and (line > 20) == (indent is not None)
    annotation = run("check", "--format", "github").out
    assert f"line={line}," in annotation and "(cell 3%2C line 4)" in annotation and ",col=" not in annotation


def test_github_annotations(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a,b:c").mkdir()
    (tmp_path / "a,b:c" / "helper.py").write_text(HELPER)
    (tmp_path / "a,b:c" / "user.py").write_text(USER)
    (tmp_path / "net.py").write_text(
        BRANCH.replace("x.abs().max() > 10", "(\n            x.abs().max() > 10\n        )")
    )
    (tmp_path / "broken.py").write_text("def f(:\n")
    result = run("check", "--format", "github")
    rows = sorted(result.out.splitlines())
    assert result.code == 2 and len(rows) == 3
    assert rows[0].startswith("::error file=a%2Cb%3Ac/helper.py,line=5,endLine=5,col=5,endColumn=")
    assert ",title=GM201 print-in-graph::" in rows[0]
    assert rows[1].startswith("::error file=broken.py,line=1,title=graphmend::")
    assert rows[2].startswith("::notice file=net.py,line=8,endLine=8,col=13")


def test_github_messages_are_one_line(run: Run, tmp_path: Path) -> None:
    from graphmend_lsp.cli.formats.github import _command  # pyright: ignore[reportPrivateUsage]

    made = _command("error", {"file": "a,b:c%\n", "line": 3}, "50% of\r\nx: y, z")
    assert made == "::error file=a%2Cb%3Ac%25%0A,line=3::50%25 of%0D%0Ax: y, z"


def test_gitlab_report(run: Run, tmp_path: Path) -> None:
    twice = BRANCH.replace(
        "        return x\n", "        if x.abs().max() > 10:\n            x = x * 2\n        return x\n"
    )
    (tmp_path / "net.py").write_text(twice)
    (tmp_path / "other.py").write_text(BRANCH)
    (tmp_path / "broken.py").write_text("def f(:\n")
    issues = json.loads(run("check", "--format", "gitlab").out)
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
    places = [(i["location"]["path"], i["location"]["lines"]["begin"]) for i in issues]
    assert places == [("net.py", 7), ("net.py", 9), ("other.py", 7), ("broken.py", 1)]
    marks = [issue["fingerprint"] for issue in issues]
    assert len(set(marks)) == 4
    (tmp_path / "net.py").write_text("import os\n" + twice)
    assert [i["fingerprint"] for i in json.loads(run("check", "--format", "gitlab").out)] == marks


@pytest.mark.parametrize("form", ["full", "concise", "json", "sarif", "github", "gitlab"])
def test_output_file(run: Run, model: Path, tmp_path: Path, form: str) -> None:
    shown = run("check", "--format", form)
    kept = run("check", "--format", form, "-o", "out.txt")
    assert (kept.code, kept.out) == (1, "")
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == shown.out
    failed = run("check", "--format", form, "--output-file", "none/out.txt")
    assert failed.code == 2 and "error: none/out.txt: not written: " in failed.err.replace("\\", "/")


def test_statistics(run: Run, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(BRANCH)
    (tmp_path / "a.py").write_text(MODEL)
    (tmp_path / "b.py").write_text(MODEL)
    result = run("check", "--statistics")
    assert result.code == 1
    assert result.out.splitlines() == [
        "2 GM201 [*] print-in-graph",
        "1 GM101 [*] data-dependent-branch",
        "Found 3 findings (3 safe fixes) in 3 files.",
    ]
    document = json.loads(run("check", "--statistics", "--format", "json").out)
    assert document == {
        "version": 1,
        "statistics": [
            {"code": "GM201", "name": "print-in-graph", "count": 2, "fixable": 2},
            {"code": "GM101", "name": "data-dependent-branch", "count": 1, "fixable": 1},
        ],
        "errors": [],
    }
    assert run("check", "--statistics", "--format", "sarif").code == 2
    (tmp_path / "net.py").write_text(CLEAN)
    assert run("check", "--statistics", "net.py").out == "No findings in 1 file.\n"
