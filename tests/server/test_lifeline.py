"""The server does not outlive its client."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from graphmend_lsp.project.process import WorkerProcess
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


RUNNING, ENDED, FOREIGN, FAILING, NONE = 11, 12, 13, 14, 15
HANDLE = 0x7FF6_0000_0010
"""Of more than 32 bits."""


@pytest.fixture
def windows(monkeypatch):
    """A kernel32 with processes in each state; what it was asked, in order."""
    asked = []
    errors = {FOREIGN: 5, NONE: 87}
    waits = {RUNNING: 0x102, ENDED: 0, FAILING: 0xFFFFFFFF}

    class Function:
        """As ctypes has it: its types are set, then it is called."""

        def __init__(self, call):
            self.call, self.restype, self.argtypes = call, ctypes.c_int, None

        def __call__(self, *arguments):
            return self.call(*arguments)

    def opened(access, inherited, pid):
        asked.append(("open", access, inherited, pid))
        handle = HANDLE + pid if pid in waits else None
        return handle if kernel.OpenProcess.restype is ctypes.c_void_p else handle and handle & 0xFFFFFFFF

    def waited(handle, milliseconds):
        asked.append(("wait", handle - HANDLE, milliseconds))
        return waits[handle - HANDLE]

    def closed(handle):
        asked.append(("close", handle - HANDLE))
        return 1

    kernel = SimpleNamespace(
        OpenProcess=Function(opened), WaitForSingleObject=Function(waited), CloseHandle=Function(closed)
    )

    def library(name, use_last_error=False):
        assert (name, use_last_error) == ("kernel32", True)
        return kernel

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(ctypes, "WinDLL", library, raising=False)
    monkeypatch.setattr(ctypes, "get_last_error", lambda: errors[asked[-1][3]], raising=False)
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("there it ends the process"))
    return asked


@pytest.mark.parametrize(
    ("pid", "there", "waits"),
    [(RUNNING, True, True), (ENDED, False, True), (FOREIGN, True, False), (FAILING, True, True), (NONE, False, False)],
)
def test_processes_on_windows(windows, pid, there, waits):
    assert lifeline.exists(pid) is there
    synchronize = 0x00100000
    rest = [("wait", pid, 0), ("close", pid)] if waits else []  # each handle is given back
    assert windows == [("open", synchronize, False, pid), *rest]


def test_what_a_worker_started_ends_with_it_on_windows(monkeypatch, tmp_path):
    """``taskkill /T`` stands for the process group."""
    if sys.platform == "win32":
        pytest.skip("the others test it there")
    process = WorkerProcess(sys.executable, str(tmp_path))
    pid, asked = process._process.pid, []

    def run(command, **_):
        asked.append(command)
        process._process.kill()

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(subprocess, "run", run)
    process.kill()
    assert asked == [["taskkill", "/F", "/T", "/PID", str(pid)]]
    monkeypatch.undo()
    process.close()
