"""`consistency`: does a model agree with its own intermediate answers?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from peerexam.cli.arguments import add_action
from peerexam.cli.studies.base import config_from, folder_of, run_study, study_flags
from peerexam.errors import SetupError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from peerexam.protocols.session.progress import Progress
    from peerexam.protocols.studies.result import StudyResult
    from peerexam.tasks.consistency.geoquery_alignments import Alignments

    T = TypeVar("T")

_PAPERS_GRAPHS = 500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    sums = add_action(actions, "arithmetic", "nested sums, a part replaced by the model's answer")
    sums.add_argument("--graphs", type=int, default=500, metavar="N", help="(default: 500)")
    sums.add_argument("--height", type=int, default=5, metavar="H", help="(default: 5)")
    sums.add_argument("--nesting", type=float, default=0.5, metavar="P", help="(default: 0.5)")
    sums.add_argument("--digits", type=int, default=3, metavar="D", help="(default: 3)")
    study_flags(sums, "runs/consistency-arithmetic")
    words = add_action(actions, "hypothetical", "compare predicted and actual answers")
    words.add_argument("path", nargs="?", metavar="FILE", help="prompts (default: nested sums)")
    study_flags(words, "runs/consistency-hypothetical")
    geo = add_action(actions, "geoquery", "does a question's program contain those of its parts?")
    geo.add_argument("path", metavar="DIR", help="the folder with geoquery.en and geoquery.funql")
    geo.add_argument(
        "--shots", type=int, default=8, metavar="N", help="examples shown (default: 8)"
    )
    geo.add_argument(
        "--alignments",
        metavar="FILE",
        help="words to operators (default: EN_anon_cleaned.csv in DIR, else a list of words)",
    )
    study_flags(geo, "runs/consistency-geoquery")


def perform(arguments: argparse.Namespace) -> int:
    """Perform one of the actions."""
    actions = {"arithmetic": _arithmetic, "hypothetical": _hypothetical, "geoquery": _geoquery}
    return actions[arguments.action](arguments)


def _arithmetic(arguments: argparse.Namespace) -> int:
    from peerexam.protocols.studies.base import ask_study
    from peerexam.protocols.studies.consistency.plan import sums_plan
    from peerexam.protocols.studies.consistency.sum_measures import sums_result
    from peerexam.protocols.studies.consistency.sums import Sums
    from peerexam.tasks.consistency.arithmetic import GraphSettings, draw_graphs

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

    return run_study(arguments, out, sums_plan(config, graphs), work)


def _hypothetical(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from peerexam.protocols.studies.base import ask_study
    from peerexam.protocols.studies.consistency.hypothetical import TEMPLATES, Asking
    from peerexam.protocols.studies.consistency.hypothetical_measures import hypothetical_result
    from peerexam.protocols.studies.consistency.own_choice import Hypothetically
    from peerexam.protocols.studies.consistency.plan import hypothetical_plan

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

    return run_study(arguments, out, hypothetical_plan(config, asking), work)


def _texts(arguments: argparse.Namespace) -> list[str]:
    """The whole expression of each graph, or the prompts of the user's file."""
    from pathlib import Path

    from peerexam.tasks.consistency.arithmetic import draw_graphs
    from peerexam.tasks.consistency.prompt_file import load_prompts

    if arguments.path is None:
        graphs = draw_graphs(_PAPERS_GRAPHS, seed=arguments.seed)[: arguments.limit]
        return list(dict.fromkeys(graph.text(0) for graph in graphs))
    prompts = load_prompts(Path(arguments.path))
    return _drawn(prompts, arguments.limit, arguments.seed)


def _drawn(items: Sequence[T], limit: int | None, seed: int) -> list[T]:
    """So many items by the seed, in their own order; all where there is no limit."""
    if limit is None or limit >= len(items):
        return list(items)
    import numpy as np

    chosen = np.random.default_rng(seed).permutation(len(items))[:limit]
    return [items[int(place)] for place in sorted(chosen)]


def _geoquery(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from peerexam.protocols.studies.base import ask_study
    from peerexam.protocols.studies.consistency.plan import programs_plan
    from peerexam.protocols.studies.consistency.program_measures import programs_result
    from peerexam.protocols.studies.consistency.programs import GeoItem, Programs, shots
    from peerexam.tasks.consistency.geoquery import distinct, load_geoquery
    from peerexam.tasks.consistency.geoquery_alignments import aligned
    from peerexam.tasks.consistency.geoquery_parts import parts_of

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
    items = _drawn(items, arguments.limit, arguments.seed)
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

    return run_study(arguments, out, programs_plan(config, items, pairs), work)


def _alignments(arguments: argparse.Namespace) -> Alignments:
    from pathlib import Path

    from peerexam.tasks.consistency.geoquery_alignments import ALIGNMENTS, load_alignments

    if arguments.alignments:
        return load_alignments(Path(arguments.alignments))
    beside = Path(arguments.path) / ALIGNMENTS
    return load_alignments(beside) if beside.exists() else {}
