"""Very many judges: the same standings as by name, and nothing that grows with their pairs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.calls import Json
from peerexam.cli import main
from peerexam.protocols.standings.judge_pools import MOST_JUDGES
from peerexam.protocols.standings.voting import ExamInfo, JudgeInfo, TallySettings, tally
from peerexam.records import Mark, Verdict, Winner
from peerexam.runfolder import RunFolder

AGENTS = ("a", "b", "c")


def count(
    verdicts: list[Verdict], one_order: bool, most: int | None, marks: tuple[Mark, ...] = ()
) -> dict[str, Any]:
    judges = sorted({one.judge for one in verdicts} | {one.judge for one in marks})
    return tally(
        exam=ExamInfo("arena", "import"),
        questions=(),
        answers=(),
        marks=marks,
        verdicts=verdicts,
        rankings=(),
        agents=AGENTS,
        judges={name: JudgeInfo(one_order=one_order) for name in judges},
        settings=TallySettings(rounds=50, most_judges=most),
    )


VOTES = st.lists(
    st.tuples(
        st.sampled_from(("q1", "q2", "q3", "q4")),
        st.sampled_from(("u", "v", "w", "x")),
        st.permutations(AGENTS).map(lambda names: names[:2]),
        st.sampled_from(("first", "second", "tie", None)),
    ),
    min_size=1,
    max_size=30,
    unique_by=lambda vote: (vote[0], vote[1], *vote[2]),
)


def verdicts_of(votes: list[tuple[str, str, list[str], Winner | None]]) -> list[Verdict]:
    return [
        Verdict(question, judge, pair[0], pair[1], winner, state="ok" if winner else "unparsed")
        for question, judge, pair, winner in votes
    ]


def of_agents(content: dict[str, Any]) -> list[Json]:
    kept = ("standings", "counts", "home_advantage", "depth")
    voting = ("by_method", "pairs_without_result", "quorum_met", "ballots")
    return [*(content[key] for key in kept), *(content["voting"][key] for key in voting)]


@given(VOTES, st.booleans())
def test_pooled_judges_give_the_standings_that_they_give_by_name(
    votes: list[tuple[str, str, list[str], Winner | None]], one_order: bool
) -> None:
    verdicts = verdicts_of(votes)
    named, pooled = (count(verdicts, one_order, most) for most in (None, 0))
    assert of_agents(pooled) == of_agents(named)
    assert pooled["win_rates"]["direct_counts"] == named["win_rates"]["direct_counts"]
    (sheet,) = pooled["judges"]
    assert sheet["stands_for"] == len(named["judges"])
    for key in ("circular_triads", "order_contradictions", "verdicts", "marks"):
        for part in sheet[key]:  # of each voter's own, added up
            assert sheet[key][part] == sum(judge[key][part] for judge in named["judges"])
    agreed = sum(judge["peer_agreement"]["compared"] for judge in named["judges"])
    assert sheet["peer_agreement"]["compared"] == agreed


def test_a_pool_s_measures_are_over_all_verdicts_of_its_voters() -> None:
    # By hand: of u's and v's pairs in both orders one of two is decided alike; u and v agree on
    # q1 as far as both have a result: u says a, v's orders disagree, which is a tie.
    verdicts = [
        Verdict("q1", "u", "a", "b", "first"),
        Verdict("q1", "u", "b", "a", "second"),
        Verdict("q1", "v", "a", "b", "first"),
        Verdict("q1", "v", "b", "a", "first"),
        Verdict("q2", "v", "b", "c", None, state="unparsed"),
    ]
    content = count(verdicts, one_order=False, most=1)
    (sheet,) = content["judges"]
    assert (sheet["agent"], sheet["stands_for"]) == ("2 judges", 2)
    assert (sheet["swap_consistency"], sheet["intervals"]["swap_consistency"]["n"]) == (0.5, 2)
    assert sheet["invalid_rate"] == pytest.approx(1 / 5)
    assert sheet["first_preference"] == pytest.approx((3 - 1) / 4)
    assert (sheet["peer_agreement"]["value"], sheet["peer_agreement"]["compared"]) == (0.0, 2)
    assert content["voting"]["judges_counted"] == ["2 judges"]
    assert content["agreement"] == []


def test_judges_that_answer_too_and_those_of_both_orders_stay_apart() -> None:
    verdicts = [
        *(Verdict("q1", "a", *pair, "tie") for pair in (("b", "c"), ("c", "b"))),
        *(Verdict(f"q{n}", f"u{n}", "a", "b", "first") for n in range(3)),
        *(Verdict("q9", "both", *pair, "tie") for pair in (("b", "c"), ("c", "b"))),
    ]
    judges = {f"u{n}": JudgeInfo(one_order=True) for n in range(3)}
    content = tally(
        exam=ExamInfo("arena", "import"),
        questions=(),
        answers=(),
        marks=(),
        verdicts=verdicts,
        rankings=(),
        agents=AGENTS,
        judges={"a": JudgeInfo(), "both": JudgeInfo(), **judges},
        settings=TallySettings(rounds=20, most_judges=2),
    )
    rows = [(sheet["agent"], sheet["stands_for"]) for sheet in content["judges"]]
    assert rows == [("a", 1), ("1 judge of both orders", 1), ("3 judges of one order", 3)]


def test_raters_of_answers_are_pooled_too() -> None:
    marks = tuple(Mark("q1", agent, f"u{n}", {}, 5 - n) for n in range(3) for agent in "ab")
    content = count([], one_order=False, most=2, marks=marks)
    assert content["full_marks"]["judges"] == ["3 judges"]
    assert content["full_marks"]["counts"] == [[3], [3], [0]]
    assert content["full_marks"]["percent"][0][0] == pytest.approx(100 / 3)
    cell = content["benchmark"]["single"]["all"][0]
    assert cell["n"] == 1  # one answer of a, whoever marked it
    assert content["standings"] == count([], one_order=False, most=None, marks=marks)["standings"]


def arena(path: Path, battles: int, voters: int) -> Path:
    """In Chatbot Arena's layout."""
    random = Random(0)
    with path.open("w") as file:
        for number in range(battles):
            one, other = random.sample([f"model-{n}" for n in range(20)], 2)
            row = {
                "question_id": f"q{number}",
                "model_a": one,
                "model_b": other,
                "winner": random.choice(("model_a", "model_b", "tie", "tie (bothbad)")),
                "judge": f"arena_user_{number % voters}",
                "turn": 1 + number % 3,
                "language": "English",
            }
            file.write(json.dumps(row) + "\n")
    return path


