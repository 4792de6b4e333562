"""The JSON form: described by the schema, and read back as it was."""

from __future__ import annotations

import json
import typing
from dataclasses import fields, replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmend_lsp.finding import Applied
from graphmend_lsp.profile.report import (
    Arm,
    Confirmed,
    Failure,
    FailureKind,
    Graph,
    Launches,
    Recompile,
    Report,
    Site,
    Timing,
)
from tests.support.profiles import FULL, MENDED, REPORTS, untimed

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "profile.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

MORE = {
    **REPORTS,
    "half": replace(FULL, mended=None, mended_failure=Failure("timeout", "no end after 1800 s")),
    "partly timed": replace(FULL, mended=untimed(MENDED, "raised")),
}

count = st.integers(0, 10**9)
amount = st.floats(0, 1e6)
text = st.text(max_size=20)
graph = st.builds(
    Graph, count, st.dictionaries(text, st.lists(st.integers(1, 9999), max_size=4).map(tuple), max_size=3)
)
site = st.builds(Site, text, count, text, text, count, text)
timing = st.builds(Timing, amount, amount, amount, count)


def some(strategy):
    return st.lists(strategy, max_size=3).map(tuple)


def maybe(strategy):
    return st.none() | strategy


arm = st.builds(
    Arm,
    graphs=some(graph),
    events=count,
    sites=some(site),
    recompiles=some(st.builds(Recompile, text, text, count, text)),
    skipped=maybe(count),
    guards=maybe(count),
    eager=maybe(timing),
    compiled=maybe(timing),
    cold=maybe(amount),
    to_steady=maybe(amount),
    peak_memory=maybe(count),
    launches=maybe(st.builds(Launches, count, count)),
    untimed=text,
)
failure = st.builds(Failure, st.sampled_from(typing.get_args(FailureKind)), text)
reports = st.builds(
    Report,
    path=text,
    entry=text,
    device=st.sampled_from(["cuda", "cpu", ""]),
    device_name=text,
    torch=text,
    python=text,
    backend=text,
    inputs=text,
    training=maybe(st.booleans()),
    original=maybe(arm),
    mended=maybe(arm),
    failure=maybe(failure),
    mended_failure=maybe(failure),
    applied=some(st.builds(Applied, text, count, text, text, text, text)),
    left=count,
    findings=some(st.builds(Confirmed, text, count, text, st.sampled_from(["confirmed", "no-break", "not-reached"]))),
    same_inputs=maybe(st.booleans()),
    same_result=maybe(st.booleans()),
    notes=some(text),
    seconds=amount,
    digest=text,
    when=text,
)


def sent(report):
    """The report as another program gets it."""
    return json.loads(json.dumps(report.as_json()))


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("report", MORE.values(), ids=MORE)
def test_reports_are_as_the_schema_says(report):
    VALIDATOR.validate(sent(report))
    assert Report.read(sent(report)) == report


@given(reports)
def test_every_report_comes_back_as_it_went(report):
    VALIDATOR.validate(sent(report))
    assert Report.read(sent(report)) == report


@pytest.mark.parametrize(
    ("kind", "described"),
    [
        (Failure, "failure"),
        (Site, "site"),
        (Recompile, "recompile"),
        (Graph, "graph"),
        (Timing, "timing"),
        (Launches, "launches"),
        (Arm, "arm"),
        (Applied, "applied"),
        (Confirmed, "confirmed"),
    ],
)
def test_every_field_is_described_and_none_more(kind, described):
    schema = SCHEMA["$defs"][described]
    names = {field.name for field in fields(kind)}
    assert set(schema["properties"]) == set(schema["required"]) == names
    assert all(row["description"] for row in schema["properties"].values())


def test_the_report_itself_is_described():
    assert list(SCHEMA["properties"]) and set(SCHEMA["properties"]) == set(SCHEMA["required"]) == set(FULL.as_json())
    assert all(row["description"] for row in SCHEMA["properties"].values())
    assert SCHEMA["$defs"]["failure"]["properties"]["kind"]["enum"] == list(typing.get_args(FailureKind))


@pytest.mark.parametrize(
    "spoil",
    [
        {"left": "3"},
        {"version": 2},
        {"device": "tpu"},
        {"original": {"graphs": []}},
        {"failure": {"kind": "whatever", "message": ""}},
    ],
)
def test_the_schema_refuses_what_is_not_a_report(spoil):
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate({**sent(FULL), **spoil})


def test_more_keys_are_fine():
    VALIDATOR.validate({**sent(FULL), "tomorrow": 1})
    assert Report.read({**sent(FULL), "tomorrow": 1}) == FULL
