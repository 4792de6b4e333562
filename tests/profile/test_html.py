"""The page: well-formed, safe, complete, small and fast."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from graphmend_lsp.finding import Finding
from graphmend_lsp.profile.html import page
from graphmend_lsp.profile.markup import gb_url
from graphmend_lsp.profile.report import Arm, Failure, Graph, Recompile, Report, Site
from graphmend_lsp.text import Span
from tests.support.profiles import (
    ALONE,
    COUNTED,
    FAILED,
    FULL,
    HELPERS,
    ITEM,
    NET,
    ON_CPU,
    ORIGINAL,
    PATH,
    REPORTS,
    TEXTS,
)

VOID = {"meta", "br", "link", "img"}


class Page(HTMLParser):
    """Reads a page strictly: every element is closed where it was opened, every key is there once."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.keys, self.hrefs, self.tags, self.refers = [], set(), [], [], []
        self.texts, self.titles = [], []
        self.rows = {}
        """Text of a row of the map, by its key."""
        self._row = None
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), attrs
        assert not any(name.startswith("on") for name in names), attrs
        values = dict(attrs)
        self.tags.append(tag)
        if "id" in values:
            assert values["id"] not in self.keys, values["id"]
            self.keys.add(values["id"])
        self.refers += values.get("aria-labelledby", "").split()
        if tag == "a":
            self.hrefs.append(values["href"])
        if tag == "tr":
            self._row = values.get("id")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert "svg" in self.open, tag
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            return
        self.texts.append(data)
        if self.open[-2:] == ["svg", "title"]:
            self.titles.append(data)
        if self._row and self.open[-1:] != ["tbody"]:
            self.rows[self._row] = self.rows.get(self._row, "") + data + "|"

    @property
    def text(self):
        return " ".join("".join(self.texts).split())


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_pages_are_well_formed_and_need_nothing_else(report):
    text = page(report, TEXTS)
    read = Page(text)
    assert text.startswith("<!DOCTYPE html>") and "None" not in read.text
    assert "script" not in read.tags and "link" not in read.tags and "img" not in read.tags and "url(" not in text
    assert all(href.startswith(("#", "https://meta-pytorch.github.io/")) for href in read.hrefs)
    assert {href[1:] for href in read.hrefs if href.startswith("#")} <= read.keys
    assert set(read.refers) <= read.keys
    assert read.tags.count("svg") == len(read.titles)
    assert "prefers-color-scheme: dark" in text and "@media print" in text


def test_the_header_has_the_three_numbers():
    read = Page(page(FULL, TEXTS))
    assert "Graphs4 → 2" in read.text.replace(" 4 →", "4 →")
    assert "2.13 s → 647 ms" in read.text and "3.3x" in read.text
    assert "1.31 ms → 1.28 ms" in read.text and "1.02x (within noise)" in read.text
    assert "NVIDIA H200" in read.text and "not a GPU" not in read.text


def test_a_cpu_is_labelled():
    assert "CPU: AMD EPYC 9654 (not a GPU)" in Page(page(ON_CPU, TEXTS)).text


def test_the_pictures_have_titles_and_the_report_s_numbers():
    text = page(FULL, TEXTS)
    read = Page(text)
    assert read.titles == ["Time of a call, steady state", "Cold start against steady state"]
    steady, cold = re.findall(r"<svg.*?</svg>", text, re.S)
    assert "eager: 1.52 ms; compiled, original: 1.31 ms; compiled, mended: 1.28 ms" in steady
    assert steady.count("<rect") == 3 and steady.count('class="whisker"') == 3
    assert "cold start, original: 2.13 s; cold start, mended: 647 ms; to steady, original: 2.61 s" in cold
    widths = [float(width) for width in re.findall(r'<rect[^>]* width="([\d.]+)"', steady)]
    assert widths[1] / widths[0] == pytest.approx(1.31 / 1.52, abs=0.001)
    assert "within noise: the difference is no larger than the spread" in read.text


def test_without_times_there_are_no_pictures():
    read = Page(page(COUNTED, TEXTS))
    assert "svg" not in read.tags and "not measured" in read.text


def test_the_map_says_which_graph_a_line_is_in():
    read = Page(page(FULL, TEXTS))
    assert read.rows["f0l26"].strip("|\n") == "26|g0|g0|        if h.abs().max() > 10:"
    text = page(FULL, TEXTS)
    assert (
        '<tr><td>30</td><td class="a c2">g2–g3</td><td class="a c0">g0–g1</td><td>        h = scaled(h)</td></tr>'
        in text
    )
    assert '<tr><td>24</td><td class="a"></td><td class="a"></td><td>    def forward(self, x):</td></tr>' in text
    assert "<td>5</td>" not in text.split("net.py</h3>")[1].split("</table>")[0]  # far from anything measured
    assert '<tr class="gap"><td></td><td colspan="3">...</td></tr>' in text


