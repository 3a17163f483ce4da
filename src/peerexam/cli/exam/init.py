"""`init`: a config to start from."""

from __future__ import annotations

import argparse

from peerexam.cli.output import note, say, say_json
from peerexam.errors import SetupError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("path", nargs="?", default="EXAM.yaml", metavar="PATH")


def perform(arguments: argparse.Namespace) -> int:
    """Write a commented EXAM.yaml; nothing is overwritten."""
    from importlib import resources
    from pathlib import Path

    from peerexam.cli.machine.weights import note_missing_weights
    from peerexam.protocols.config.loading import load_config

    path = Path(arguments.path)
    if path.is_dir():
        path = path / "EXAM.yaml"
    text = (resources.files("peerexam.cli") / "EXAM.yaml").read_text(encoding="utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text.replace("EXAM.yaml", path.name))
    except FileExistsError:
        raise SetupError(f"{path} is there already and is not overwritten; name another") from None
    if arguments.json:
        say_json({"config": str(path)})
        return 0
    say(f"wrote {path}")
    note_missing_weights(agent.model for agent in load_config(path, environ={}).agents)
    note(f"next: peerexam plan {path}, then peerexam run {path}")
    return 0
