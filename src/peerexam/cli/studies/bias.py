"""`bias`: bias in the questions, and in judging by style."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from peerexam.calls import Json
from peerexam.cli import COMPLETE
from peerexam.cli.output import plain, say, say_json
from peerexam.errors import SetupError
from peerexam.records import Question
from peerexam.tasks.questions.folder import questions_of

PAGE = "question-map.html"


def bias(arguments: argparse.Namespace) -> int:
    """Perform the action that was asked for."""
    if arguments.action == "style":
        from peerexam.cli.studies.bias_style import style

        return style(arguments)
    return questions(arguments)


def questions(arguments: argparse.Namespace) -> int:
    """Map questions by author and domain, and say how distinguishable authors are."""
    from peerexam.protocols.studies.question_bias import question_bias
    from peerexam.report.question_bias import conclusion, map_page
    from peerexam.runfolder.folder import write_object
    from peerexam.tasks.metrics.embeddings import check_encoder, encoder

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
    found: dict[str, list[Question]] = {}
    for path in map(Path, paths):
        name = _name(path)
        if name in found:
            raise SetupError(f"two sets of questions beside are called '{name}': rename one")
        found[name] = questions_of(path)
    return found


def _name(path: Path) -> str:
    """What a set of questions is called: its folder, or its file without the ending."""
    whole = path.resolve()
    return (whole.stem if path.is_file() else whole.name) or str(path)


def _page(folder: Path, out: str | None) -> Path:
    page = Path(out) if out else (folder if folder.is_dir() else folder.parent) / PAGE
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
        baseline = f"{null['mean']:6.0%}  {ends}  in 90 % of permutations"
        lines.append(f"  {'permutation baseline':34} {baseline}")
    lines.append(f"  {'domains, for comparison':34} {_share(domains['accuracy'])}")
    lines.append("embedding dispersion (mean cosine distance; uniformity, lower is more dispersed)")
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
