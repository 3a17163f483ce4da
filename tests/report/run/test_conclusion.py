from __future__ import annotations

from typing import Any

import pytest

from peerexam.report.run.conclusion import basis, cautions, headline, tiers
from peerexam.report.run.standings import standing_rows


def row(agent: str, rank: int, tier: int, low: int, high: int, **more: Any) -> dict[str, Any]:
    return {"agent": agent, "rank": rank, "tier": tier, "rank_low": low, "rank_high": high,
            "questions": 40, **more}  # fmt: skip


def test_one_ahead_of_two_that_are_level() -> None:
    standings = {"standings": [row("A", 1, 1, 1, 1), row("B", 2, 2, 2, 3), row("C", 3, 2, 2, 3)]}
    assert (
        headline(standings) == "A is ahead of B and C; no significant difference between B and C."
    )


def test_two_that_are_level_ahead_of_one() -> None:
    standings = {"standings": [row("A", 1, 1, 1, 2), row("B", 2, 1, 1, 2), row("C", 3, 2, 3, 3)]}
    assert (
        headline(standings) == "A and B are ahead of C; no significant difference between A and B."
    )


def test_nobody_told_apart_says_that_nothing_is_shown() -> None:
    standings = {"standings": [row("A", 1, 1, 1, 2), row("B", 2, 1, 1, 2)]}
    assert headline(standings) == ("There is no significant difference between A and B.")


def test_a_chain_in_one_tier_is_not_called_level() -> None:
    # A is surely better than C, but neither is distinguishable from B: ranks 1-2, 1-3, 2-3.
    chain = [row("A", 1, 1, 1, 2), row("B", 2, 1, 1, 3), row("C", 3, 1, 2, 3)]
    assert not tiers({"standings": chain})[0].is_level
    assert "partly distinguishable" in headline({"standings": chain})


def test_three_tiers_read_from_best_to_worst() -> None:
    standings = {"standings": [row("C", 3, 3, 3, 3), row("A", 1, 1, 1, 1), row("B", 2, 2, 2, 2)]}
    assert headline(standings) == "From best to worst: A; then B; then C."


def test_one_agent_has_nobody_to_be_compared_with() -> None:
    assert "alone" in headline({"standings": [row("A", 1, 1, 1, 1)]})


def test_no_standings_conclude_nothing() -> None:
    assert headline({}) == "There are no standings, so nothing may be concluded."
    assert basis({}) == "No judge counted."


def test_an_unmet_quorum_beats_any_order() -> None:
    standings = {
        "standings": [row("A", 1, 1, 1, 1), row("B", 2, 2, 2, 2)],
        "voting": {"judges_counted": ["A"], "quorum": 3, "quorum_met": False},
    }
    assert headline(standings) == (
        "Nothing may be concluded: 1 judge counted, and the exam asks for at least 3."
    )


def test_the_basis_names_judges_questions_rule_and_confidence() -> None:
    standings = {
        "standings": [row("A", 1, 1, 1, 1)],
        "voting": {"judges_counted": ["A", "B"], "method": "bradley_terry", "confidence": 0.9},
    }
    text = basis(standings)
    assert text.startswith("By the votes of A and B on 40 questions (Bradley–Terry, 90 % interv")


@pytest.mark.parametrize(
    ("standings", "word"),
    [
        ({"judges": [{"agent": "J", "by": "likelihood"}]}, "Judges by likelihood (J)"),
        ({"judges": [{"agent": "J", "fit": False}]}, "J is unfit to judge: votes excluded"),
        (
            {"judges": [{"agent": "J", "fit": False}], "voting": {"judges_counted": ["J", "K"]}},
            "J is unfit to judge: votes counted anyway",
        ),
        (
            {"judges": [{"agent": "J", "fit": False}], "voting": {"quorum_met": False}},
            "J is unfit to judge: votes excluded",
        ),
        ({"voting": {"judges_counted": ["J"]}}, "Only J counted as a judge"),
        ({"voting": {"note": "These are no standings."}}, "These are no standings."),
        ({"voting": {"unplaced": [{"agent": "A", "why": "no ballot"}]}}, "A is unranked: no ballo"),
        ({"standings": [row("A", 1, 1, 1, 1, variant_of="B")]}, "A is a variant of B"),
    ],
)
def test_cautions_name_what_the_standings_hang_on(standings: dict[str, Any], word: str) -> None:
    assert any(word in text for text in cautions(standings))


def test_an_exam_with_nothing_odd_has_no_cautions() -> None:
    judges = [{"agent": name, "by": "prompt", "fit": True} for name in "JK"]
    assert cautions({"judges": judges, "voting": {"judges_counted": ["J", "K"]}}) == []


def test_a_pair_that_nobody_compared_is_named_first_of_all() -> None:
    standings = {
        "standings": [row("A", 1, 1, 1, 1), row("B", 2, 2, 2, 2), row("C", 3, 3, 3, 3)],
        "voting": {"judges_counted": ["A", "B"], "uncompared": [["A", "B"]]},
    }
    assert headline(standings).endswith("A and B were never compared with each other.")
    assert "is not based on a direct comparison" in cautions(standings)[0]
    assert [one.rank for one in standing_rows(standings)] == ["1*", "2*", "3"]


def test_of_many_pairs_that_nobody_compared_the_number_is_said() -> None:
    pairs = [["A", name] for name in "BCDEF"]
    standings = {
        "standings": [row("A", 1, 1, 1, 2), row("B", 2, 1, 1, 2)],
        "voting": {"uncompared": pairs},
    }
    assert "5 pairs of agents were never compared" in headline(standings)
    assert "2 more pairs" in cautions(standings)[0]
