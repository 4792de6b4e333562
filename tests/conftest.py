"""What all tests share."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

# before anything of ours runs, and inherited by the processes that tests start: the user's cache stays as it is
os.environ["GRAPHMEND_CACHE_DIR"] = tempfile.mkdtemp(prefix="graphmend-tests-")
atexit.register(shutil.rmtree, os.environ["GRAPHMEND_CACHE_DIR"], True)
