"""Every command: its group in the overview, its one line, and the module that performs it."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing `typing` would take a fifth of the time of `--help`
if TYPE_CHECKING:
    import argparse
    from types import ModuleType

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "run an exam": {
        "init": ("exam.init", "write a commented EXAM.yaml to start from"),
        "validate": ("exam.validate", "check a config; no model is asked"),
        "plan": ("exam.plan", "estimate calls, tokens and cost; no model is asked"),
        "run": ("exam.run", "run or resume an exam"),
        "rejudge": ("exam.rejudge", "judge a run's answers with other judges"),
        "add": (
            "exam.add",
            "add an agent; only missing answers and judgements are requested",
        ),
        "report": ("exam.report", "print a run's standings and write its report.html"),
        "show": ("exam.show", "print the prompt and raw reply behind a record"),
        "export": ("exam.export", "export a run as a data set or in another tool's layout"),
    },
    "data sets": {
        "generate": ("dataset.generate", "generate a data set of questions"),
        "import": ("dataset.importing", "import another tool's files as a run"),
        "domains": ("dataset.domains", "list or sample the domains of a taxonomy"),
        "leakage": ("dataset.leakage", "search text corpora for a data set's questions"),
    },
    "studies": {
        "trust": ("studies.trust", "compare judges and metrics with human judgements"),
        "bias": ("studies.bias", "measure bias in questions, and judges' preference for a style"),
        "self-bias": (
            "studies.self_bias",
            "measure self-bias as test setter, judge, or both",
        ),
        "discriminate": (
            "studies.discriminate",
            "does a model judge its own answers better than it gives them?",
        ),
        "mistakes": ("studies.mistakes", "find mistakes in reasoning traces, and backtrack"),
        "consistency": (
            "studies.consistency",
            "test whether a model agrees with its own intermediate answers",
        ),
        "profile": ("studies.profile", "show a run and studies of its agents side by side"),
    },
    "this machine": {
        "agents": ("machine.agents", "list the providers, and check or probe agents"),
        "weights": ("machine.weights", "list and download the weights of local models"),
        "serve": ("machine.serve", "serve a local model as an OpenAI-compatible endpoint"),
        "selftest": ("machine.selftest", "plant biases in simulated participants and measure them"),
        "salvage": ("machine.salvage", "copy what is readable of a damaged ledger to a new one"),
        "schema": ("machine.schema", "print the JSON Schema of config and records"),
    },
}
COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}


def module_of(command: str) -> ModuleType:
    """The module of a command: it has `add_arguments(parser)` and `perform(arguments)`."""
    import importlib

    return importlib.import_module(f"peerexam.cli.{COMMANDS[command][0]}")


def perform(arguments: argparse.Namespace) -> int:
    """Perform the command that was asked for, and return its exit status."""
    _settle(arguments)
    status: int = module_of(arguments.command).perform(arguments)
    return status


def _settle(arguments: argparse.Namespace) -> None:
    """Finish the file swap that a killed `add` left half done, in every folder named."""
    from pathlib import Path

    for value in vars(arguments).values():
        for text in value if isinstance(value, list | tuple) else (value,):
            if isinstance(text, str) and os.path.isdir(text):
                from peerexam.protocols.run.folder.swap import is_half_done
                from peerexam.runfolder import RunFolder

                folder = RunFolder(Path(text))
                if is_half_done(folder):
                    from peerexam.protocols.run.folder.lock import settled

                    settled(folder)
