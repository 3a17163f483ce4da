"""Simulated players: what is planted is what they do, whatever the order of the calls."""

import asyncio
import time
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.spec import AgentSpec, parse_model
from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.examiners.base import Examinee, Examiner, Judge
from peerexam.examiners.simulated.participants import SimParticipant, simulated_participants
from peerexam.examiners.simulated.spec import SimSpec, home_gain, sim_spec, win_probability
from peerexam.records import Answer, Domain, Question, Verdict


def agent(text: str) -> AgentSpec:
    provider, model, url, options = parse_model(text)
    return AgentSpec(model, provider, model, url, options=options)


def players(*texts: str, seed: int = 1) -> dict[str, SimParticipant]:
    return simulated_participants([agent(text) for text in texts], seed)


def asked(n: int, author: str = "x") -> list[Question]:
    return [Question(f"q{k}", f"question {k}", "d", author=author) for k in range(n)]


async def verdicts(
    judge: SimParticipant,
    a: SimParticipant,
    b: SimParticipant,
    questions: Sequence[Question],
) -> list[Verdict]:
    return [
        await judge.verdict(question, await a.answer(question), await b.answer(question))
        for question in questions
    ]


async def share_first(
    judge: SimParticipant,
    a: SimParticipant,
    b: SimParticipant,
    questions: Sequence[Question],
) -> float:
    found = await verdicts(judge, a, b, questions)
    return float(np.mean([verdict.winner == "first" for verdict in found]))


def test_a_player_plays_all_three_roles() -> None:
    player = players("sim/a")["a"]
    roles: tuple[Examiner, Examinee, Judge] = (player, player, player)
    assert {role.name for role in roles} == {"a"}


def test_options_become_what_is_planted() -> None:
    spec = sim_spec(
        agent(
            "sim/a?ability=1.2&self_preference=0.3&first_preference=-0.1&longer_preference=0.2"
            "&home_advantage=0.15&error_rate=0.05&noise=0"
        )
    )
    assert spec == SimSpec(1.2, 0.0, 0.3, -0.1, 0.2, 0.15, 0.05)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sim/a?abilty=1", "has no 'abilty'"),
        ("sim/a?error_rate=1.5", "error_rate must be a number from 0 to 1"),
        ("sim/a?ability=strong", "ability must be a number"),
        ("sim/a?noise=true", "noise must be a number"),
        ("openai/a", "not a simulated participant"),
    ],
)
def test_what_cannot_be_planted_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(SetupError, match=words):
        sim_spec(agent(text))


def test_two_players_of_one_name_are_refused() -> None:
    with pytest.raises(SetupError, match="two simulated participants"):
        players("sim/a", "sim/a?ability=1")


async def test_the_same_verdict_comes_whatever_was_asked_before() -> None:
    one, other = players("sim/a", "sim/b"), players("sim/a", "sim/b")
    questions = asked(50)
    forward = await verdicts(one["a"], one["a"], one["b"], questions)
    backward = await verdicts(other["a"], other["a"], other["b"], questions[::-1])
    assert forward == backward[::-1]
    another = players("sim/a", "sim/b", seed=2)
    assert await verdicts(another["a"], another["a"], another["b"], questions) != forward


async def test_equal_players_win_by_the_logistic_of_their_gap() -> None:
    world = players("sim/a?ability=1&noise=0", "sim/b?noise=0", "sim/j")
    share = await share_first(world["j"], world["a"], world["b"], asked(4000))
    assert share == pytest.approx(1 / (1 + np.exp(-1)), abs=0.03)  # Bradley–Terry


async def test_preferences_add_to_the_chance_what_was_planted() -> None:
    world = players(
        "sim/a?self_preference=0.3&noise=0",
        "sim/b?noise=0",
        "sim/f?first_preference=0.3",
        "sim/l?longer_preference=0.4",
        "sim/h?home_advantage=0.25&noise=0",
    )
    questions = asked(4000)
    a, b = world["a"], world["b"]
    assert await share_first(a, a, b, questions) == pytest.approx(0.8, abs=0.03)
    assert await share_first(a, b, a, questions) == pytest.approx(0.2, abs=0.03)
    # a preference is a difference of shares: half of it goes to the one, half from the other
    assert await share_first(world["f"], a, b, questions) == pytest.approx(0.65, abs=0.03)
    at_home = asked(4000, author="h")
    assert await share_first(b, world["h"], a, at_home) == pytest.approx(0.75, abs=0.03)
    assert await share_first(b, world["h"], a, questions) == pytest.approx(0.5, abs=0.03)
    won_by_longer = []
    for question in questions:
        first, second = await a.answer(question), await b.answer(question)
        if len(first.text) != len(second.text):
            verdict = await world["l"].verdict(question, first, second)
            longer = "first" if len(first.text) > len(second.text) else "second"
            won_by_longer.append(verdict.winner == longer)
    assert 2 * np.mean(won_by_longer) - 1 == pytest.approx(0.4, abs=0.05)


