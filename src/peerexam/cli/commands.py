"""From a command's name to the function that performs it; its module is imported only then."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable

_COMMANDS = {
    "init": "exam:write_first",
    "plan": "exam:print_plan",
    "validate": "exam:validate",
    "run": "running:run",
    "rejudge": "running:rejudge",
    "add": "running:add",
    "report": "folders:report",
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
    "weights": "machine:show_weights",
    "serve": "machine:serve",
    "schema": "machine:print_schema",
}


def perform(arguments: argparse.Namespace) -> int:
    """Perform the command that was asked for, and return its exit status."""
    module, _, name = _COMMANDS[arguments.command].partition(":")
    command: Callable[[argparse.Namespace], int] = getattr(
        importlib.import_module(f"peerexam.cli.{module}"), name
    )
    return command(arguments)