def test_breaks_stand_beneath_their_lines():
    text = page(FULL, TEXTS)
    assert '<tr id="f0l26" class="brk">' in text
    read = Page(text)
    assert "✂ break, original (found by GM101): Data-dependent branching GB0170" in read.text
    assert "✂ break, original (no finding on this line) and mended: Unsupported Tensor.item() call" in read.text
    assert "GM101: static finding, not reached" in read.text
    assert "#f1l6" in read.hrefs and f"{gb_url('GB0124')}" in read.hrefs


def test_the_map_of_one_arm():
    text = page(ALONE, TEXTS)
    assert '<tr><td>25</td><td class="a c0">g0</td><td>        h = self.fc(x)</td></tr>' in text
    assert "nothing mended: no fix for 3 findings" in Page(text).text


def test_a_text_that_is_not_at_hand():
    read = Page(page(FULL, {PATH: NET}))
    assert "The text is not at hand. In graphs: original 3 lines, mended 3 lines." in read.text
    assert not any(href.startswith("#f1") for href in read.hrefs)


def test_lines_beyond_the_text_are_no_harm():
    Page(page(FULL, {PATH: "import torch\n", HELPERS: ""}))


def test_tables():
    read = Page(page(FULL, TEXTS))
    for part in (
        "Functions compiled again, and the guard that failed.",
        "n == 3 # return y * n",
        "unsafe: the output appears when forward returns",
        "1 finding without an applied fix.",
        "confirmed",
        "not reached",
        "The CUDA graphs of mode reduce-overhead were off.",
        "example_inputs() in net.py",
        "2.13.0+cu130",
        "eval mode",
        "How to read this",
    ):
        assert part in read.text, part


def test_a_failure_is_a_page_and_says_what_to_do():
    read = Page(page(FAILED, {}))
    assert FAILED.failure.message in read.text and "Define example_inputs() next to the model" in read.text
    assert "Traceback\n  line" in page(replace(FAILED, failure=Failure("died", "Traceback\n  line")), {})


def test_other_results_are_warned_of():
    assert "did not return what the original returned" in Page(page(replace(FULL, same_result=False), TEXTS)).text


def test_numbers_of_breaks_are_linked_as_findings_link_them():
    finding = Finding("GM101", "", PATH, Span(1, 0, 1, 0), "", "hint", "", "", "implied", gb="GB0170")
    assert gb_url("GB0170") == finding.gb_url
    assert gb_url('GB1"><script>') is None and gb_url("") is None


HOSTILE = "<script>alert(1)</script>\"'&\x00\x1b[31m\u202e\ud800</td></style>"


def _hostile(arm):
    return replace(
        arm,
        graphs=(Graph(1, {HOSTILE: (1,)}),),
        sites=(Site(HOSTILE, 1, HOSTILE, HOSTILE, 1, HOSTILE), Site("", 0, HOSTILE)),
        recompiles=(Recompile(HOSTILE, HOSTILE, 1, HOSTILE),),
        untimed=HOSTILE,
    )


@pytest.mark.parametrize("failed", [False, True])
def test_nothing_of_the_user_s_is_markup(failed):
    report = replace(
        FULL,
        path=HOSTILE,
        entry=HOSTILE,
        device_name=HOSTILE,
        torch=HOSTILE,
        python=HOSTILE,
        backend=HOSTILE,
        inputs=HOSTILE,
        original=_hostile(ORIGINAL),
        mended=_hostile(ORIGINAL),
        failure=Failure("raised", HOSTILE) if failed else None,
        applied=tuple(replace(row, path=HOSTILE, title=HOSTILE, changes=HOSTILE, code=HOSTILE) for row in FULL.applied),
        findings=tuple(replace(row, path=HOSTILE, code=HOSTILE) for row in FULL.findings),
        notes=(HOSTILE,),
        when=HOSTILE,
    )
    text = page(report, {HOSTILE: HOSTILE})
    read = Page(text)
    assert "script" not in read.tags and "<script" not in text
    assert "<script>alert(1)</script>\"'&" in read.text
    text.encode("utf-8")
    assert not re.search("[\x00\x1b\u202e]", text)


def test_a_large_file_is_small_and_fast():
    source = "".join(
        f"        value_{line} = self.layer_{line}(value_{line - 1}, scale=0.5)\n" for line in range(1, 5001)
    )
    graphs = tuple(Graph(25, {PATH: tuple(range(25 * row + 1, 25 * row + 27))}) for row in range(200))
    sites = tuple(Site(PATH, 25 * row, ITEM.reason, "GB0124", 1, "Net.forward") for row in range(1, 201))
    arm = replace(ORIGINAL, graphs=graphs, sites=sites, events=200)
    started = time.process_time()
    text = page(replace(FULL, original=arm, mended=arm), {PATH: source})
    assert time.process_time() - started < 1.0
    assert len(text.encode()) < 1_050_000
    Page(text)


def test_lines_that_are_in_every_graph_are_no_harm():
    everywhere = tuple(range(1, 5001))
    arm = Arm(graphs=tuple(Graph(1, {PATH: everywhere}) for _ in range(200)), events=0, sites=())
    started = time.process_time()
    text = page(Report(path=PATH, entry="Net", original=arm), {PATH: "x = 1\n" * 5000})
    assert time.process_time() - started < 2.0 and "g0–g199" in text
