"""`discriminate`: does a model judge its own answers better than it gives them?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from peerexam.cli.arguments import agents_flag
from peerexam.cli.studies.base import config_from, folder_of, run_study, study_flags
from peerexam.errors import SetupError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from peerexam.protocols.session.progress import Progress
    from peerexam.protocols.studies.result import StudyResult
    from peerexam.tasks.benchmarks.base import Item
    from peerexam.tasks.discrimination.candidate_file import Given


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("task", metavar="TASK", help="gsm8k, triviaqa, truthfulqa or mt-bench")
    parser.add_argument(
        "path", nargs="?", metavar="PATH", help="the task's file or folder (default: from the hub)"
    )
    parser.add_argument(
        "--candidates", type=int, default=4, metavar="N", help="answers a question (default: 4)"
    )
    parser.add_argument(
        "--temperature", type=float, default=0.7, help="of the candidates (default: 0.7)"
    )
    parser.add_argument(
        "--variations",
        default="plain",
        metavar="LIST",
        help="of plain, double, triple, cot, verbatim, wording-2, wording-3, simplified, rotated",
    )
    parser.add_argument(
        "--peers", action="store_true", help="the other agents choose among the candidates too"
    )
    agents_flag(
        parser,
        "--judges",
        "who scores what has no key: mt-bench answers, truth and information of truthfulqa",
    )
    parser.add_argument(
        "--candidates-from", metavar="FILE", help="candidates of your own, in place of the agents'"
    )
    parser.add_argument(
        "--max-tokens", type=int, metavar="N", help="of a candidate (default: the task's)"
    )
    study_flags(parser, "runs/discriminate-TASK")


def perform(arguments: argparse.Namespace) -> int:
    """Let agents answer the items of a benchmark and choose among their own answers.

    Raises:
        SetupError: The task, its file, an agent, a judge or a number is wrong.
    """
    from dataclasses import replace
    from pathlib import Path

    from peerexam.cli.agent_files import read_agents
    from peerexam.protocols.studies.base import ask_study
    from peerexam.protocols.studies.discrimination.answer_scoring import kinds_of_judges
    from peerexam.protocols.studies.discrimination.plan import plan_discrimination
    from peerexam.protocols.studies.discrimination.protocol import Discrimination
    from peerexam.protocols.studies.discrimination.study import (
        discrimination_result,
        draw_items,
    )
    from peerexam.protocols.studies.discrimination.variations import variations_of
    from peerexam.tasks.benchmarks.registry import benchmark

    task = benchmark(arguments.task)
    variations = variations_of(arguments.variations, task)
    agents = [agent.name for agent in read_agents(arguments.agents)]
    judges = [agent.name for agent in read_agents(arguments.judges)]
    kinds_of_judges(task, judges)
    config = config_from(
        arguments, "discriminate", [one for one in arguments.judges if one not in arguments.agents]
    )
    if arguments.max_tokens is not None and arguments.max_tokens < 1:
        raise SetupError("--max-tokens is a number of tokens, 1 or more")
    items = task.read(Path(arguments.path) if arguments.path else None)
    given = _given(arguments.candidates_from, items)
    kept = items if given is None else _with_candidates(items, given, agents)
    settings = Discrimination(
        task,
        draw_items(kept, arguments.limit, arguments.seed),
        tuple(agents),
        variations,
        judges=tuple(judges),
        candidates=arguments.candidates,
        temperature=arguments.temperature,
        peers=arguments.peers,
        seed=arguments.seed,
        max_tokens=arguments.max_tokens,
        given=given,
        pool=items,
    )
    if given is not None:
        width = len(next(iter(next(iter(given.values())).values())))
        settings = replace(settings, candidates=width)
    out = folder_of(arguments, f"runs/discriminate-{task.name}")

    async def work(progress: Progress, db: str | None) -> StudyResult:
        done = await ask_study(config, settings, out, db=db, progress=progress)
        return discrimination_result(settings, done)

    return run_study(arguments, out, plan_discrimination(settings, config), work)


def _given(path: str | None, items: Sequence[Item]) -> Given | None:
    if path is None:
        return None
    from pathlib import Path

    from peerexam.tasks.discrimination.candidate_file import read_candidates

    file = Path(path)
    if not file.is_file():
        raise SetupError(f"--candidates-from {path}: there is no such file")
    return read_candidates(file, items)


def _with_candidates(
    items: Sequence[Item], given: Given, agents: Sequence[str]
) -> tuple[Item, ...]:
    """The items for which every agent has candidates.

    Raises:
        SetupError: There is none.
    """
    from peerexam.tasks.discrimination.candidate_file import EVERY_AGENT

    held = [set(given.get(agent) or given.get(EVERY_AGENT) or ()) for agent in agents]
    kept = tuple(one for one in items if all(one.id in ids for ids in held))
    if not kept:
        raise SetupError(
            "--candidates-from: no item has candidates for every agent; rows that name an agent "
            f"are for that one alone (here: {', '.join(sorted(filter(None, given))) or 'none'})"
        )
    return kept
