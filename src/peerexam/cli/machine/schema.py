"""`schema`: JSON Schemas of config and records."""

from __future__ import annotations

import argparse

from peerexam.cli import COMPLETE
from peerexam.cli.output import say_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("what", nargs="?", choices=("all", "config", "records"), default="all")


def perform(arguments: argparse.Namespace) -> int:
    """Print JSON Schemas."""
    from peerexam.protocols.config.models import ExamConfig

    parts = {}
    if arguments.what in ("all", "config"):
        parts["config"] = ExamConfig.model_json_schema()
    if arguments.what in ("all", "records"):
        parts["records"] = _record_schemas()
    say_json(parts if arguments.what == "all" else parts[arguments.what])
    return COMPLETE


def _record_schemas() -> dict[str, object]:
    from pydantic import TypeAdapter

    from peerexam.records import Answer, Mark, Probe, Question, Ranking, Verdict

    return {
        kind.__name__: TypeAdapter(kind).json_schema()
        for kind in (Question, Answer, Mark, Verdict, Ranking, Probe)
    }
