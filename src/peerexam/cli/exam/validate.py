"""`validate`: is a config in order?"""

from __future__ import annotations

import argparse

from peerexam.cli.arguments import config_flags as add_arguments
from peerexam.cli.output import say, say_json

__all__ = ["add_arguments", "perform"]


def perform(arguments: argparse.Namespace) -> int:
    """Check a config."""
    from peerexam.cli.exam.plan import warn
    from peerexam.cli.exam_file import config_from
    from peerexam.protocols.planning.plan import plan

    config = config_from(arguments)
    questions = plan(config).questions
    if arguments.json:
        say_json({"valid": True, "name": config.name, "agents": [a.name for a in config.agents]})
    else:
        say(f"{arguments.exam} is valid: {len(config.agents)} agents, {questions} questions")
    warn(config)
    return 0
