"""`peerexam consistency`: does a model stand by its own intermediate answers?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from peerexam.cli.studies.base import config_from, folder_of, perform
from peerexam.errors import SetupError
from peerexam.protocols.session.progress import Progress
from peerexam.protocols.studies.base import ask_study
from peerexam.protocols.studies.consistency.hypothetical import TEMPLATES, Asking
from peerexam.protocols.studies.consistency.hypothetical_measures import hypothetical_result
from peerexam.protocols.studies.consistency.own_choice import Hypothetically
from peerexam.protocols.studies.consistency.plan import hypothetical_plan, programs_plan, sums_plan
from peerexam.protocols.studies.consistency.program_measures import programs_result
from peerexam.protocols.studies.consistency.programs import GeoItem, Programs, shots
from peerexam.protocols.studies.consistency.sum_measures import sums_result
from peerexam.protocols.studies.consistency.sums import Sums
from peerexam.protocols.studies.result import StudyResult
from peerexam.tasks.consistency.arithmetic import GraphSettings, draw_graphs
from peerexam.tasks.consistency.geoquery import distinct, load_geoquery
from peerexam.tasks.consistency.geoquery_alignments import (
    ALIGNMENTS,
    Alignments,
    aligned,
    load_alignments,
)
from peerexam.tasks.consistency.geoquery_parts import parts_of
from peerexam.tasks.consistency.prompt_file import load_prompts

T = TypeVar("T")

_PAPERS_GRAPHS = 500


def consistency(arguments: argparse.Namespace) -> int:
    """Perform one of the actions."""
    return _ACTIONS[arguments.action](arguments)


def _arithmetic(arguments: argparse.Namespace) -> int:
    config = config_from(arguments, "consistency-arithmetic")
    settings = GraphSettings(arguments.height, arguments.nesting, arguments.digits)
    graphs = draw_graphs(arguments.graphs, settings, seed=arguments.seed)[: arguments.limit]
    out = folder_of(arguments, "runs/consistency-arithmetic")
    about = {
        "action": "arithmetic",
        "graphs": len(graphs),
        "height": settings.height,
        "nesting": settings.nesting,
        "digits": settings.digits,
        "seed": arguments.seed,
    }

    async def work(progress: Progress, db: str | None) -> StudyResult:
        asked = await ask_study(config, Sums(graphs), out, db=db, progress=progress)
        return sums_result(asked, about, arguments.seed)

    return perform(arguments, out, sums_plan(config, graphs), work)


def _hypothetical(arguments: argparse.Namespace) -> int:
    config = config_from(arguments, "consistency-hypothetical")
    asking = Asking(_texts(arguments), arguments.path is None, arguments.seed)
    out = folder_of(arguments, "runs/consistency-hypothetical")
    about = {
        "action": "hypothetical",
        "prompts": len(asking.texts),
        "source": "nested sums" if asking.sums else Path(arguments.path).name,
        "templates": list(TEMPLATES),
        "seed": arguments.seed,
    }

    async def work(progress: Progress, db: str | None) -> StudyResult:
        found = await ask_study(config, Hypothetically(asking), out, db=db, progress=progress)
        return hypothetical_result(found, about, sums=asking.sums)

    return perform(arguments, out, hypothetical_plan(config, asking), work)


def _texts(arguments: argparse.Namespace) -> list[str]:
    """The whole expression of each graph, or the prompts of the user's file."""
    if arguments.path is None:
        graphs = draw_graphs(_PAPERS_GRAPHS, seed=arguments.seed)[: arguments.limit]
        return list(dict.fromkeys(graph.text(0) for graph in graphs))
    prompts = load_prompts(Path(arguments.path))
    return drawn(prompts, arguments.limit, arguments.seed)


def drawn(items: Sequence[T], limit: int | None, seed: int) -> list[T]:
    """So many items by the seed, in their own order; all where there is no limit."""
    if limit is None or limit >= len(items):
        return list(items)
    chosen = np.random.default_rng(seed).permutation(len(items))[:limit]
    return [items[int(place)] for place in sorted(chosen)]


def _geoquery(arguments: argparse.Namespace) -> int:
    if arguments.shots < 0:
        raise SetupError("--shots is a number of examples, 0 or more")
    config = config_from(arguments, "consistency-geoquery")
    questions = load_geoquery(Path(arguments.path))
    alignments = _alignments(arguments)
    train = [question for question in questions if question.split == "train"]
    asked = [question for question in questions if question.split != "train"]
    items = [
        GeoItem(question, tuple(parts))
        for question in distinct(asked)
        if (parts := parts_of(question, alignments))
    ]
    items = drawn(items, arguments.limit, arguments.seed)
    if not items:
        raise SetupError(f"{arguments.path}: no question of the test split has a sub-question")
    pairs = shots(train, arguments.shots, arguments.seed)
    out = folder_of(arguments, "runs/consistency-geoquery")
    about = {
        "action": "geoquery",
        "questions": len(items),
        "parts": sum(len(item.parts) for item in items),
        "shots": len(pairs),
        "shots_from": "the train split" if train else "our own examples",
        "aligned": sum(
            aligned(alignments, item.question.text, item.question.program) is not None
            for item in items
        ),
        "seed": arguments.seed,
    }

    async def work(progress: Progress, db: str | None) -> StudyResult:
        parses = await ask_study(config, Programs(items, pairs), out, db=db, progress=progress)
        return programs_result(parses, about)

    return perform(arguments, out, programs_plan(config, items, pairs), work)


def _alignments(arguments: argparse.Namespace) -> Alignments:
    if arguments.alignments:
        return load_alignments(Path(arguments.alignments))
    beside = Path(arguments.path) / ALIGNMENTS
    return load_alignments(beside) if beside.exists() else {}


_ACTIONS = {"arithmetic": _arithmetic, "hypothetical": _hypothetical, "geoquery": _geoquery}
