"""The thread of the analysis: the order of jobs, and when it looks for garbage."""

from __future__ import annotations

import asyncio
import gc
import time

import pytest

from graphmend_lsp.server import worker
from graphmend_lsp.server.worker import BACKGROUND, SWEEP, URGENT, Worker


def test_who_waits_goes_first():
    done = []

    async def session():
        ours = Worker()
        ours.run(lambda: time.sleep(0.2), URGENT)  # meanwhile the others come
        jobs = [ours.run(lambda p=p: done.append(p), p) for p in (SWEEP, BACKGROUND, URGENT, BACKGROUND)]
        await asyncio.gather(*jobs)

    asyncio.run(session())
    assert done == [URGENT, BACKGROUND, BACKGROUND, SWEEP]


def test_the_error_of_a_job_is_its_own():
    async def session():
        ours = Worker()
        with pytest.raises(ZeroDivisionError):
            await ours.run(lambda: 1 // 0)
        assert await ours.run(lambda: 1) == 1

    asyncio.run(session())


@pytest.mark.parametrize(("much", "old"), [(False, False), (False, True), (True, True)])
def test_garbage_is_looked_for_when_nobody_wants_anything(monkeypatch, much, old):
    """Or when there is so much of it that it cannot wait; old objects are looked through when there are many more."""
    monkeypatch.setattr(worker, "_GARBAGE", 1000)
    monkeypatch.setattr(worker, "_OLD", 1000 if old else 10**9)
    monkeypatch.setattr(worker, "_MUCH", 1000 if much else 10**9)
    searched = []
    generations = set()
    monkeypatch.setattr(gc, "collect", lambda which: (generations.add(which), searched.append(time.monotonic())))
    kept = []

    async def session():
        ours = Worker()
        for _ in range(4):
            await ours.run(lambda: kept.append([object() for _ in range(5000)]), URGENT)
        await ours.run(lambda: None, URGENT)
        last = time.monotonic()
        assert bool(searched) == much
        while not searched:
            await asyncio.sleep(0.02)
            assert time.monotonic() < last + 20
        return last

    last = asyncio.run(session())
    assert much or searched[0] >= last + worker._REST - 0.1
    assert generations == {2 if old else 1}
