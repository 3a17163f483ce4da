"""The whole proof, and the tables it draws by the hundred."""

import numpy as np
import pytest

from peerexam.examiners.simulated.spec import SimSpec
from peerexam.protocols.selftest.exam import run_simulated_exam
from peerexam.protocols.selftest.proof import PLAYERS, SelftestReport, selftest
from peerexam.protocols.selftest.tables import sample_comparisons

slow = pytest.mark.slow  # a hundred exams; each planted trait has its own test with its statistic


@pytest.fixture(scope="module")
def report() -> SelftestReport:
    return selftest(0)


@slow
def test_everything_planted_is_found_and_nothing_else(report: SelftestReport) -> None:
    assert [check.name for check in report.checks if not check.ok] == []
    assert report.ok


@slow
def test_found_lies_near_planted(report: SelftestReport) -> None:
    by_name = {check.name: check for check in report.checks}
    for name in (
        "self-preference of dan, by third parties",
        "home advantage of eve",
        "longer preference of cleo",
        "first preference of finn",
        "invalid rate of gus",
    ):
        check = by_name[name]
        assert check.found == pytest.approx(check.planted, abs=0.06), name


@slow
def test_the_proof_covers_what_it_must(report: SelftestReport) -> None:
    assert len(PLAYERS) == 8
    words = " ".join(check.name for check in report.checks)
    for part in ("order", "first-place", "self-preference", "home advantage", "100 exams"):
        assert part in words


async def test_the_same_seed_holds_the_same_exam() -> None:
    few = {name: PLAYERS[name] for name in ("ada", "dan", "gus")}
    once, again, other = [await run_simulated_exam(few, 2, seed, 20) for seed in (5, 5, 6)]
    assert once == again
    assert once != other


def test_tables_hold_every_judge_pair_and_order_once() -> None:
    table, authors = sample_comparisons(
        {"a": SimSpec(), "b": SimSpec(error_rate=1.0), "c": SimSpec()}, 6, np.random.default_rng(0)
    )
    rows = set(zip(table.question, table.judge, table.first, table.second, strict=True))
    assert len(rows) == len(table.points) == 6 * 3 * 6
    assert bool(np.isnan(table.points[table.judge == 1]).all())
    assert not bool(np.isnan(table.points[table.judge != 1]).any())
    assert authors == {f"q{k + 1}": "abc"[k % 3] for k in range(6)}


def test_tables_have_the_chances_that_were_planted() -> None:
    table, authors = sample_comparisons(
        {
            "a": SimSpec(noise=0, self_preference=0.3),
            "b": SimSpec(noise=0, home_advantage=0.2),
            "c": SimSpec(noise=0),
        },
        6000,
        np.random.default_rng(1),
    )
    by_b = np.array([authors[name] == "b" for name in table.questions])[table.question]
    a, b, c = 0, 1, 2

    def share(judge: int, first: int, second: int, at_home: bool) -> float:
        rows = (table.judge == judge) & (table.first == first) & (table.second == second)
        return float(table.points[rows & (by_b == at_home)].mean())

    assert share(a, a, c, at_home=False) == pytest.approx(0.8, abs=0.03)
    assert share(a, b, a, at_home=False) == pytest.approx(0.2, abs=0.03)
    assert share(c, b, a, at_home=True) == pytest.approx(0.7, abs=0.04)
    assert share(c, a, b, at_home=True) == pytest.approx(0.3, abs=0.04)
    assert share(b, a, c, at_home=True) == pytest.approx(0.5, abs=0.04)