async def test_errors_come_at_the_planted_rate_and_are_named() -> None:
    world = players("sim/a", "sim/b", "sim/j?error_rate=0.2")
    found = await verdicts(world["j"], world["a"], world["b"], asked(3000))
    lost = [verdict for verdict in found if verdict.state != "ok"]
    assert len(lost) / 3000 == pytest.approx(0.2, abs=0.03)
    assert {(v.state, v.winner, v.reason) for v in lost} == {("unparsed", None, "planted error")}
    assert all(verdict.reply for verdict in lost)
    marks = [await world["j"].mark(q, await world["a"].answer(q)) for q in asked(1000)]
    assert np.mean([mark.overall is None for mark in marks]) == pytest.approx(0.2, abs=0.05)


async def test_the_full_mark_is_given_exactly_where_quality_is_above_one() -> None:
    world = players("sim/a?ability=0.8&noise=1.5&home_advantage=0.2", "sim/j")
    seen = set()
    for question in [*asked(300), *asked(300, author="a")]:
        mark = await world["j"].mark(question, await world["a"].answer(question))
        assert (mark.overall == 5) == (world["j"].quality(question, "a") > 1)
        assert all(score is not None and 1 <= score <= 3 for score in mark.scores.values())
        seen.add(mark.overall)
    assert seen == {1, 2, 3, 4, 5}


async def test_every_judge_sees_the_same_quality() -> None:
    world = players("sim/a?noise=2", "sim/j", "sim/k")
    qualities = [[world[name].quality(q, "a") for q in asked(20)] for name in "ajk"]
    assert qualities[0] == qualities[1] == qualities[2]
    assert len(set(qualities[0])) == 20


def test_home_lifts_marks_as_it_lifts_the_chance_against_an_equal() -> None:
    gain = home_gain(SimSpec(home_advantage=0.2))
    assert 1 / (1 + np.exp(-gain)) == pytest.approx(0.7)


async def test_strangers_count_as_average_players() -> None:
    world = players("sim/j")
    question = asked(1)[0]
    stranger = Answer(question.id, "model", "text")
    assert world["j"].quality(question, "model") == 0
    verdict = await world["j"].verdict(question, stranger, await world["j"].answer(question))
    assert verdict.state == "ok"


async def test_question_sets_are_complete_and_their_questions_distinct() -> None:
    world = players("sim/a", "sim/b")
    papers = [
        await world[name].questions(Domain(domain, ("root", domain)), 10, "breadth")
        for name in "ab"
        for domain in ("law", "art")
    ]
    questions = [question for paper in papers for question in paper.questions]
    assert len({q.id for q in questions}) == len({q.text for q in questions}) == 40
    assert all(paper.shortfall == 0 for paper in papers)
    # examiner paper, B.1: concise first, compound last
    groups = [question.group for question in papers[0].questions]
    assert groups == ["concise"] * 3 + ["complex"] * 4 + ["compound"] * 3
    hard = await world["a"].questions(Domain("law"), 5, "peer")
    assert {question.group for question in hard.questions} == {"hard"}


async def test_a_follow_up_is_for_one_examinee_and_one_round_deeper() -> None:
    world = players("sim/a", "sim/b")
    question = (await world["a"].questions(Domain("law"), 1, "peer")).questions[0]
    found = (await world["a"].follow_up(question, await world["b"].answer(question))).question
    assert found is not None
    assert (found.round, found.parent_id, found.examinee, found.author) == (
        2,
        question.id,
        "b",
        "a",
    )
    deeper = (await world["a"].follow_up(found, await world["b"].answer(found))).question
    assert deeper is not None
    assert len({question.id, found.id, deeper.id}) == 3


@given(st.floats(-2000, 2000), st.sampled_from((-1.0, 0.0, 1.0)), st.floats(-1, 1))
def test_one_verdict_and_a_table_of_them_have_the_same_chance(
    gap: float, own: float, taste: float
) -> None:
    judge = SimSpec(self_preference=taste, first_preference=-taste / 2)
    one = win_probability(judge, gap, own=own, longer=1.0, home=0.1)
    table = win_probability(
        judge,
        np.array([gap]),
        own=np.array([own]),
        longer=np.array([1.0]),
        home=np.array([0.1]),
    )
    assert 0 <= one <= 1
    assert table == pytest.approx([one])


def test_verdicts_are_cheap() -> None:
    options: dict[str, Json] = {"error_rate": 0.1, "self_preference": 0.1}
    world = simulated_participants([AgentSpec(n, "sim", n, options=options) for n in "abcd"], 0)

    async def judge_all() -> int:
        count = 0
        for question in asked(100):
            answers = [await player.answer(question) for player in world.values()]
            for judge in world.values():
                for first in answers:
                    for second in answers:
                        if first is not second:
                            await judge.verdict(question, first, second)
                            count += 1
        return count

    start = time.process_time()
    count = asyncio.run(judge_all())
    # 50,000 a second on an idle core; the bound leaves room for a loaded one
    assert count / (time.process_time() - start) > 15_000
