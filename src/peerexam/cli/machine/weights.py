"""`weights`: the weights of local models, and offering them to other commands."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterable

from peerexam.cli import COMPLETE
from peerexam.cli.output import note, say, say_json
from peerexam.errors import SetupError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="as in smollm2 (default: all)")
    parser.add_argument(
        "--fetch", action="store_true", help="download them; the licence comes first"
    )


def perform(arguments: argparse.Namespace) -> int:
    """Say what weights are, licence first, and fetch them on request."""
    from peerexam.agents.local import weights

    names = [arguments.name] if arguments.name else list(weights.WEIGHTS)
    if arguments.fetch and not arguments.name:
        raise SetupError(f"name the weights to fetch: {', '.join(names)}")
    if not arguments.json:
        for name in names:
            say(_weights_text(name))
    if arguments.fetch:
        sys.stdout.flush()
        note(f"fetching {names[0]}")
        weights.fetch(names[0])
        note(f"{names[0]} is installed")
    if arguments.json:
        say_json(
            {
                name: {
                    **dataclasses.asdict(weights.describe(name)),
                    "installed": weights.is_installed(name),
                }
                for name in names
            }
        )
    return COMPLETE


def _weights_text(name: str) -> str:
    from peerexam.agents.local import weights

    about = weights.describe(name)
    state = "installed" if weights.is_installed(name) else f"not installed; {about.fetch_command}"
    return (
        f"local/{name}: {about.model}, {about.download_mb} MB\n"
        f"  licence: {about.licence}. {about.licence_note}\n  {state}"
    )


def offer_weights(models: Iterable[str]) -> None:
    """Ask the user at the terminal whether to fetch the weights that agents lack.

    Without a terminal nothing is asked or fetched: building the agent names the command.
    """
    from peerexam.agents.local import weights

    lacking = weights.missing(models)
    if not lacking or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    for about in lacking:
        note(_weights_text(about.name))
        note(f"fetch {about.name} now? [y/N]")
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            weights.fetch(about.name)
            note(f"{about.name} is installed")


def note_missing_weights(models: Iterable[str]) -> None:
    """Name the command for every agent's weights that are not here."""
    from peerexam.agents.local import weights

    for about in weights.missing(models):
        note(f"local/{about.name} is not installed ({about.terms}); first: {about.fetch_command}")
