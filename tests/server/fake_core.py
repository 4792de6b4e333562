"""The server with a core that finds what its words say, so that the server's part can be tested exactly.

``safe_break``, ``defer_break``, ``unsafe_break``, ``refused_break``, ``creating_break`` are findings; their fix
writes ``mended``.  ``noise`` prints, ``boom`` raises, ``slow`` takes a second, ``endless`` hours, ``deadly`` ends the
process, ``mistake`` is an error of ours in one rule, ``pid to FILE`` writes the process's number there.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from typing import Any

from graphmend_lsp import check as core
from graphmend_lsp.check import Analysis, Mended
from graphmend_lsp.finding import Change, Evidence, Finding, Internal, NewFile, Offer, Problem, Refusal
from graphmend_lsp.text import Edit, LineIndex, Span, apply_edits

OFFERS = {
    "safe": (Offer("where", "Mend it", "safe"), Offer("delete", "Delete it", "unsafe", "it is gone")),
    "defer": (Offer("defer", "Defer it", "safe"),),
    "unsafe": (Offer("trap", "Trap it", "unsafe", "another exception"),),
    "creating": (Offer("where", "Mend it with the runtime", "safe"),),
    "refused": (),
}
REFUSAL = Refusal("where", "alias", "both names mean one tensor")


def check(text: str, path: str = "<stdin>", *, settings: Any = None, previous: Any = None, **_: Any) -> Analysis:
    if "noise" in text:
        print("noise on sys.stdout")
        os.write(1, b"noise on descriptor 1\n")
        child = "print('noise of a child', flush=True); input()"  # it must not get our input, either
        subprocess.run([sys.executable, "-c", child], check=False, stderr=subprocess.DEVNULL)
    if place := re.search(r"pid to (\S+)", text):
        with open(place[1], "a", encoding="utf-8") as stream:
            stream.write(f"{os.getpid()} ")
    if "boom" in text:
        raise RuntimeError("the core is broken")
    if "slow" in text:
        time.sleep(1.0)
    if "endless" in text:
        time.sleep(10_000.0)
    if "deadly" in text:
        os._exit(3)
    if "syntax error" in text:
        return Analysis(path, text, previous.findings if previous else (), (Problem(path, 1, "invalid syntax"),))
    index = LineIndex(text)
    found: list[Finding] = []
    function = "f"
    for match in re.finditer(r"def (\w+)|\b(safe|defer|unsafe|refused|creating)_break\b", text):
        if match[1]:
            function = match[1]
            continue
        span = Span(*index.position(match.start()), *index.position(match.end()))
        other = re.search(r"# see (\S+)", text)
        evidence = [Evidence(Span(1, 0, 1, 3), "compiled here")]
        if other:
            evidence.append(Evidence(Span(1, 4, 1, 7), "defined there", other[1]))
        refusals = () if match[2] == "safe" else (REFUSAL,)
        found.append(
            Finding("GM201", "print-in-graph", path, span, f"{match[2]} break", "warning", function, function,
                    "implied", tuple(evidence), OFFERS[match[2]], refusals, "GB0059", span)
        )  # fmt: skip
    suppressed = {n for n, line in enumerate(text.split("\n"), 1) if re.search(r"graphmend: ignore\[[^]]*GM201", line)}
    kept = (f for f in found if f.span.line not in suppressed and settings.wants(f.code))
    mistake = Internal(path, 1, "rule GM999 broken", "KeyError: 'mistake'", "Traceback of the mistake")
    return Analysis(path, text, tuple(kept), (), internal=(mistake,) if "mistake" in text else ())


def resolve(analysis: Analysis, finding: Finding, offer: Offer, **_: Any) -> Change | Refusal:
    if "refuse later" in analysis.text:
        return REFUSAL
    runtime = os.path.join(os.path.dirname(finding.path), "_graphmend.py")
    creates = (NewFile(runtime, "# runtime\nVERSION = 2\n"),) if "runtime" in offer.title else ()
    return Change((Edit(finding.span, "" if offer.kind == "delete" else "mended"),), creates)


def mend(text: str, path: str = "<stdin>", *, settings: Any = None, accept: Any, **_: Any) -> Mended:
    analysis = check(text, path, settings=settings)
    applied = tuple(
        (f, next(o for o in f.offers if accept(f, o))) for f in analysis.findings if any(accept(f, o) for o in f.offers)
    )
    changes = [resolve(analysis, f, o) for f, o in applied]
    new = apply_edits(text, [e for c in changes if isinstance(c, Change) for e in c.edits])
    creates = {n.path: n for c in changes if isinstance(c, Change) for n in c.creates}
    return Mended(new, applied, check(new, path, settings=settings), tuple(creates.values()))


if __name__ == "__main__":
    core.check, core.resolve, core.mend = check, resolve, mend  # type: ignore[assignment]
    from graphmend_lsp.server import app, sweep, sweeper

    if sys.argv[1:] == ["sweep"]:
        sweep.main()
    sweeper.command = lambda: [os.environ.get("FAKE_SWEEPER", sys.executable), __file__, "sweep"]
    sys.exit(app.main(sys.argv[1:]))