@pytest.mark.parametrize(("battles", "voters"), [(2000, 400), (8000, 4000)])
def test_an_arena_is_counted_by_its_battles_and_not_by_pairs_of_voters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], battles: int, voters: int
) -> None:
    # By pairs of voters the second would take hours: 8 million of them.
    run = tmp_path / "run"
    source = arena(tmp_path / "b.jsonl", battles, voters)
    assert main(["import", "arena-rank", str(source), "--out", str(run)]) == 0
    said = capsys.readouterr().out
    assert f"{battles} verdicts" in said
    assert f"{voters:,} judges" in said
    assert main(["report", str(run)]) == 0
    page = (run / "report.html").read_text()
    page = re.sub('<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    shown = capsys.readouterr().out + page  # without single questions, each with its judge
    assert f"{voters:,} judges" in shown
    assert "arena_user" not in said + shown + (run / "standings.json").read_text()
    standings = RunFolder(run).read_standings()
    assert [sheet["stands_for"] for sheet in standings["judges"]] == [voters]
    assert standings["counts"]["verdicts"]["ok"] == battles
    out = tmp_path / "out"
    assert main(["export", str(run), "--to", "arena-rank", "--out", str(out), "--no-parquet"]) == 0
    with (out / "battles.jsonl").open() as file:  # every vote, under its voter's name
        assert len({json.loads(line)["judge"] for line in file}) == voters


def exported(tmp_path: Path, rows: list[tuple[str, str, str, str, str]]) -> tuple[Any, Any, int]:
    """Standings, ratings and number of battles of rows: question, model a, model b, judge, winner.

    They are imported, reported and exported.
    """
    heads = ("question_id", "model_a", "model_b", "judge", "winner")
    source, run, out = tmp_path / "b.jsonl", tmp_path / "run", tmp_path / "out"
    source.write_text("".join(json.dumps(dict(zip(heads, r, strict=True))) + "\n" for r in rows))
    assert main(["import", "arena-rank", str(source), "--out", str(run)]) == 0
    assert main(["report", str(run)]) == 0
    assert main(["export", str(run), "--to", "arena-rank", "--out", str(out), "--no-parquet"]) == 0
    battles = (out / "battles.jsonl").read_text().splitlines()
    ratings = json.loads((out / "ratings.json").read_text())
    return RunFolder(run).read_standings(), ratings, len(battles)


def test_a_single_voter_among_many_judges_that_answer_is_exported(tmp_path: Path) -> None:
    # Everyone stands for one judge, and one under another name than its own.
    agents = [f"m{n}" for n in range(MOST_JUDGES + 1)]
    turned = agents[1:] + agents[:1]
    further = turned[1:] + turned[:1]
    rows = [
        (f"q{one}", two, three, one, "model_a")
        for one, two, three in zip(agents, turned, further, strict=True)
    ]
    rows += [(f"v{number}", "m0", "m1", "voter", "tie") for number in range(7)]
    standings, ratings, battles = exported(tmp_path, rows)
    assert standings["judges"][-1]["agent"] == "1 judge"
    assert battles == standings["counts"]["verdicts"]["ok"] == MOST_JUDGES + 1 + 7
    assert set(ratings["judges"]) == {*agents, "voter"}


def test_voters_that_gave_nothing_are_not_among_those_that_an_export_rests_on(
    tmp_path: Path,
) -> None:
    heard = [(f"q{n}", "a", "b", f"u{n}", "model_a") for n in range(MOST_JUDGES)]
    orders = (("a", "b"), ("b", "a"))
    silent = [(f"x{n}", *pair, f"z{n}", "?") for n in range(3) for pair in orders]
    standings, ratings, battles = exported(tmp_path, heard + silent)
    (left_out,) = standings["voting"]["judges_left_out"]
    assert left_out["agent"] == "3 judges of both orders"
    assert battles == MOST_JUDGES
    assert set(ratings["judges"]) == {f"u{n}" for n in range(MOST_JUDGES)}


def test_as_many_judges_as_the_limit_keep_their_names(tmp_path: Path) -> None:
    run = tmp_path / "run"
    source = arena(tmp_path / "b.jsonl", 600, MOST_JUDGES)
    main(["import", "arena-rank", str(source), "--out", str(run)])
    main(["report", str(run)])
    judges = RunFolder(run).read_standings()["judges"]
    assert {judge["agent"] for judge in judges} == {f"arena_user_{n}" for n in range(MOST_JUDGES)}
