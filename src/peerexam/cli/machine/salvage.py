"""`salvage`: what is readable of a damaged ledger."""

from __future__ import annotations

import argparse

from peerexam.cli import COMPLETE
from peerexam.cli.output import say, say_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("damaged", metavar="FILE", help="the ledger that cannot be read whole")
    parser.add_argument("saved", metavar="NEW", help="the new ledger, to continue with by --db NEW")


def perform(arguments: argparse.Namespace) -> int:
    """Copy what is readable of a damaged ledger to a new one."""
    from pathlib import Path

    from peerexam.ledger.sqlite.salvage import salvage

    saved, unread = salvage(Path(arguments.damaged), Path(arguments.saved))
    if arguments.json:
        say_json({"ledger": arguments.saved, "saved": saved, "unreadable": unread})
    else:
        say(f"{arguments.saved}: {saved} answers saved; {unread} places could not be read")
    return COMPLETE
