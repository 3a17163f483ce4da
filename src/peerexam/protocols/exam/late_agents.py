"""One more agent joins a question that has been examined: only what is missing is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from peerexam.examiners.base import Judge
from peerexam.protocols.exam.comparing import Comparison, compare
from peerexam.protocols.exam.examination import (
    QuestionRecords,
    Roles,
    Rules,
    examine,
    follow_up,
    judge_answers,
    panel,
    split_follow_ups,
)
from peerexam.protocols.exam.ranking import insert
from peerexam.protocols.session.concurrency import both, together
from peerexam.records import Answer, Question, Ranking, Verdict


def joined_late(name: str) -> str:
    """The note that a run carries on an agent that joined it."""
    return f"{name} joined after the exam"


async def examine_with_joined(
    question: Question, roles: Roles, rules: Rules, joined: Sequence[str]
) -> QuestionRecords:
    """Examine a question with the exam's own agents, then with each that joined later.

    It leaves the records that `add` left, and asks nothing that was asked then.

    Args:
        question: Of the first round.
        roles: Everyone.
        rules: How the question is examined.
        joined: Who joined, in that order.
    """
    records = await examine(question, _without(roles, joined), rules)
    for place, name in enumerate(joined):
        records = await join(name, records, _without(roles, joined[place + 1 :]), rules)
    return records


def _without(roles: Roles, names: Sequence[str]) -> Roles:
    return Roles(
        {name: role for name, role in roles.examiners.items() if name not in names},
        {name: role for name, role in roles.examinees.items() if name not in names},
        {name: role for name, role in roles.judges.items() if name not in names},
    )


async def join(name: str, records: QuestionRecords, roles: Roles, rules: Rules) -> QuestionRecords:
    """Ask for what an agent is missing on one question of the first round.

    Args:
        name: Who joins; an examinee, and a judge where it has the role.
        records: Of the question, as they stand.
        roles: Everyone, the newcomer among them.
        rules: How the question is examined.
    """
    question = records.question
    answers = list(records.answers)
    new = await roles.examinees[name].answer(question) if name in roles.examinees else None
    if new is not None:
        answers.append(new)
    placed = await together(
        _place(judge, question, new, records, rules)
        for judge in panel(question, roles, rules)
        if judge.name != name and new is not None and new.state == "ok"
    )
    judged = await _also_judge(name, replace(records, answers=answers), roles, rules)
    merged = _merged(judged, placed)
    if new is None or new.state != "ok":
        return merged
    new_marks = [mark for mark in merged.marks if mark.examinee == name]
    deeper = await follow_up(question, [new], new_marks, roles, rules)
    followed = split_follow_ups(deeper)
    followed["follow_ups"] = [*merged.follow_ups, *followed["follow_ups"]]
    return replace(merged, **followed)


async def _also_judge(
    name: str, records: QuestionRecords, roles: Roles, rules: Rules
) -> QuestionRecords:
    """The records, follow-ups among them, with what the newcomer as a judge says of answers."""
    own, deeper = await both(
        _as_judge(name, records.question, records.answers, roles, rules),
        together(_also_judge(name, child, roles, rules) for child in records.follow_ups),
    )
    return _merged(replace(records, follow_ups=deeper), [own])


async def _as_judge(
    name: str, question: Question, answers: Sequence[Answer], roles: Roles, rules: Rules
) -> QuestionRecords:
    """The newcomer judges everyone's answers, as it would have in the exam."""
    if name not in roles.judges:
        return QuestionRecords(question)
    alone = Roles({}, {}, {name: roles.judges[name]})
    return await judge_answers(question, answers, alone, replace(rules, rounds=0))


async def _place(
    judge: Judge, question: Question, new: Answer, records: QuestionRecords, rules: Rules
) -> QuestionRecords:
    """One judge marks the new answer and finds its place in the ranking that stands."""
    own = rules.is_own(judge.name, new.examinee)
    marks = [await judge.mark(question, new)] if rules.marks and not own else []
    by_name = {answer.examinee: answer for answer in records.answers if answer.state == "ok"}
    made: dict[tuple[str, str], Comparison] = {}

    async def points(a: str, b: str) -> float | None:
        at = {**by_name, new.examinee: new}
        made[a, b] = await compare(judge, question, at[a], at[b], rules.disagreement)
        return made[a, b].points

    standing = next((r for r in records.rankings if r.judge == judge.name), None)
    rankings: list[Ranking] = []
    others = [name for name in by_name if not rules.is_own(judge.name, name)]
    if rules.ranking != "none" and not own and others:
        order = [list(group) for group in standing.order] if standing else [[others[0]]]
        groups = await insert(new.examinee, order, points)
        unranked = standing.unranked if standing else ()
        rankings = [_ranked(question, judge.name, groups, unranked, made, new.examinee)]
    if rules.self_preference and judge.name in by_name and not own:
        await points(judge.name, new.examinee)
    return QuestionRecords(question, (), marks, list(_verdicts(made)), rankings)


def _ranked(
    question: Question,
    judge: str,
    groups: Sequence[Sequence[str]],
    unranked: Sequence[str],
    made: Mapping[tuple[str, str], Comparison],
    newcomer: str,
) -> Ranking:
    order = [tuple(sorted(group)) for group in groups]
    if all(comparison.points is None for comparison in made.values()):
        order = [tuple(name for name in group if name != newcomer) for group in order]
        unranked = sorted((*unranked, newcomer))
    return Ranking(question.id, judge, tuple(g for g in order if g), tuple(unranked))


def _verdicts(made: Mapping[tuple[str, str], Comparison]) -> list[Verdict]:
    return [v for pair in sorted(made) for v in (made[pair].forward, made[pair].backward)]


def _merged(records: QuestionRecords, parts: Sequence[QuestionRecords]) -> QuestionRecords:
    """The records with new records; a judge's new ranking takes the place of its old one."""
    rankings = {ranking.judge: ranking for ranking in records.rankings}
    for part in parts:
        rankings.update({ranking.judge: ranking for ranking in part.rankings})
    return replace(
        records,
        marks=[*records.marks, *(mark for part in parts for mark in part.marks)],
        verdicts=[*records.verdicts, *(v for part in parts for v in part.verdicts)],
        rankings=list(rankings.values()),
    )
