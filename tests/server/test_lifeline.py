"""The server does not outlive its client."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from graphmend_lsp.server import lifeline


@pytest.fixture
def client():
    """Another process, which may be told to end."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.wait()


def test_processes(client):
    assert lifeline.exists(os.getpid()) and lifeline.exists(client.pid)
    client.kill()
    client.wait()
    assert not lifeline.exists(client.pid)


def test_it_is_told_once(client):
    gone = threading.Event()
    thread = lifeline.watch(client.pid, gone.set, 0.05)
    time.sleep(0.3)
    assert not gone.is_set() and thread is not None
    client.kill()
    client.wait()
    assert gone.wait(5)


@pytest.mark.parametrize("pid", [None, 0, -1])
def test_nothing_to_watch(pid):
    assert lifeline.watch(pid, lambda: None) is None


def test_a_process_that_cannot_be_seen_is_not_watched(client):
    """The server may run in a container, and its client outside."""
    client.kill()
    client.wait()
    assert lifeline.watch(client.pid, lambda: pytest.fail("not gone")) is None


@pytest.mark.parametrize("shut_down", [False, True])
def test_the_server_ends_although_the_pipe_is_open(start, client, shut_down):
    assert lifeline.SECONDS >= 2  # it looks seldom
    wire = start(True)
    wire.initialize({}, processId=client.pid)
    if shut_down:
        wire.request("shutdown")
    else:
        wire.open("file:///tmp/graphmend-test/model.py", "slow\n")
    client.kill()
    client.wait()
    assert wire.wait() == (0 if shut_down else 1)
