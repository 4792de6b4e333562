"""A profile in one line and in a terminal."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from graphmend_lsp.profile.report import Failure, Graph, Launches, Timing
from graphmend_lsp.profile.text import Writer, headline
from graphmend_lsp.profile.words import device, memory, one_line, seconds, times
from tests.support.profiles import (
    ALONE,
    APPLIED,
    COUNTED,
    FAILED,
    FULL,
    HELPERS,
    ITEM,
    MENDED,
    ON_CPU,
    ORIGINAL,
    PATH,
    REPORTS,
    untimed,
)

WHOLE = replace(MENDED, graphs=(Graph(14, {}),), events=0, sites=())


def lines(report, **writer):
    return list(Writer(**writer).lines(report))


def row(report, name):
    """The cells of one row of the table."""
    [line] = [line for line in lines(report) if line.startswith(f"  {name}  ")]
    return re.split("  +", line.strip())[1:]


# -- one line ------------------------------------------------------------------------------------------


def test_the_headline_has_graphs_cold_start_and_steady_state():
    fast = replace(FULL, mended=replace(WHOLE, compiled=Timing(1e-3, 0.99e-3, 1.01e-3, 100)))
    assert headline(fast) == "4 graphs, 4 breaks -> mended: 1 graph; cold 3.3x, steady 1.31x (NVIDIA H200)"


def test_a_difference_inside_the_noise_is_said():
    assert headline(FULL).endswith("mended: 2 graphs, 1 break; cold 3.3x, steady 1.02x (within noise) (NVIDIA H200)")


def test_a_cpu_is_called_one_whatever_its_name():
    assert headline(ON_CPU).endswith(" (CPU)")
    assert device(ON_CPU) == "CPU: AMD EPYC 9654"
    assert device(replace(ON_CPU, device_name="")) == device(replace(ON_CPU, device_name="cpu")) == "CPU"
    assert device(FAILED) == ""


def test_without_times_only_counts():
    assert headline(COUNTED) == "4 graphs, 4 breaks -> mended: 2 graphs, 1 break"


def test_one_of_each():
    one = replace(COUNTED, mended=None, left=1, original=replace(COUNTED.original, graphs=(Graph(1, {}),), events=1))
    assert headline(one) == "1 graph, 1 break; nothing mended: no fix for 1 finding"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"left": 3}, "nothing mended: no fix for 3 findings"),
        ({"left": 0}, "nothing mended"),
        ({"mended_failure": Failure("raised", "Net\nraised   KeyError")}, "mended not measured: Net raised KeyError"),
    ],
)
def test_where_nothing_is_mended_the_times_and_why(changed, why):
    said = headline(replace(ALONE, **changed))
    assert said == f"4 graphs, 4 breaks; cold 2.1 s, 1.3 ms a call (eager 1.5 ms); {why} (NVIDIA H200)"


def test_without_breaks_there_is_nothing_to_mend():
    whole = replace(ALONE, original=untimed(WHOLE), left=0)
    assert headline(whole) == "1 graph; nothing to mend"


def test_a_failure_is_its_message_shortened():
    assert headline(FAILED) == f"not profiled: {FAILED.failure.message}"
    long = headline(replace(FAILED, failure=Failure("import", "ImportError:\n" + "x" * 500)))
    assert long.startswith("not profiled: ImportError: xxx") and long.endswith("…") and len(long) < 120


def test_other_results_are_in_the_headline():
    assert "; results differ (" in headline(replace(FULL, same_result=False))


def test_half_of_the_times():
    cold = replace(FULL, original=replace(ORIGINAL, compiled=None))
    assert headline(cold).endswith("; cold 3.3x (NVIDIA H200)")


# -- units ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.0, 3, "0 s"),
        (3.2e-7, 3, "0.32 µs"),
        (12.34e-6, 3, "12.3 µs"),
        (0.9997e-3, 3, "1.00 ms"),
        (1.306e-3, 2, "1.3 ms"),
        (1.306e-3, 3, "1.31 ms"),
        (0.6467, 3, "647 ms"),
        (2.134, 2, "2.1 s"),
        (127.4, 2, "127 s"),
    ],
)
def test_seconds(value, digits, text):
    assert seconds(value, digits) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B"), (2048, "2.00 KiB"), (37_800_000, "36.0 MiB"), (9 << 30, "9.00 GiB")]
)
def test_memory(value, text):
    assert memory(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1.00x"), (0.954, "0.95x"), (3.3, "3.3x"), (41.2, "41x"), (0.0123, "0.012x")]
)
def test_times(value, text):
    assert times(value) == text


def test_one_line_has_nothing_a_terminal_obeys():
    assert one_line("a\n\x1b[31mb\r\u202ec\t d") == "a [31mb c d"
    assert one_line("x" * 20, 10) == "x" * 9 + "…"


# -- the whole -----------------------------------------------------------------------------------------


def test_the_table_has_the_numbers_of_the_report():
    assert row(FULL, "graphs") == ["4", "2"]
    assert row(FULL, "compiled") == ["1.31 ms", "1.28 ms", "1.02x (within noise)"]
    assert row(FULL, "cold start") == ["2.13 s", "647 ms", "3.3x"]
    assert row(FULL, "launches a call") == ["14 kernels", "9 kernels"]
    table = lines(FULL)[1:15]
    assert [line[:19].strip() for line in table[1:]] == [
        "graphs",
        "break events",
        "break sites",
        "recompiles",
        "skipped frames",
        "guards",
        "operations",
        "eager",
        "compiled",
        "cold start",
        "to steady",
        "peak memory",
        "launches a call",
    ]
    # aligned: the originals end in one column
    end = table[0].index("original") + len("original")
    assert all(line[end - 1] != " " and line[end : end + 1] in (" ", "") for line in table)


def test_launches_of_cuda_graphs():
    graphs = replace(ALONE, original=replace(ORIGINAL, launches=Launches(1, 2)))
    assert any(line.endswith("1 kernel, 2 CUDA graphs") for line in lines(graphs))


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_what_is_not_known_is_left_out(report):
    text = "\n".join(lines(report))
    assert "None" not in text and text.count("above 1") == (report.cold_ratio is not None)
    assert all(line == line.rstrip() for line in text.splitlines())


def test_counts_alone_have_no_rows_of_times():
    text = "\n".join(lines(COUNTED))
    assert "cold" not in text and "eager" not in text and "guards" in text


def test_why_there_are_no_times():
    why = replace(FULL, mended=untimed(MENDED, "its second call raised"))
    assert "  mended not timed: its second call raised" in lines(why)


def test_compiled_against_eager():
    assert "  compiled against eager, steady state: original 1.16x, mended 1.18x" in lines(FULL)


def test_break_sites_say_whether_a_finding_foresaw_them():
    text = lines(FULL)
    assert (
        f"  breaks: {PATH}:26 in Net.forward: Data-dependent branching GB0170 (found by GM101)" in text
        and f"  breaks: {HELPERS}:6 in scaled: {ITEM.reason} GB0124 (2 times, no finding on this line)" in text
        and f"  still breaks: {HELPERS}:6 in scaled: {ITEM.reason} GB0124 (no finding on this line)" in text
        and f"  finding: {PATH}:13 GM101: not reached" in text
    )


def test_a_site_without_a_place():
    nowhere = replace(ALONE, original=replace(ORIGINAL, sites=(replace(ITEM, path="", line=0, function="", gb=""),)))
    assert any(line.startswith("  breaks: no place named: Unsupported") for line in lines(nowhere))


def test_many_sites_are_cut():
    many = replace(ALONE, original=replace(ORIGINAL, sites=tuple(replace(ITEM, line=row) for row in range(1, 61))))
    text = lines(many)
    assert sum(line.startswith("  breaks:") for line in text) == 20
    assert "    and 40 more (in the JSON report)" in text


def test_fixes_recompiles_and_the_environment():
    text = lines(FULL)
    assert f"  applied: {PATH}:26 GM101 {APPLIED[0].title}" in text
    assert f"  applied: {PATH}:28 GM201 {APPLIED[1].title} (unsafe: {APPLIED[1].changes})" in text
    assert f"  recompiled: scaled ({HELPERS}:4): n == 3 # return y * n" in text
    assert "  left: 1 finding without an applied fix" in text
    assert "  inputs: example_inputs() in net.py, eval mode" in text
    assert text[-1] == "  NVIDIA H200, torch 2.13.0+cu130, Python 3.11.9, inductor, 14.3 s"


def test_arms_that_cannot_be_compared_are_warned_of():
    text = "\n".join(lines(replace(FULL, same_inputs=False, same_result=False)))
    assert "warning: The two arms did not begin with the same" in text
    assert "warning: The mended code did not return what the original returned" in text


def test_a_long_failure_is_told_whole():
    text = lines(replace(FAILED, failure=Failure("import", "cannot import net\n" + "trouble " * 20)))
    assert text[1] == "  cannot import net" and text[2] == f"  {('trouble ' * 20).strip()}"


def test_paths_and_colours_are_the_callers():
    text = lines(FULL, paint=lambda text, *styles: f"<{'+'.join(styles)}>{text}", shown=lambda path: path[9:])
    assert text[0].startswith("<bold>net.py::Net: ") and "  <yellow>breaks: net.py:26 in" in "\n".join(text)
