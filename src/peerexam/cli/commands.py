"""From a command's name to the function that performs it; its module is imported only then."""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Callable
from pathlib import Path

_COMMANDS = {
    "init": "exam.planning:write_first",
    "plan": "exam.planning:print_plan",
    "validate": "exam.planning:validate",
    "run": "exam.running:run",
    "rejudge": "exam.running:rejudge",
    "add": "exam.running:add",
    "report": "exam.results:report",
    "show": "exam.show:show",
    "export": "exam.results:export",
    "import": "exam.results:import_results",
    "domains": "dataset.domains:show",
    "generate": "dataset.generate:generate",
    "trust": "studies.trust:trust",
    "bias": "studies.bias:bias",
    "leakage": "dataset.leakage:leakage",
    "discriminate": "studies.discriminate:discriminate",
    "mistakes": "studies.mistakes:mistakes",
    "consistency": "studies.consistency:consistency",
    "self-bias": "studies.self_bias:self_bias",
    "profile": "exam.profile:profile",
    "agents": "machine.commands:agents",
    "selftest": "machine.commands:prove",
    "salvage": "machine.commands:salvage",
    "weights": "machine.commands:show_weights",
    "serve": "machine.commands:serve",
    "schema": "machine.commands:print_schema",
}


def _settle(arguments: argparse.Namespace) -> None:
    """Finish the hand-over of files that a killed `add` left half done, in every folder named."""
    for value in vars(arguments).values():
        for text in value if isinstance(value, list | tuple) else (value,):
            if isinstance(text, str) and os.path.isdir(text):
                from peerexam.protocols.run.folder.swap import is_half_done
                from peerexam.runfolder import RunFolder

                folder = RunFolder(Path(text))
                if is_half_done(folder):
                    from peerexam.protocols.run.folder.lock import settled

                    settled(folder)


def perform(arguments: argparse.Namespace) -> int:
    """Perform the command that was asked for, and return its exit status."""
    _settle(arguments)
    module, _, name = _COMMANDS[arguments.command].partition(":")
    command: Callable[[argparse.Namespace], int] = getattr(
        importlib.import_module(f"peerexam.cli.{module}"), name
    )
    return command(arguments)
