"""`serve`: a local model as an OpenAI-compatible endpoint."""

from __future__ import annotations

import argparse
import os
import sys

from peerexam.cli import COMPLETE
from peerexam.cli.output import plain, say, say_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("model", metavar="MODEL", help="as in local/smollm2")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one (the default)")


def perform(arguments: argparse.Namespace) -> int:
    """Serve a local model until Ctrl-C."""
    from peerexam.agents.llamacpp.serving import serve

    with serve(arguments.model, port=arguments.port) as address:
        if arguments.json:
            say_json({"model": arguments.model, "base_url": address})
        else:
            say(f"{plain(arguments.model)} is served at {address}; Ctrl-C ends it")
        sys.stdout.flush()
        if os.name == "posix":
            import signal

            signal.pause()
    return COMPLETE
