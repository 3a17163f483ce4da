"""`rejudge`: other judges for a run's answers."""

from __future__ import annotations

import argparse

from peerexam.cli.arguments import agents_flag, pilot_flag, running_flags


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("folder", metavar="DIR")
    agents_flag(parser, "--judges")
    parser.add_argument("--out", required=True, metavar="DIR", help="the new run's folder")
    parser.add_argument(
        "--replace", action="store_true", help="replace other judges' results in that folder"
    )
    running_flags(parser)
    pilot_flag(parser)


def perform(arguments: argparse.Namespace) -> int:
    """Let other judges judge a run's answers."""
    from pathlib import Path

    from peerexam.cli.agent_files import read_agents
    from peerexam.cli.exam.outcome import ask_and_report, with_pilot
    from peerexam.cli.machine.weights import offer_weights
    from peerexam.protocols.run.rejudge_and_add import rejudge

    judges = read_agents(arguments.judges)
    offer_weights(judge.model for judge in judges)
    return ask_and_report(
        arguments,
        lambda progress, db: rejudge(
            Path(arguments.folder),
            judges,
            Path(arguments.out),
            db=db,
            progress=progress,
            replaces=arguments.replace,
            pilot=with_pilot(arguments),
        ),
    )
