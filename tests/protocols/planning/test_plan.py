"""A plan's figures, held against hand counts and against sorts that are really run."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.exam.ranking import METHODS
from peerexam.protocols.planning.plan import Line, plan
from peerexam.protocols.planning.ranges import Range, comparisons, longest_path, mean_comparisons


def exam(agents: list[dict[str, Any]], **changes: Any) -> ExamConfig:
    body: dict[str, Any] = {
        "agents": agents,
        "questions": {"domains": ["x", "y"], "per_domain": 3},
    }
    return ExamConfig.model_validate({**body, **changes})


def priced(name: str, **changes: Any) -> dict[str, Any]:
    price = {"input": 1.0, "output": 2.0}
    return {"name": name, "model": f"openai/{name}", "price": price, **changes}


def by_task(lines: tuple[Line, ...], agent: str) -> dict[str, Line]:
    return {line.task: line for line in lines if line.agent == agent}


async def counted(n: int, strength: list[float], method: str = "merge_sort") -> int:
    """How many comparisons the sort makes; equal strengths tie."""
    asked = 0

    async def compare(a: str, b: str) -> float:
        nonlocal asked
        asked += 1
        one, other = strength[int(a)], strength[int(b)]
        return 0.5 if one == other else float(one > other)

    await METHODS[method]([str(i) for i in range(n)], compare)
    return asked


@pytest.mark.parametrize("method", ["merge_sort", "rank_merge"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
async def test_the_spans_hold_over_all_orders(n: int, method: str) -> None:
    counts = [await counted(n, list(order), method) for order in itertools.permutations(range(n))]
    span = comparisons(n, method)
    assert span.most == max(counts)
    assert span.least <= min(counts)
    # The mean over all n! orders, which the recurrence gives in closed form.
    assert span.expected == pytest.approx(sum(counts) / len(counts))


@pytest.mark.parametrize("method", ["merge_sort", "rank_merge"])
@pytest.mark.parametrize("n", [2, 3, 5, 8])
async def test_the_least_is_reached_where_everything_ties(n: int, method: str) -> None:
    assert await counted(n, [1.0] * n, method) == comparisons(n, method).least


@given(
    n=st.integers(2, 40),
    values=st.integers(1, 40),
    seed=st.integers(0, 10**6),
    method=st.sampled_from(["merge_sort", "rank_merge"]),
)
async def test_no_sort_leaves_the_span(n: int, values: int, seed: int, method: str) -> None:
    rng = random.Random(seed)
    asked = await counted(n, [float(rng.randrange(values)) for _ in range(n)], method)
    span = comparisons(n, method)
    assert span.least <= asked <= span.most
    assert span.least <= span.expected <= span.most


def test_the_mean_agrees_with_the_known_value_for_eight() -> None:
    # By hand: 4 merges of 1 + 1 at 1, 2 of 2 + 2 at 4 − 4/3, 1 of 4 + 4 at 8 − 8/5.
    assert mean_comparisons(8) == pytest.approx(4 * 1 + 2 * (4 - 4 / 3) + (8 - 8 / 5))


@pytest.mark.parametrize(
    ("n", "merge_path", "rank_path"),
    [(4, 4, 3), (8, 11, 6), (16, 26, 10), (32, 57, 15), (64, 120, 21)],
)
def test_the_paths_are_the_closed_forms(n: int, merge_path: int, rank_path: int) -> None:
    # For n = 2^k: 2n − 2 − lg n and k(k + 1)/2, worked out by hand.
    assert longest_path(n, "merge_sort") == merge_path
    assert longest_path(n, "rank_merge") == rank_path


def test_the_mean_of_rank_merge_agrees_with_hand_counts() -> None:
    # 2: one comparison. 4: two of these, and 2 answers in 2 others, gaps at depth 2, 2 and 1, so
    # 2 · 5/3. 8: two of these, and 4 answers in 4 others, gaps at depth 3, 3, 2, 2, 2: 4 · 12/5.
    four = 2 * 1 + 2 * 5 / 3
    assert comparisons(4, "rank_merge").expected == pytest.approx(four)
    assert comparisons(8, "rank_merge").expected == pytest.approx(2 * four + 4 * 12 / 5)


def test_a_peer_examination_of_three_is_counted_as_by_hand() -> None:
    # 3 examiners × 2 domains × 3 questions = 18 questions; each is answered by 3, marked by each
    # judge on the 2 others' answers, compared once (2 others) in 2 orders, and the judge's own
    # answer is compared with 2 others in 2 orders. Replies that cannot be read double the most.
    config = exam([priced(name) for name in "abc"])
    planned = plan(config)
    assert planned.questions == 18
    tasks = by_task(planned.lines, "a")
    assert tasks["questions"].calls == Range(2, 2, 8)  # 4 attempts at most
    assert tasks["answers"].calls == Range(18, 18, 18)
    assert tasks["marks"].calls == Range(36, 36, 72)
    assert tasks["comparisons"].calls == Range(36, 36, 72)
    assert tasks["own"].calls == Range(72, 72, 144)
    assert planned.calls.expected == 3 * (2 + 18 + 36 + 36 + 72)


def test_settings_take_calls_away() -> None:
    agents = [priced(name) for name in "abc"]
    judging = {"marks": False, "ranking": "none"}
    assert {line.task for line in plan(exam(agents, judging=judging)).lines} == {
        "questions",
        "answers",
    }
    alone = plan(exam(agents, judging={"self_preference": False, "panel": "author", "reasks": 0}))
    tasks = by_task(alone.lines, "b")
    assert "own" not in tasks
    assert tasks["marks"].calls == Range(12, 12, 12)  # its own 6 questions, 2 others


def test_a_central_examiner_sets_and_judges_alone() -> None:
    planned = plan(exam([priced(name) for name in "abc"], protocol="exam", examiner="a"))
    assert planned.questions == 6
    assert {line.task for line in planned.lines if line.agent == "b"} == {"answers"}
    tasks = by_task(planned.lines, "a")
    assert tasks["marks"].calls.expected == 12
    assert "answers" not in tasks


def test_follow_ups_go_to_the_others_round_by_round() -> None:
    # 6 questions of each author, 2 others each, 2 rounds: most 24 follow-ups an author; expected
    # half of the 2 answers, then half of those: 6 × (1 + ½) = 9.
    planned = plan(exam([priced(name) for name in "abc"], follow_ups={"rounds": 2}))
    tasks = by_task(planned.lines, "a")
    # Each follow-up is asked for 4 times at most.
    assert tasks["follow-ups"].calls == Range(0, 9, 24 * 4)
    # Asked by two authors, each with half of 9 expected and of 24 at most for this examinee.
    assert tasks["answers"].calls == Range(18, 18 + 9, 18 + 24)
    # Every follow-up is answered by one, and marked by the two others.
    assert tasks["marks"].calls.least == 36
    assert tasks["marks"].calls.expected == pytest.approx(36 + 18)


def test_a_share_thins_the_follow_ups_of_every_round() -> None:
    # As above, a half of the full-mark answers drawn: an answer goes on with 1/4, so an author has
    # 6 × 2 × (1/4 + 1/16) = 3.75 expected; at most all are drawn.
    follow_ups = {"rounds": 2, "share": 0.5}
    planned = plan(exam([priced(name) for name in "abc"], follow_ups=follow_ups))
    assert by_task(planned.lines, "a")["follow-ups"].calls == Range(0, 3.75, 24 * 4)
    assert any("0.5 of them drawn" in text for text in planned.assumptions)


def test_follow_ups_on_questions_of_a_file_are_told_too(tmp_path: Path) -> None:
    file = tmp_path / "q.txt"
    file.write_text("What is a river?\nWhat is a lake?\n")
    agents = [priced(name) for name in "abc"]
    planned = plan(exam(agents, questions={"file": str(file)}, follow_ups={"rounds": 1}))
    assert any(text.startswith("follow-ups: expected") for text in planned.assumptions)


def test_five_examples_are_counted_in_what_an_examinee_reads() -> None:
    agents = [priced("a"), priced("b", shots=5), priced("c", shots=0)]
    lines = plan(exam(agents)).lines
    none, five, zero = (by_task(lines, name)["answers"].prompt_tokens for name in "abc")
    # 18 questions, each behind the examples' 1,008 characters at 4 a token.
    assert five.expected - none.expected == pytest.approx(18 * 1008 / 4, rel=0.01)
    assert zero == none


def test_a_sample_limits_the_follow_ups() -> None:
    agents = [priced(name) for name in "abcdef"]
    planned = plan(exam(agents, follow_ups={"rounds": 1, "sample": 1}))
    assert by_task(planned.lines, "a")["follow-ups"].calls == Range(0, 6, 6 * 4)


def test_likelihood_judges_score_every_answer_twice() -> None:
    agents = [priced("a"), priced("b"), {"name": "j", "model": "local/smollm2", "roles": ["judge"]}]
    agents[2]["judge"] = {"by": "likelihood"}
    tasks = by_task(plan(exam(agents)).lines, "j")
    assert set(tasks) == {"scoring"}
    assert tasks["scoring"].calls == Range(48, 48, 48)  # 12 questions × 2 answers × 2
    assert tasks["scoring"].completion_tokens.most == 0


def test_an_unknown_price_is_unknown_and_players_cost_nothing() -> None:
    agents = [
        priced("a"),
        {"name": "mystery", "model": "openai/m"},
        {"name": "s", "model": "sim/s"},
    ]
    planned = plan(exam(agents))
    assert planned.unpriced == ("mystery",)
    assert all(line.cost is None for line in planned.lines if line.agent == "mystery")
    assert all(line.cost == Range() for line in planned.lines if line.agent == "s")
    body = planned.to_json()
    assert body["cost_usd"]["unknown_for"] == ["mystery"]
    assert body["cost_usd"]["expected"] > 0


def test_cost_is_tokens_by_price() -> None:
    lines = plan(exam([priced(name) for name in "ab"])).lines
    for line in lines:
        assert line.cost is not None
        dollars = (line.prompt_tokens.most + 2 * line.completion_tokens.most) / 1e6
        assert line.cost.most == pytest.approx(dollars)


def test_own_questions_are_read_and_need_no_examiner(tmp_path: Path) -> None:
    file = tmp_path / "q.txt"
    file.write_text("What is a river?\nWhat is a lake?\nWhat is a sea?\n")
    config = exam([priced(name) for name in "ab"], questions={"file": str(file)})
    planned = plan(config)
    assert planned.questions == 3
    assert "questions" not in {line.task for line in planned.lines}
    assert plan(config, ["one"]).questions == 1


@given(
    n=st.integers(2, 6),
    rounds=st.integers(0, 3),
    sample=st.none() | st.integers(1, 4),
    share=st.floats(0.01, 1),
    panel=st.sampled_from(["all", "author"]),
    ranking=st.sampled_from(["merge_sort", "rank_merge", "round_robin", "none"]),
)
def test_least_is_at_most_expected_and_expected_at_most_most(
    n: int, rounds: int, sample: int | None, share: float, panel: str, ranking: str
) -> None:
    config = exam(
        [priced(f"a{i}") for i in range(n)],
        follow_ups={"rounds": rounds, "sample": sample, "share": share},
        judging={"panel": panel, "ranking": ranking},
    )
    planned = plan(config)
    for line in planned.lines:
        for span in (line.calls, line.prompt_tokens, line.completion_tokens):
            assert span.least <= span.expected + 1e-9
            assert span.expected <= span.most + 1e-9


def _eight_answers(questions: int, *, judges: int = 1, **changes: Any) -> tuple[str, ...]:
    """Advice where eight agents answer and others judge; K and P of 8 are 15.7 and 11."""
    agents = [priced(f"e{n}", roles=["examiner", "examinee"][n > 0 :]) for n in range(8)]
    agents += [priced(f"j{n}", roles=["judge"], **changes.pop("judge", {})) for n in range(judges)]
    asked = {"domains": ["x"], "per_domain": questions}
    return plan(exam(agents, questions=asked, **changes)).hints


def test_rank_merge_is_advised_where_rankings_leave_calls_idle() -> None:
    # Merge sort of 8 asks 15 11/15 on average: 31.5 calls in 11 steps, 2.9 in flight a ranking.
    (hint,) = _eight_answers(10)
    assert "keep about 29 of 64 calls at once busy" in hint
    assert "rank_merge waits for 6 in a row instead of 11" in hint


def test_rank_merge_is_not_advised_where_it_would_help_nobody() -> None:
    assert _eight_answers(23) == (), "66 calls in flight fill the line of 64"
    assert _eight_answers(5, judges=5) == (), "as do five judges"
    assert _eight_answers(10, limits={"concurrency": 16}) == ()
    assert _eight_answers(10, judge={"limits": {"concurrency": 20}}) == (), "the judge takes 20"
    assert _eight_answers(10, judging={"ranking": "rank_merge"}) == ()
    assert _eight_answers(10, judging={"ranking": "none"}) == ()
    two = [priced("a"), priced("b")]
    assert plan(exam(two)).hints == (), "a ranking of one answer asks nothing"
