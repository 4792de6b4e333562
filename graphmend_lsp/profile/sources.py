"""Texts of the files that a report speaks of, for what shows their lines."""

from __future__ import annotations

from collections.abc import Mapping

from graphmend_lsp.profile.report import Report
from graphmend_lsp.project import files


def texts_of(report: Report, texts: Mapping[str, str]) -> dict[str, str]:
    """By path; ``texts`` stand for files.  What cannot be read is left out."""
    paths = [report.path]
    for arm in (report.original, report.mended):
        if arm is not None:
            paths += [site.path for site in arm.sites]
            paths += [path for graph in arm.graphs for path in graph.lines]
    found: dict[str, str] = {}
    for path in dict.fromkeys(path for path in paths if path):
        try:
            found[path] = texts[path] if path in texts else files.read(path).text
        except files.SourceError:
            continue
    return found
