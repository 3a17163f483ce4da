from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace

from peerexam.examiners.base import AuthoredQuestions, FollowUp, Style
from peerexam.protocols.exam.examination import (
    QuestionRecords,
    Roles,
    Rules,
    correct_examinees,
    examine,
    follow_up,
)
from peerexam.protocols.exam.ranking import most_comparisons
from peerexam.records import Answer, Domain, Mark, Question, Verdict, Winner


@dataclass
class Player:
    """Plays every role: its answers are worth `level`, and it judges by their worth."""

    name: str
    level: int
    delay: random.Random | None = None
    state: str = "ok"

    async def questions(self, domain: Domain, n: int, style: Style) -> AuthoredQuestions:
        raise AssertionError("not asked here")

    async def follow_up(self, question: Question, answer: Answer) -> FollowUp:
        deeper = replace(
            question,
            id=f"{question.id}.{answer.examinee}",
            text=f"Why so, {answer.text}?",
            round=question.round + 1,
            parent_id=question.id,
            examinee=answer.examinee,
        )
        return FollowUp(deeper)

    async def answer(self, question: Question) -> Answer:
        await self._pause()
        if self.state != "ok":
            return Answer(question.id, self.name, "", state="refused")
        return Answer(question.id, self.name, str(self.level))

    async def mark(self, question: Question, answer: Answer) -> Mark:
        await self._pause()
        return Mark(question.id, answer.examinee, self.name, overall=min(5, int(answer.text)))

    async def verdict(self, question: Question, first: Answer, second: Answer) -> Verdict:
        await self._pause()
        a, b = int(first.text), int(second.text)
        winner: Winner = "first" if a > b else "second" if b > a else "tie"
        return Verdict(question.id, self.name, first.examinee, second.examinee, winner)

    async def _pause(self) -> None:
        if self.delay is not None:
            await asyncio.sleep(self.delay.random() / 500)


QUESTION = Question("q1", "What is it?", "things", author="a")


def roles(*players: Player) -> Roles:
    by_name = {player.name: player for player in players}
    return Roles(by_name, by_name, by_name)


def four(seed: int | None = None) -> Roles:
    delay = None if seed is None else random.Random(seed)
    return roles(
        *(Player(name, level, delay) for name, level in zip("abcd", (5, 3, 5, 1), strict=True))
    )


def all_verdicts(records: QuestionRecords) -> list[Verdict]:
    return [verdict for part in records.walk() for verdict in part.verdicts]


async def test_a_judge_ranks_and_marks_everyone_but_itself() -> None:
    records = await examine(QUESTION, four(), Rules(self_preference=False))
    assert {(m.judge, m.examinee) for m in records.marks} == {
        (j, e) for j in "abcd" for e in "abcd" if j != e
    }
    assert not any(verdict.is_self_judgement for verdict in records.verdicts)
    orders = {ranking.judge: ranking.order for ranking in records.rankings}
    assert orders == {
        "a": (("c",), ("b",), ("d",)),
        "b": (("a", "c"), ("d",)),
        "c": (("a",), ("b",), ("d",)),
        "d": (("a", "c"), ("b",)),
    }
    assert len(records.verdicts) <= 4 * 2 * most_comparisons(3)


async def test_self_judgements_are_asked_for_only_where_wanted_and_in_both_orders() -> None:
    with_self = await examine(QUESTION, four(), Rules(self_preference=True))
    own = {(v.judge, v.first, v.second) for v in with_self.verdicts if v.is_self_judgement}
    assert own == {(j, j, o) for j in "abcd" for o in "abcd" if o != j} | {
        (j, o, j) for j in "abcd" for o in "abcd" if o != j
    }
    without = await examine(QUESTION, four(), Rules(self_preference=False))
    assert with_self.rankings == without.rankings


async def test_agents_that_count_as_its_own_are_left_to_other_judges() -> None:
    rules = Rules(self_preference=False, own={"a": frozenset("c")})
    records = await examine(QUESTION, four(), rules)
    seen = {name for v in records.verdicts if v.judge == "a" for name in (v.first, v.second)}
    assert seen == {"b", "d"}
    assert {m.examinee for m in records.marks if m.judge == "a"} == {"b", "d"}


async def test_follow_ups_come_only_after_answers_the_author_marked_as_correct() -> None:
    records = await examine(QUESTION, four(), Rules(rounds=2))
    # Full marks from author a: only c (its own answer is never followed up).
    assert [part.question.id for part in records.walk()] == ["q1", "q1.c", "q1.c.c"]
    second = records.follow_ups[0]
    assert [answer.examinee for answer in second.answers] == ["c"]
    assert {mark.judge for mark in second.marks} == {"a", "b", "d"}
    assert second.rankings == []


