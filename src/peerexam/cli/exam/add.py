"""`add`: one more agent in a run."""

from __future__ import annotations

import argparse

from peerexam.cli.arguments import pilot_flag, running_flags
from peerexam.errors import SetupError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("agent", metavar="AGENT", help="a model, or a file with an agents: list")
    parser.add_argument("--name", help="its name in the exam (default: from the model)")
    running_flags(parser)
    pilot_flag(parser)


def perform(arguments: argparse.Namespace) -> int:
    """Add one agent to a run; only missing answers and judgements are requested."""
    from pathlib import Path

    from peerexam.cli.agent_files import read_agents
    from peerexam.cli.exam.outcome import ask_and_report, with_pilot
    from peerexam.cli.machine.weights import offer_weights
    from peerexam.protocols.run.rejudge_and_add import add

    agents = read_agents([arguments.agent], name=arguments.name)
    if len(agents) != 1:
        raise SetupError(f"{arguments.agent} holds {len(agents)} agents; add takes one at a time")
    offer_weights([agents[0].model])
    return ask_and_report(
        arguments,
        lambda progress, db: add(
            Path(arguments.folder),
            agents[0],
            db=db,
            progress=progress,
            pilot=with_pilot(arguments),
        ),
    )
