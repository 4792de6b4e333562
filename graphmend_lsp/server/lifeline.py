"""The server ends with its client, also where that dies and a child of it holds the other end of the pipe."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

SECONDS = 3.0
"""Between two looks."""


def exists(pid: int) -> bool:
    """Whether there is a process with this id."""
    if sys.platform == "win32":
        return _exists_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def _exists_on_windows(pid: int) -> bool:
    """There ``os.kill`` would end it."""
    if sys.platform != "win32":
        return True
    import ctypes

    synchronize, signaled, access_denied = 0x00100000, 0, 5
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.OpenProcess.restype = ctypes.c_void_p  # a handle is as wide as a pointer
    kernel.WaitForSingleObject.argtypes = (ctypes.c_void_p, ctypes.c_ulong)
    kernel.CloseHandle.argtypes = (ctypes.c_void_p,)
    handle = kernel.OpenProcess(synchronize, False, pid)
    if not handle:
        return ctypes.get_last_error() == access_denied  # it is there
    try:
        return kernel.WaitForSingleObject(handle, 0) != signaled  # in doubt it is there: the pipe will tell
    finally:
        kernel.CloseHandle(handle)


def watch(pid: int | None, gone: Callable[[], None], seconds: float = SECONDS) -> threading.Thread | None:
    """Call ``gone``, in a thread of its own, once the process is gone.

    One that cannot be seen from the start is not watched: the server may run in a container, and the client outside.
    """
    if pid is None or pid <= 0 or not exists(pid):
        return None
    pause = threading.Event()

    def look() -> None:
        while exists(pid):
            pause.wait(seconds)
        gone()

    thread = threading.Thread(target=look, name="graphmend-lifeline", daemon=True)
    thread.start()
    return thread
