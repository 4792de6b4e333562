"""The server with shorter waits, so that a session of thousands of changes does not consist of them."""

from __future__ import annotations

import sys

from graphmend_lsp.server import app, notebooks, pull, push, watch, whole

if __name__ == "__main__":
    pull._GATHER = watch._GATHER = 0.01
    whole._GATHER = 0.02
    push.DEBOUNCE_SECONDS = notebooks.DEBOUNCE_SECONDS = 0.01
    sys.exit(app.main(sys.argv[1:]))
