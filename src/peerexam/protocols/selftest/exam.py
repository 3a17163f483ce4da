"""An exam between simulated players in memory, held and counted by the real protocol."""

from __future__ import annotations

from collections.abc import Mapping

from peerexam.calls import Json
from peerexam.examiners.simulated.participants import SimParticipant
from peerexam.examiners.simulated.spec import SimSpec
from peerexam.protocols.exam.examination import Cast, Rules, examine
from peerexam.protocols.questions.sealing import set_questions
from peerexam.protocols.standings.settings import ExamInfo, JudgeInfo, TallySettings
from peerexam.protocols.standings.voting import tally
from peerexam.records import Domain

DOMAIN = Domain("simulation")


async def hold_exam(
    planted: Mapping[str, SimSpec], per_author: int, seed: int, rounds: int
) -> dict[str, Json]:
    """Let players set, answer, mark, sort and judge themselves, then count the votes.

    Args:
        planted: Player name to what is planted in it; all play every role.
        per_author: Questions that each of them sets.
        seed: Of the players, the sorting and the intervals.
        rounds: Bootstrap rounds.

    Returns:
        The content of `standings.json`.
    """
    players = {name: SimParticipant(name, spec, seed, planted) for name, spec in planted.items()}
    paper = await set_questions(list(players.values()), [DOMAIN], per_author, "peer")
    cast, rules = Cast(players, players, players), Rules(seed=seed)
    blocks = [await examine(question, cast, rules) for question in paper.questions]
    return tally(
        exam=ExamInfo("selftest", seed=seed),
        questions=paper.questions,
        answers=[answer for block in blocks for answer in block.answers],
        marks=[mark for block in blocks for mark in block.marks],
        verdicts=[verdict for block in blocks for verdict in block.verdicts],
        rankings=[ranking for block in blocks for ranking in block.rankings],
        agents=tuple(players),
        judges={name: JudgeInfo() for name in players},
        settings=TallySettings(rounds=rounds),
    )
