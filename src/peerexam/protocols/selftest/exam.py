"""An exam of simulated participants in memory, run and counted by the real protocol."""

from __future__ import annotations

from collections.abc import Mapping

from peerexam.calls import Json
from peerexam.examiners.simulated.participants import SimParticipant
from peerexam.examiners.simulated.spec import SimSpec
from peerexam.protocols.exam.examination import Roles, Rules, examine
from peerexam.protocols.questions.sealing import set_questions
from peerexam.protocols.standings.settings import ExamInfo, JudgeInfo, TallySettings
from peerexam.protocols.standings.voting import tally
from peerexam.records import Domain

DOMAIN = Domain("simulation")


async def run_simulated_exam(
    planted: Mapping[str, SimSpec], per_author: int, seed: int, rounds: int
) -> dict[str, Json]:
    """Let participants set, answer, mark, sort and judge themselves, then count the votes.

    Args:
        planted: Name to what is planted; everyone has every role.
        per_author: Questions that each of them sets.
        seed: Of the participants, the sorting and the intervals.
        rounds: Bootstrap rounds.

    Returns:
        The content of `standings.json`.
    """
    participants = {
        name: SimParticipant(name, spec, seed, planted) for name, spec in planted.items()
    }
    paper = await set_questions(list(participants.values()), [DOMAIN], per_author, "peer")
    roles, rules = Roles(participants, participants, participants), Rules(seed=seed)
    examined = [await examine(question, roles, rules) for question in paper.questions]
    return tally(
        exam=ExamInfo("selftest", seed=seed),
        questions=paper.questions,
        answers=[answer for one in examined for answer in one.answers],
        marks=[mark for one in examined for mark in one.marks],
        verdicts=[verdict for one in examined for verdict in one.verdicts],
        rankings=[ranking for one in examined for ranking in one.rankings],
        agents=tuple(participants),
        judges={name: JudgeInfo() for name in participants},
        settings=TallySettings(rounds=rounds),
    )
