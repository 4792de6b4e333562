"""``python -m graphmend_lsp``."""

import sys

from graphmend_lsp.cli import main

if __name__ == "__main__":
    sys.exit(main())
