"""``graphmend server``: start, life cycle, and the streams."""

from __future__ import annotations

import functools
import logging
import os
import sys
from typing import BinaryIO, cast

from lsprotocol import types

from graphmend_lsp.server import (
    actions,
    commands,
    configuration,
    events,
    hints,
    hover,
    lenses,
    lifeline,
    profile,
    reports,
    streams,
    stubs,
    verify,
    watch,
)
from graphmend_lsp.server.framing import Frames
from graphmend_lsp.server.session import GraphMendServer
from graphmend_lsp.server.worker import collect_between_jobs

USAGE = "usage: graphmend server [--stdio] [--clientProcessId=N]"


def create() -> GraphMendServer:
    """A server with every feature registered."""
    server = GraphMendServer()

    def initialize(params: types.InitializeParams) -> None:
        server.begin(params)
        lifeline.watch(params.process_id, functools.partial(_leave, server))
        for feature in (events, lenses, hints):  # as the client has it
            feature.register(server)

    def initialized(_: types.InitializedParams) -> None:
        server.configuration.start()
        server.watch.start()
        server.whole.again()

    server.feature(types.INITIALIZE)(initialize)
    server.feature(types.INITIALIZED)(initialized)
    for feature in (configuration, watch, actions, hover, commands, verify, profile, reports, stubs):
        feature.register(server)
    return server


def _leave(server: GraphMendServer) -> None:
    """The client's process is gone.  Nothing else ends a thread that reads from a pipe which somebody holds open."""
    server.end()
    os._exit(0 if server.wire.is_shut_down else 1)


def main(argv: list[str]) -> int:
    """Serve one client on standard input and output; the exit code is the protocol's."""
    if "--help" in argv or "-h" in argv:
        print(f"{USAGE}\n\nStart the language server on standard input and output; an editor does that.")
        return 0
    unknown = [option for option in argv if option != "--stdio" and not option.startswith("--clientProcessId")]
    if unknown:
        print(f"{USAGE}\nunknown option: {unknown[0]}", file=sys.stderr)
        return 2
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # it repeats what is answered or reported
    stdin, stdout = streams.take()
    collect_between_jobs()
    server = create()
    try:
        server.start_io(cast("BinaryIO", Frames(stdin)), stdout)
    finally:
        server.end()
    code = server.wire.exit_code
    if code is None:  # the client is gone without a word
        code = 0 if server.wire.is_shut_down else 1
    return code
