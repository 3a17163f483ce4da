"""`peerexam consistency`: does a model stand by its own intermediate answers?"""

from __future__ import annotations

import argparse

from peerexam.cli.studying import config_from, folder_of, perform
from peerexam.protocols.consistency import ask_sums
from peerexam.protocols.consistency_measures import sums_result
from peerexam.protocols.consistency_plan import sums_plan
from peerexam.protocols.progress import Progress
from peerexam.protocols.study_result import StudyResult
from peerexam.tasks.arithmetic import GraphSettings, draw_graphs


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
        asked = await ask_sums(config, graphs, out, db=db, progress=progress)
        return sums_result(asked, about, arguments.seed)

    return perform(arguments, out, sums_plan(config, graphs), work)


_ACTIONS = {"arithmetic": _arithmetic}