async def test_failed_answers_are_recorded_and_never_judged() -> None:
    players = [Player("a", 5), Player("b", 3), Player("c", 4, state="refused")]
    records = await examine(QUESTION, roles(*players), Rules())
    assert [(a.examinee, a.state) for a in records.answers] == [
        ("a", "ok"),
        ("b", "ok"),
        ("c", "refused"),
    ]
    assert "c" not in {mark.examinee for mark in records.marks}
    assert "c" not in {name for v in all_verdicts(records) for name in (v.first, v.second)}
    assert [r.judge for r in records.rankings] == ["c"], "two answers rank only by a third"


async def test_records_do_not_depend_on_timing() -> None:
    calm = await examine(QUESTION, four(), Rules(rounds=1))
    for seed in range(5):
        assert await examine(QUESTION, four(seed), Rules(rounds=1)) == calm


async def test_the_author_panel_is_the_papers_own() -> None:
    records = await examine(QUESTION, four(), Rules(panel="author", self_preference=False))
    assert {verdict.judge for verdict in records.verdicts} == {"a"}
    assert {mark.judge for mark in records.marks} == {"a"}


def test_without_marks_from_the_examiner_a_strict_majority_decides() -> None:
    marks = [Mark("q", "x", j, overall=o) for j, o in (("j1", 5), ("j2", 5), ("j3", 4))]
    marks += [Mark("q", "y", j, overall=o) for j, o in (("j1", 5), ("j2", 4))]
    assert correct_examinees(marks, "nobody", 5) == {"x"}
    assert correct_examinees([*marks, Mark("q", "y", "ex", overall=5)], "ex", 5) == {"y"}


async def test_a_judge_with_a_share_judges_that_part_of_the_questions() -> None:
    rules = Rules(shares={"a": 0.25})
    judged = 0
    for number in range(200):
        question = replace(QUESTION, id=f"q{number}")
        records = await examine(question, four(), rules)
        judges = {verdict.judge for verdict in records.verdicts}
        assert judges in ({"b", "c", "d"}, {"a", "b", "c", "d"})
        judged += "a" in judges
    # Binomial(200, ¼): mean 50, standard deviation 6.1; five of them either way.
    assert 20 <= judged <= 80


async def followed_up(rules: Rules, backwards: bool = False) -> list[str]:
    """Which of sixty full-mark answers are followed up."""
    players = roles(*(Player(f"p{number:02}", 5) for number in range(60)), Player("a", 5))
    answers = [Answer(QUESTION.id, name, "5") for name in players.examinees]
    marks = [Mark(QUESTION.id, name, "a", overall=5) for name in players.examinees if name != "a"]
    alone = Roles(players.examiners, players.examinees, {})
    order = slice(None, None, -1 if backwards else 1)
    had = await follow_up(QUESTION, answers[order], marks[order], alone, rules)
    return sorted(part.question.examinee or "" for part in had if isinstance(part, QuestionRecords))


async def test_a_share_of_the_full_mark_answers_is_followed_up_whatever_their_order() -> None:
    some = await followed_up(Rules(rounds=1, share=0.3))
    # 60 draws at 0.3: outside of 5 to 32 once in 100,000 times.
    assert 5 <= len(some) <= 32
    assert some == await followed_up(Rules(rounds=1, share=0.3), backwards=True)
    assert some != await followed_up(Rules(rounds=1, share=0.3, seed=1))
    assert len(await followed_up(Rules(rounds=1))) == 60


async def test_more_of_a_share_holds_the_same_answers_and_others() -> None:
    few = await followed_up(Rules(rounds=1, share=0.2))
    many = await followed_up(Rules(rounds=1, share=0.6))
    assert set(few) < set(many)


async def test_the_sample_is_taken_of_the_share() -> None:
    some = await followed_up(Rules(rounds=1, share=0.3))
    sampled = await followed_up(Rules(rounds=1, share=0.3, sample=3))
    assert len(sampled) == 3
    assert set(sampled) < set(some)
    assert await followed_up(Rules(rounds=1, share=0.3, sample=60)) == some


class Instant(Player):
    """One that says that it waits for nothing."""

    never_waits = True


async def test_players_that_wait_for_nothing_leave_the_same_records() -> None:
    levels = {"a": 3, "b": 5, "c": 1, "d": 5, "e": 2}
    rules = Rules(rounds=1)
    waiting = await examine(QUESTION, roles(*(Player(*one) for one in levels.items())), rules)
    at_once = await examine(QUESTION, roles(*(Instant(*one) for one in levels.items())), rules)
    assert at_once == waiting
    assert len(at_once.follow_ups) == 2


async def test_one_player_that_waits_is_enough_to_work_at_the_same_time() -> None:
    players = [Instant("a", 1), Instant("b", 2)]
    assert not roles(*players).waits
    assert roles(*players, Player("c", 3)).waits
