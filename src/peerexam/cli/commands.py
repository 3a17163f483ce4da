"""From a command's name to the function that performs it; its module is imported only then."""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Callable
from pathlib import Path

_COMMANDS = {
    "init": "exam:write_first",
    "plan": "exam:print_plan",
    "validate": "exam:validate",
    "run": "running:run",
    "rejudge": "running:rejudge",
    "add": "running:add",
    "report": "folders:report",
    "show": "showing:show",
    "export": "folders:export",
    "import": "folders:import_results",
    "domains": "domains:show",
    "generate": "generating:generate",
    "trust": "trusting:trust",
    "bias": "biases:bias",
    "leakage": "leaking:leakage",
    "discriminate": "discriminating:discriminate",
    "mistakes": "mistakes:mistakes",
    "consistency": "consistency:consistency",
    "self-bias": "self_bias:self_bias",
    "profile": "profiling:profile",
    "agents": "machine:agents",
    "selftest": "machine:prove",
    "salvage": "machine:salvage",
    "weights": "machine:show_weights",
    "serve": "machine:serve",
    "schema": "machine:print_schema",
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
