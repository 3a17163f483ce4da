"""`bias`: bias in the questions, and in judging by style."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from peerexam.cli import COMPLETE
from peerexam.cli.arguments import add_action, seed
from peerexam.cli.output import plain, say, say_json
from peerexam.cli.studies import bias_style
from peerexam.errors import SetupError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from peerexam.calls import Json
    from peerexam.records import Question


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    about = "map questions by author and domain, and measure how well authors can be identified"
    _question_arguments(add_action(actions, "questions", about))
    about = "restyle answers without changing what they say, and measure judges' preference"
    bias_style.add_arguments(add_action(actions, "style", about))


def _question_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="a run, or a data set")
    parser.add_argument(
        "--encoder", default="minilm", metavar="NAME", help="sentence encoder (default: minilm)"
    )
    parser.add_argument(
        "--beside",
        nargs="+",
        default=[],
        metavar="PATH",
        help="other runs, data sets or files of questions, to show and measure beside",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="the page (default: DIR/question-map.html); its points go to a .json beside it",
    )
    parser.add_argument("--seed", type=seed, default=0, help="of draws and intervals")


def perform(arguments: argparse.Namespace) -> int:
    """Perform the action that was asked for."""
    if arguments.action == "style":
        return bias_style.perform(arguments)
    return _questions(arguments)


def _questions(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from peerexam.protocols.studies.question_bias import question_bias
    from peerexam.report.question_bias import conclusion, map_page
    from peerexam.runfolder.folder import write_object
    from peerexam.tasks.metrics.embeddings import check_encoder, encoder
    from peerexam.tasks.questions.folder import questions_of

    folder = Path(arguments.folder)
    held = questions_of(folder)
    beside = _beside(arguments.beside)
    page = _page(folder, arguments.out)
    check_encoder(arguments.encoder)
    name = folder.resolve().name or str(folder)
    body = question_bias(name, held, encoder(arguments.encoder), beside=beside, seed=arguments.seed)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_bytes(map_page(body))
    points = page.with_suffix(".json")
    write_object(points, body)
    if arguments.json:
        found = {key: value for key, value in body.items() if key != "maps"}
        say_json({**found, "page": str(page), "points": str(points)})
    else:
        say("\n".join([plain(conclusion(body)), *_lines(body), "", f"page: {page}"]))
    return COMPLETE


def _beside(paths: list[str]) -> dict[str, list[Question]]:
    from pathlib import Path

    from peerexam.tasks.questions.folder import questions_of

    found: dict[str, list[Question]] = {}
    for path in map(Path, paths):
        name = _name(path)
        if name in found:
            raise SetupError(
                f"two of the question sets in --beside are called '{name}': rename one"
            )
        found[name] = questions_of(path)
    return found


def _name(path: Path) -> str:
    """What a set of questions is called: its folder, or its file without the ending."""
    whole = path.resolve()
    return (whole.stem if path.is_file() else whole.name) or str(path)


def _page(folder: Path, out: str | None) -> Path:
    from pathlib import Path

    page = (
        Path(out) if out else (folder if folder.is_dir() else folder.parent) / "question-map.html"
    )
    if page.is_dir() or page.suffix.lower() not in (".html", ".htm"):
        raise SetupError(f"--out is a file that ends in .html, and {page} is not")
    return page


def _lines(body: Mapping[str, Json]) -> list[str]:
    authors, domains = body["authors"], body["domains"]
    lines = [
        f"  {'author ' + plain(name):34} {_share(one)}" for name, one in authors["by_class"].items()
    ]
    if authors["null"] is not None:
        null = authors["null"]
        ends = f"{null['low']:5.0%} to {null['high']:4.0%}"
        dealt = f"{null['mean']:6.0%}  {ends}  in 90 % of permutations"
        lines.append(f"  {'permutation baseline':34} {dealt}")
    lines.append(f"  {'domains, for comparison':34} {_share(domains['accuracy'])}")
    lines.append("embedding dispersion (mean cosine distance; uniformity, lower is more even)")
    for one in body["sets"]:
        distance, uniformity = one["distance"], one["uniformity"]
        lines.append(
            f"  {plain(one['name'])[:34]:34} {_number(distance)}   {_number(uniformity)}   "
            f"of {one['drawn']}"
        )
    return lines


def _share(one: Mapping[str, Json]) -> str:
    if one["value"] is None:
        return f"  none  {one['reason']}"
    interval = "" if one["low"] is None else f"{one['low']:5.0%} to {one['high']:4.0%}"
    return f"{one['value']:6.0%}  {interval}  of {one['n']}"


def _number(one: Mapping[str, Json]) -> str:
    if one["value"] is None:
        return f"none ({one['reason']})"
    return f"{one['value']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"
