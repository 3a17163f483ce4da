"""`domains`: the domains of a taxonomy, all of them or a draw."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from peerexam.cli.arguments import seed
from peerexam.cli.output import note, plain, say, say_json
from peerexam.errors import SetupError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from peerexam.calls import Json
    from peerexam.tasks.taxonomy.tree import Category, Taxonomy


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument(
        "taxonomy",
        nargs="?",
        default="google-trends",
        metavar="TAXONOMY",
        help="google-trends (the default), or a file: YAML, JSON, CSV or one domain a line",
    )
    parser.add_argument("--sample", type=int, metavar="N", help="draw so many")
    parser.add_argument("--seed", type=seed, default=0, help="of the draw")
    parser.add_argument(
        "--stratified", action="store_true", help="draw in every first-level domain alike"
    )


def perform(arguments: argparse.Namespace) -> int:
    """Print a taxonomy's domains, or draw some of them.

    Raises:
        SetupError: The taxonomy cannot be read, or has fewer domains than are to be drawn.
    """
    from peerexam.tasks.taxonomy.tables import BETWEEN
    from peerexam.tasks.taxonomy.tree import load_taxonomy

    taxonomy = load_taxonomy(arguments.taxonomy)
    chosen = _chosen(taxonomy, arguments)
    if arguments.json:
        say_json(_json(taxonomy, chosen, arguments))
        return 0
    for one in chosen:
        home = plain(BETWEEN.join(one.paths[0]))
        say(f"{plain(one.id)}\t{home}" if one.id else home)
    for text in taxonomy.notes:
        note(plain(text))
    note(
        f"{len(chosen):,} of {len(taxonomy):,} domains, "
        f"{len({one.first_level for one in taxonomy.categories}):,} at the first level"
    )
    return 0


def _chosen(taxonomy: Taxonomy, arguments: argparse.Namespace) -> Sequence[Category]:
    if arguments.sample is None:
        if arguments.stratified:
            raise SetupError("--stratified says how to draw: add --sample N")
        return taxonomy.categories
    return taxonomy.draw(arguments.sample, arguments.seed, arguments.stratified)


def _json(
    taxonomy: Taxonomy, chosen: Sequence[Category], arguments: argparse.Namespace
) -> dict[str, Json]:
    drawn = arguments.sample is not None
    return {
        "taxonomy": taxonomy.name,
        "size": len(taxonomy),
        "sample": arguments.sample,
        "seed": arguments.seed if drawn else None,
        "stratified": arguments.stratified,
        "domains": [
            {"id": one.id, "name": one.name, "paths": [list(path) for path in one.paths]}
            for one in chosen
        ],
        "notes": list(taxonomy.notes),
    }
