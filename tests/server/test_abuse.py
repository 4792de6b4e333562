"""No message knocks the server over: those of no honest client, in any order, and an ordinary one is served after them.

``make bench-robustness`` sends more of them.
"""

from __future__ import annotations

import pytest

from tests.support.robust import abuse

INVALID, EARLY = -32600, -32002


def _ended(wire):
    wire.request("shutdown")
    wire.notify("exit")
    return wire.wait()


@pytest.mark.parametrize(("client", "seed", "count"), [("minimal", 1, 500), ("vscode", 2, 150), ("neovim", 3, 150)])
def test_messages_of_no_honest_client(editor, client, seed, count):
    wire = editor(client, False)
    if client != "minimal":
        wire.answers = dict.fromkeys(wire.answers, abuse.odd_answers(seed))
    found = abuse.session(wire, seed, count)
    assert found.wrong == ()
    assert found.messages == 2 * count and found.asked > count // 2
    assert found.after <= found.before * 1.3  # a server that has just begun still grows; the bench warms it up
    assert _ended(wire) == 0
    assert wire.stray == b""


def test_before_the_beginning_and_after_the_end(start):
    wire = start()
    assert abuse.out_of_turn(wire, 4, 300, EARLY) == ()
    wire.initialize()
    assert list(abuse.probe(wire, "first")) == []
    wire.request("shutdown")
    assert abuse.out_of_turn(wire, 5, 300, INVALID) == ()
    wire.notify("exit")
    assert wire.wait() == 0
    assert list(abuse.alarms(wire)) == []
