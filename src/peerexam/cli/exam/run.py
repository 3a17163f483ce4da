"""`run`: run an exam, or resume one."""

from __future__ import annotations

import argparse

from peerexam.cli.arguments import (
    config_flags,
    out_and_replace_flags,
    pilot_flag,
    running_flags,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    config_flags(parser)
    running_flags(parser)
    pilot_flag(parser)
    out_and_replace_flags(
        parser, "the run's folder (default: runs/NAME)", "results of another set-up"
    )


def perform(arguments: argparse.Namespace) -> int:
    """Run an exam, or resume it."""
    from pathlib import Path

    from peerexam.cli.exam.outcome import ask_and_report, with_pilot
    from peerexam.cli.exam_file import config_from, expected_calls
    from peerexam.cli.machine.weights import offer_weights
    from peerexam.protocols.planning.plan import plan
    from peerexam.protocols.run.runner import default_folder, run_exam

    config = config_from(arguments)
    offer_weights(agent.model for agent in config.agents)
    out = Path(arguments.out) if arguments.out else default_folder(config)
    return ask_and_report(
        arguments,
        lambda progress, db: run_exam(
            config,
            out,
            db=db,
            progress=progress,
            replace=arguments.replace,
            pilot=with_pilot(arguments),
        ),
        expected_calls(config, plan(config)),
    )
