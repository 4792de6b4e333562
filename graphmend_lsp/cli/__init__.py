"""The command line: ``graphmend COMMAND``; one file a command, imported when it runs."""

from graphmend_lsp.cli.main import main, server_main

__all__ = ["main", "server_main"]
