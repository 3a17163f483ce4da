"""Whether authors do better on their own questions."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from peerexam.errors import StatisticsError
from peerexam.records import Verdict
from peerexam.stats.core.tables import Comparisons, comparisons_from
from peerexam.stats.judges.home_advantage import home_advantage


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def ranked(question: str, judge: str, order: str) -> list[Verdict]:
    return [
        verdict
        for better, worse in itertools.combinations(order, 2)
        for verdict in (
            Verdict(question, judge, better, worse, "first"),
            Verdict(question, judge, worse, better, "second"),
        )
    ]


def test_three_questions_come_out_as_worked_by_hand() -> None:
    # a wrote q1. Third parties on a against b: c; against c: b.
    verdicts = [
        *(ranked("q1", "a", "cba")),
        *(ranked("q1", "b", "abc")),  # a beats c
        *(ranked("q1", "c", "abc")),  # a beats b
        *(ranked("q2", "b", "cab")),  # c beats a
        *(ranked("q2", "c", "abc")),  # a beats b
        *(ranked("q3", "b", "cab")),
        *(ranked("q3", "c", "bac")),
    ]
    c = comparisons_from(verdicts, "abc", "abc")
    found = home_advantage(c, {"q1": "a", "q2": "b", "q3": "x"}, rng=rng(), rounds=50)
    # at home 2 of 2, away 1 of 4
    assert found[0].value == pytest.approx(1 - 1 / 4)
    assert (found[0].n, found[0].left_out) == (3, 0)
    assert (found[0].low, found[0].high) == (None, None)  # a single question at home
    assert found[2].value is None
    assert "its own questions" in (found[2].reason or "")


def test_questions_without_an_author_are_left_out() -> None:
    verdicts = [v for q in ("q1", "q2", "q3") for v in ranked(q, "x", "ab")]
    c = comparisons_from(verdicts, "ab", "x")
    found = home_advantage(c, {"q1": "a", "q2": None}, rng=rng(), rounds=10)
    assert [(e.value, e.n, e.left_out) for e in found] == [(None, 1, 2), (None, 1, 2)]


def sampled(
    planted: dict[str, float], questions: int, seed: int
) -> tuple[Comparisons, dict[str, str]]:
    draw = rng(seed)
    names = "abcd"
    authors = {f"q{k}": names[k % 4] for k in range(questions)}
    verdicts = []
    for question, author in authors.items():
        at_home = {name: planted.get(name, 0.0) * (name == author) for name in names}
        for judge in names:
            for a, b in itertools.permutations(names, 2):
                chance = 0.5 + at_home[a] - at_home[b] + 0.4 * ((judge == a) - (judge == b))
                winner = "first" if draw.random() < chance else "second"
                verdicts.append(Verdict(question, judge, a, b, winner))  # type: ignore[arg-type]
    return comparisons_from(verdicts, names, names), authors


def test_a_planted_advantage_is_found_whatever_judges_think_of_themselves() -> None:
    c, authors = sampled({"b": 0.25}, 160, seed=3)
    found = home_advantage(c, authors, rng=rng(), rounds=4000)
    assert found[1].low is not None
    assert found[1].high is not None
    assert found[1].low > 0
    assert found[1].low < 0.25 < found[1].high
    assert found[1].p_holm is not None
    assert found[1].p_holm < 0.01


def test_authors_without_an_advantage_are_accused_at_the_nominal_rate() -> None:
    alarms, small_p = 0, 0
    for seed in range(60):
        c, authors = sampled({}, 40, seed)
        found = home_advantage(c, authors, rng=rng(seed), rounds=300)
        alarms += sum(not (e.low or 0) <= 0 <= (e.high or 0) for e in found)
        small_p += sum((e.p or 0) < 0.05 for e in found)
    # 5 % of 240 is 12; 1 in 1000 binomial samples lies above 23
    assert alarms <= 23
    assert small_p <= 23


@settings(max_examples=10)
@given(st.permutations("abcd"), st.integers(0, 1000))
def test_the_order_of_names_does_not_matter(order: list[str], seed: int) -> None:
    c, authors = sampled({"a": 0.2}, 8, seed)
    letters = "abcd"
    verdicts = [
        Verdict(
            c.questions[c.question[k]],
            letters[c.judge[k]],
            letters[c.first[k]],
            letters[c.second[k]],
            "first" if c.points[k] else "second",
        )
        for k in range(len(c.points))
    ]
    d = comparisons_from(verdicts, order, order)
    ours = dict(zip(c.agents, home_advantage(c, authors, rng=rng(), rounds=5), strict=True))
    theirs = dict(zip(d.agents, home_advantage(d, authors, rng=rng(), rounds=5), strict=True))
    for name in letters:
        assert ours[name].value == pytest.approx(theirs[name].value)


def test_settings_are_checked() -> None:
    c, authors = sampled({}, 4, 0)
    with pytest.raises(StatisticsError, match="rounds"):
        home_advantage(c, authors, rng=rng(), rounds=0)


@pytest.mark.parametrize("at_a_time", [1, 7, 1000])
def test_how_much_is_held_at_a_time_changes_nothing(
    at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    c, authors = sampled({"a": 0.2}, 40, seed=3)
    whole = home_advantage(c, authors, rng=rng(), rounds=300)

    def in_blocks(rows: int, cells: int) -> list[slice]:
        return [slice(k, min(k + at_a_time, rows)) for k in range(0, rows, at_a_time)]

    monkeypatch.setattr("peerexam.stats.judges.home_advantage.row_blocks", in_blocks)
    monkeypatch.setattr("peerexam.stats.judges.home_advantage._CELLS", 40 * at_a_time)
    assert home_advantage(c, authors, rng=rng(), rounds=300) == whole


def worded(orders: dict[str, str], judges: str = "xy") -> Comparisons:
    """Judges that do not answer put two agents, a and b, in the order given for each question."""
    verdicts = [
        v for question, order in orders.items() for judge in judges
        for v in ranked(question, judge, order)
    ]  # fmt: skip
    return comparisons_from(verdicts, "ab", judges)


def test_where_every_question_says_the_same_the_interval_has_a_width() -> None:
    # a wins all four at home and loses all six away: 1 − 0. Of the home ones a share q, of the
    # others a share r may be different, as far as (1 − q)^4 (1 − r)^6 ≥ 0.05. That allows most in
    # all at 1 − q = 4λ, 1 − r = 6λ, λ^10 = 0.05 ÷ (4^4 6^6).
    authors: dict[str, str | None] = {f"q{k}": "a" if k < 4 else "b" for k in range(10)}
    made = worded({q: "ab" if author == "a" else "ba" for q, author in authors.items()})
    found = home_advantage(made, authors, rng=rng(), rounds=500)[0]
    lam = (0.05 / (4**4 * 6**6)) ** 0.1
    assert found.value == 1.0
    assert found.low == pytest.approx(1 - ((1 - 4 * lam) + (1 - 6 * lam)))
    assert found.high == 1.0
    assert "questions all alike" in found.method
    # 0 is reached where the two shares are 1 in all: 10 λ = 1, with a chance of 4^4 6^6 ÷ 10^10.
    assert found.p == pytest.approx(4**4 * 6**6 / 10**10, rel=1e-6)


def test_a_side_that_is_all_alike_is_not_taken_for_certain() -> None:
    # Of three questions at home all are won: Wilson or Clopper and Pearson give low ends about 0.4.
    authors: dict[str, str | None] = {f"q{k}": "a" if k < 3 else "b" for k in range(23)}
    orders = {q: "ab" if k < 3 or k % 2 else "ba" for k, q in enumerate(authors)}
    found = home_advantage(worded(orders), authors, rng=rng(), rounds=2000)[0]
    assert found.value == pytest.approx(1 - 0.5)
    assert found.low is not None
    assert found.high is not None
    # Nothing lies above a rate of 1, so that the upper end is the others' alone; the lower is
    # joined from 1 − 0.05^(1 ÷ 3) and the others' distance, which is about the upper one.
    room = 1 - 0.05 ** (1 / 3)
    assert 0.5 - found.low == pytest.approx(np.hypot(room, found.high - 0.5), abs=0.03)


def test_agents_of_one_model_do_not_judge_each_other_as_third_parties() -> None:
    orders = {"a": "abc", "b": "abc", "c": "abc", "d": "bca"}
    verdicts = [
        v for k in range(4) for judge, order in orders.items()
        for v in ranked(f"q{k}", judge, order if k < 2 else "cba")
        if judge not in (v.first, v.second)
    ]  # fmt: skip
    made = comparisons_from(verdicts, "abc", "abcd")
    authors: dict[str, str | None] = dict(zip(("q0", "q1", "q2", "q3"), "aabb", strict=True))
    alone = home_advantage(made, authors, rng=rng(), rounds=20)[0]
    twins = home_advantage(made, authors, same=[("a", "b"), ("d", "x")], rng=rng(), rounds=20)[0]
    # Third parties on a and b are c, which has a ahead at home, and d, which has b; on a and c b,
    # which has a ahead, and d. Away all have a last. With b for a twin, only d speaks on a and c.
    assert alone.value == pytest.approx(0.5)
    assert twins.value == pytest.approx(0.25)
    gone = home_advantage(made, authors, same=[("a", "d")], rng=rng(), rounds=20)[0]
    assert gone.value == pytest.approx(1.0)  # c and b alone


@pytest.mark.filterwarnings("ignore:Precision loss")  # SciPy's, where one side is all alike
@pytest.mark.parametrize("seed", range(8))
def test_few_questions_are_no_surer_than_students_t(seed: int) -> None:
    # Two questions of its own against six: drawn again they cannot leave what was seen of them.
    draw = rng(seed)
    verdicts = []
    for question in range(8):
        seen = draw.normal(size=4)
        for judge in "abcd":
            said = np.round(seen + 0.7 * draw.normal(size=4))
            for a, b in itertools.permutations(range(4), 2):
                winner = "tie" if said[a] == said[b] else "first" if said[a] > said[b] else "second"
                verdicts.append(Verdict(f"q{question}", judge, "abcd"[a], "abcd"[b], winner))  # type: ignore[arg-type]
    authors = {f"q{k}": "abcd"[k % 4] for k in range(8)}
    c = comparisons_from(verdicts, "abcd", "abcd")
    for k, one in enumerate(home_advantage(c, authors, rng=rng(), rounds=300)):
        rates = rates_by_third_parties(verdicts, "abcd"[k])
        own = [rates[q] for q in rates if authors[q] == "abcd"[k]]
        others = [rates[q] for q in rates if authors[q] != "abcd"[k]]
        # SciPy's t of two samples, one variance for both
        reference = ttest_ind(own, others)
        ends = reference.confidence_interval(0.95)
        assert one.value is not None
        assert one.value == pytest.approx(np.mean(own) - np.mean(others))
        assert one.low is not None
        assert one.high is not None
        assert one.p is not None
        # Student's quantile is an expansion, to 1 % with 6 degrees of freedom.
        assert one.low <= ends.low + 0.01 * (one.value - ends.low)
        assert one.high >= ends.high - 0.01 * (ends.high - one.value)
        assert (one.p < 0.05) == (not one.low <= 0 <= one.high)


def rates_by_third_parties(verdicts: list[Verdict], agent: str) -> dict[str, float]:
    """Mean win rate over opponents, by judges that wrote neither answer; orders that differ tie."""
    points: dict[str, list[float]] = {}
    of = {(v.question_id, v.judge, v.first, v.second): v.points_of_first for v in verdicts}
    for (question, judge, first, second), said in of.items():
        if first == agent and judge not in (first, second):
            back = 1 - (of[question, judge, second, first] or 0.0)
            points.setdefault(question, []).append(0.5 if said is None or said != back else said)
    return {question: float(np.mean(values)) for question, values in points.items()}
