"""The voting coordinator, from records to the content of `standings.json`."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from peerexam.calls import Json
from peerexam.protocols.config.models import Fitness
from peerexam.protocols.standings.voting import (
    ExamInfo,
    JudgeInfo,
    TallySettings,
    tally,
)
from peerexam.records import Answer, Mark, Question, Ranking, Verdict, Winner
from peerexam.report.run.conclusion import basis, headline
from peerexam.stats.ranking.votes import METHODS, Method

PRD = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "prd_vicuna80"
QUICK = TallySettings(rounds=200)
Better = Callable[[str, str, str, str], float]
"""Chance that a judge finds the first-shown answer better: (question, judge, first, second)."""


@dataclass
class Run:
    """The records of a run."""

    agents: tuple[str, ...]
    judges: tuple[str, ...]
    questions: list[Question] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    rankings: list[Ranking] = field(default_factory=list)

    def count(
        self,
        settings: TallySettings = QUICK,
        *,
        exam: ExamInfo | None = None,
        judges: Mapping[str, JudgeInfo] | None = None,
        variants: Mapping[str, str] | None = None,
        same: Sequence[Sequence[str]] = (),
    ) -> dict[str, Json]:
        content = tally(
            exam=exam or ExamInfo("trial"),
            questions=self.questions,
            answers=iter(self.answers),
            marks=iter(self.marks),
            verdicts=iter(self.verdicts),
            rankings=iter(self.rankings),
            agents=self.agents,
            judges=judges or {name: JudgeInfo() for name in self.judges},
            settings=settings,
            variants=variants,
            same=same,
        )
        json.dumps(content, allow_nan=False)
        return content


def both_orders(question: str, judge: str, one: str, other: str, better: str) -> list[Verdict]:
    """A judge that names the same winner in both orders."""
    return [
        Verdict(question, judge, first, second, "first" if better == first else "second")
        for first, second in ((one, other), (other, one))
    ]


def planted(questions: int = 40, seed: int = 0, agents: str = "abcd", own: bool = True) -> Run:
    """Four agents that judge each other; a is best, d worst, as far as noise lets it show."""
    rng = np.random.default_rng(seed)
    run = Run(tuple(agents), tuple(agents))
    for number in range(questions):
        name = f"q{number:03d}"
        run.questions.append(Question(name, "?", "d", author=agents[number % len(agents)]))
        run.answers += [Answer(name, agent, "words " * (i + 1)) for i, agent in enumerate(agents)]
        for judge in agents:
            seen = {x: -0.8 * i + rng.normal() for i, x in enumerate(agents)}
            order = sorted((x for x in agents if x != judge), key=lambda x: -seen[x])
            run.rankings.append(Ranking(name, judge, tuple((x,) for x in order)))
            run.marks += [
                Mark(name, x, judge, {}, 5 if seen[x] > -1 else 3) for x in agents if x != judge
            ]
            for one, other in combinations(agents, 2):
                if own or judge not in (one, other):
                    better = max(one, other, key=lambda x: seen[x])
                    run.verdicts += both_orders(name, judge, one, other, better)
    return run


def ranks(content: Mapping[str, Json]) -> dict[str, int]:
    return {row["agent"]: row["rank"] for row in content["standings"]}


def places_of(content: Mapping[str, Json]) -> Json:
    """What own judgements must not move."""
    return [content[key] for key in ("standings", "win_rates", "full_marks", "home_advantage")]


def test_the_content_has_every_key_that_the_format_names() -> None:
    content = planted(8).count()
    assert set(content) == {
        *("schema", "exam", "protocol", "seed", "status", "status_reason", "standings", "voting"),
        *("judges", "win_rates", "full_marks", "home_advantage", "depth", "agreement", "counts"),
        *("benchmark", "same_model", "no_standings", "cut_answers"),
    }
    assert set(content["standings"][0]) == {
        *(
            "agent",
            "group",
            "rank",
            "rank_low",
            "rank_high",
            "tier",
            "score",
            "score_low",
            "score_high",
        ),
        *("full_mark", "avg", "avg_weight", "win_rate", "questions", "variant_of"),
    }
    assert set(content["judges"][0]) == {
        *("agent", "by", "stands_for", "fit", "why_unfit", "swap_consistency", "first_preference"),
        *(
            "longer_preference",
            "invalid_rate",
            "intervals",
            "attack_success",
            "self_preference",
            "peer_agreement",
            "circular_triads",
            "preference_cycles",
        ),
        *("order_contradictions", "verdicts", "marks"),
    }
    assert set(content["voting"]["by_method"]) == set(METHODS)
    assert {"method", "rounds", "confidence", "cluster_judges", "judges_counted"} <= set(
        content["voting"]
    )
    assert set(content["win_rates"]["per_judge"]["a"]) == {
        *("direct", "direct_counts", "implied", "implied_counts")
    }
    assert content["counts"]["verdicts"]["ok"] == 8 * 4 * 12


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_rule_recovers_a_planted_order(method: Method) -> None:
    content = planted(60).count(replace(QUICK, method=method))
    assert ranks(content) == {"a": 1, "b": 2, "c": 3, "d": 4}
    first = content["standings"][0]
    assert first["score_low"] <= first["score"] <= first["score_high"]
    assert content["standings"][-1]["tier"] > 1


def test_records_in_any_order_give_the_same_bytes() -> None:
    run = planted(12)
    rng = np.random.default_rng(1)

    def mixed(records: Sequence[Json]) -> list[Json]:
        return [records[i] for i in rng.permutation(len(records))]

    other = Run(
        run.agents,
        run.judges,
        mixed(run.questions),
        mixed(run.answers),
        mixed(run.marks),
        mixed(run.verdicts),
        mixed(run.rankings),
    )
    assert json.dumps(other.count()) == json.dumps(run.count())


def test_renaming_agents_changes_no_place() -> None:
    new = dict(zip("abcd", "zyxw", strict=True))
    run = planted(15)
    moved = Run(
        tuple("wxyz"),
        tuple("zyxw"),
        [replace(q, author=new[q.author or ""]) for q in run.questions],
        [replace(a, examinee=new[a.examinee]) for a in run.answers],
        [replace(m, examinee=new[m.examinee], judge=new[m.judge]) for m in run.marks],
        [
            replace(v, judge=new[v.judge], first=new[v.first], second=new[v.second])
            for v in run.verdicts
        ],
        [
            replace(r, judge=new[r.judge], order=tuple((new[x],) for (x,) in r.order))
            for r in run.rankings
        ],
    )
    before, after = run.count(), moved.count()
    assert [{**row, "agent": new[row["agent"]]} for row in before["standings"]] == after[
        "standings"
    ]


def test_what_judges_say_of_their_own_answers_moves_self_preference_only() -> None:
    fair, vain = planted(30), planted(30)
    vain.verdicts = [
        replace(v, winner="first" if v.first == v.judge else "second") if v.is_self_judgement else v
        for v in vain.verdicts
    ]
    vain.marks += [Mark(q.id, "d", "d", {}, 5) for q in vain.questions]
    vain.rankings = [
        replace(r, order=(("d",), *r.order)) if r.judge == "d" else r for r in vain.rankings
    ]
    one, other = fair.count(), vain.count()
    assert places_of(one) == places_of(other)
    own = {sheet["agent"]: sheet["self_preference"] for sheet in other["judges"]}
    assert own["d"]["win_rate"]["value"] > 0.5
    assert own["d"]["rank_bias"]["value"] < -1


def test_self_preference_is_null_where_nobody_was_asked() -> None:
    content = planted(5, own=False).count()
    assert [sheet["self_preference"] for sheet in content["judges"]] == [None] * 4


def test_a_preference_for_the_first_place_cannot_move_the_standings() -> None:
    # Verdicts alone: judge a names the first-shown answer whatever it is, which is a tie twice.
    run = planted(40, own=False)
    run.rankings = []
    run.verdicts = [replace(v, winner="first") if v.judge == "a" else v for v in run.verdicts]
    without = replace_judges(run, "bcd")
    assert ranks(run.count()) == ranks(without.count())
    sheet = run.count()["judges"][0]
    assert (sheet["swap_consistency"], sheet["first_preference"]) == (0.0, 1.0)
    direct = run.count()["win_rates"]["per_judge"]["a"]["direct"]
    assert {cell for row in direct for cell in row} == {None, 0.5}


def replace_judges(run: Run, judges: str) -> Run:
    return Run(run.agents, tuple(judges), run.questions, run.answers, run.marks, run.verdicts, [])


def test_judges_agree_as_far_as_their_verdicts_on_others_answers_do() -> None:
    # Each of four judges' three peers; a pair of others' answers is judged by one peer only, the
    # one that wrote neither: 3 pairs on 40 questions, each compared with one verdict.
    content = planted(40).count()
    other = planted(40, own=False).count()
    for sheet, without_own in zip(content["judges"], other["judges"], strict=True):
        found = sheet["peer_agreement"]
        assert found == without_own["peer_agreement"]
        assert (found["n"], found["compared"], found["left_out"]) == (120, 120, 0)
        assert found["low"] < found["value"] < found["high"]
        assert found["chance"] == 0.5  # nobody ties
        assert found["decided"]["value"] == found["value"]
    # Every comparison stands in two judges' sheets.
    agreeing = [sheet["peer_agreement"]["value"] * 120 for sheet in content["judges"]]
    assert round(sum(agreeing), 3) % 2 == 0


def test_a_judge_that_goes_by_places_agrees_with_ties_only() -> None:
    run = planted(30)
    run.verdicts = [replace(v, winner="first") if v.judge == "a" else v for v in run.verdicts]
    sheets = run.count()["judges"]
    assert [sheets[0]["peer_agreement"][key] for key in ("value", "chance")] == [0.0, 0.0]
    assert sheets[0]["peer_agreement"]["decided"]["value"] is None
    assert sheets[1]["peer_agreement"]["value"] > 0.3


def test_a_judge_without_peers_has_no_agreement_and_says_so() -> None:
    run = replace_judges(planted(5), "a")
    (only,) = run.count()["judges"]
    assert only["peer_agreement"]["value"] is None
    assert only["peer_agreement"]["reason"] == "there is no other judge"


def test_an_unfit_judge_loses_its_vote_and_is_listed_with_why() -> None:
    run = planted(20)
    run.verdicts = [replace(v, winner="first") if v.judge == "d" else v for v in run.verdicts]
    strict = replace(QUICK, fitness=Fitness(min_swap_consistency=0.6, max_first_preference=0.5))
    content = run.count(strict)
    assert content["voting"]["judges_counted"] == ["a", "b", "c"]
    (left_out,) = content["voting"]["judges_left_out"]
    assert left_out["agent"] == "d"
    assert content["judges"][3]["fit"] is False
    assert content["judges"][3]["why_unfit"] == [
        "swap consistency 0.00 is below 0.6",
        "preference for the first place 1.00 is above 0.5",
    ]
    alone = Run(
        run.agents,
        ("a", "b", "c"),
        run.questions,
        run.answers,
        run.marks,
        run.verdicts,
        run.rankings,
    ).count()
    assert content["standings"] == alone["standings"]


def test_a_judge_whose_replies_cannot_be_read_is_unfit_by_its_rate() -> None:
    run = planted(10)
    run.verdicts = [
        replace(v, winner=None, state="unparsed") if v.judge == "c" else v for v in run.verdicts
    ]
    run.marks = [
        replace(m, overall=None, state="unparsed") if m.judge == "c" else m for m in run.marks
    ]
    sheet = run.count(replace(QUICK, fitness=Fitness(max_invalid_rate=0.2)))["judges"][2]
    assert sheet["why_unfit"] == ["invalid rate 1.00 is above 0.2"]
    assert sheet["verdicts"] == {"planned": 120, "ok": 0}
    assert sheet["swap_consistency"] is None


def test_a_judge_that_gave_nothing_is_left_out() -> None:
    run = planted(6)
    content = run.count(judges={**{x: JudgeInfo() for x in "abcd"}, "lost": JudgeInfo()})
    assert content["voting"]["judges_left_out"] == [
        {"agent": "lost", "why": "gave no usable verdict, mark or ranking"}
    ]


def test_a_judge_whose_every_call_failed_is_left_out() -> None:
    run = planted(6)
    run.verdicts = [
        replace(v, winner=None, state="error") if v.judge == "c" else v for v in run.verdicts
    ]
    run.marks = [
        replace(m, overall=None, state="error") if m.judge == "c" else m for m in run.marks
    ]
    # As a run writes them: a ranking in which nobody could be placed.
    run.rankings = [
        replace(r, order=(), unranked=("a", "b", "d")) if r.judge == "c" else r
        for r in run.rankings
    ]
    voting = run.count(replace(QUICK, quorum=3))["voting"]
    assert [left["agent"] for left in voting["judges_left_out"]] == ["c"]
    assert (voting["quorum_met"], voting["judges_counted"]) == (True, ["a", "b", "d"])


def test_where_fit_judges_are_fewer_than_the_quorum_none_is_counted() -> None:
    content = planted(6).count(replace(QUICK, quorum=5))
    voting = content["voting"]
    assert (voting["quorum_met"], voting["judges_counted"]) == (False, [])
    assert voting["judges_left_out"] == []  # all four are fit
    assert content["standings"] == []
    assert {row["agent"] for row in voting["unplaced"]} == set("abcd")


def test_marks_are_the_ballots_where_no_verdict_could_be_read() -> None:
    run = planted(6)
    run.verdicts = [replace(v, winner=None, state="unparsed") for v in run.verdicts]
    run.rankings = [replace(r, order=(), unranked=("a", "b", "c", "d")) for r in run.rankings]
    content = run.count(QUICK)
    assert content["voting"]["ballots"] == "marks"
    assert len(content["standings"]) == 4


def test_too_few_judges_leave_the_quorum_unmet_and_no_standings() -> None:
    run = planted(10)
    hopeless = replace(QUICK, quorum=2, fitness=Fitness(max_first_preference=0.0))
    run.verdicts = [replace(v, winner="first") for v in run.verdicts]
    content = run.count(hopeless)
    voting = content["voting"]
    assert (voting["quorum"], voting["quorum_met"], voting["judges_counted"]) == (2, False, [])
    assert "no standings" in voting["note"]
    assert content["standings"] == []
    assert content["no_standings"].startswith("only 0 of the 2 judges that the exam asks for may")
    assert run.count(QUICK)["no_standings"] is None


def test_an_agent_whose_only_judge_is_itself_is_named_and_not_scored() -> None:
    # pub-23, last sentence.
    run = Run(("alpha", "beta"), ("alpha",), [Question("q", "?", "d")])
    run.marks = [Mark("q", "alpha", "alpha", {}, 5), Mark("q", "beta", "alpha", {}, 3)]
    run.verdicts = both_orders("q", "alpha", "alpha", "beta", "alpha")
    content = run.count()
    assert content["standings"] == []
    (alpha, beta) = content["voting"]["unplaced"]
    assert "only judge that counts is the agent itself" in alpha["why"]
    assert beta["agent"] == "beta"
    assert content["full_marks"]["percent"] == [[None], [0.0]]


def test_a_judge_by_likelihood_has_no_taste_for_places() -> None:
    run = planted(6)
    judges = {**{x: JudgeInfo() for x in "abc"}, "d": JudgeInfo(by="likelihood")}
    sheet = run.count(judges=judges)["judges"][3]
    assert (sheet["by"], sheet["swap_consistency"], sheet["first_preference"]) == (
        "likelihood",
        None,
        None,
    )
    assert "likelihood" in sheet["intervals"]["swap_consistency"]["reason"]
    assert sheet["invalid_rate"] == 0


def test_marks_alone_still_make_standings() -> None:
    run = planted(40)
    run.verdicts, run.rankings = [], []
    content = run.count()
    assert content["voting"]["ballots"] == "marks"
    assert ranks(content)["a"] == 1
    assert content["win_rates"]["direct"][0][1] is None
    assert {row["of"] for row in content["agreement"]} == {"marks"}


def test_a_run_without_records_has_no_standings_and_no_nan() -> None:
    content = Run(("a", "b"), ("a", "b")).count()
    assert content["standings"] == []
    assert content["counts"]["answers"]["planned"] == 0
    assert [row["agent"] for row in content["voting"]["unplaced"]] == ["a", "b"]
    assert content["voting"]["quorum_met"] is False


def test_a_missing_answer_is_neither_good_nor_bad_and_is_told() -> None:
    # pub-22: leaving d out of its hard questions must be said beside its score.
    run = planted(10)
    for number in range(5):
        name = f"q{number:03d}"
        run.rankings = [
            replace(r, order=tuple(g for g in r.order if g != ("d",)), unranked=("d",))
            if r.question_id == name
            else r
            for r in run.rankings
        ]
        run.verdicts = [
            replace(v, winner=None, state="error")
            if v.question_id == name and "d" in (v.first, v.second)
            else v
            for v in run.verdicts
        ]
    content = run.count()
    rows = {row["agent"]: row for row in content["standings"]}
    assert (rows["d"]["questions"], rows["a"]["questions"]) == (5, 10)
    assert "d (5)" in content["voting"]["note"]
    assert content["counts"]["rankings"]["incomplete"] == 5 * 4
    assert content["counts"]["verdicts"]["error"] > 0


def test_follow_ups_count_for_depth_alone() -> None:
    run = planted(12)
    before = run.count()
    for question in run.questions[:6]:
        name = question.id + "+"
        run.questions = [
            *run.questions,
            Question(name, "?", "d", author="b", round=2, parent_id=question.id, examinee="a"),
        ]
        run.answers.append(Answer(name, "a", "deeper"))
        run.marks += [Mark(name, "a", judge, {}, 5 if judge == "b" else 1) for judge in "bcd"]
    after = run.count()
    assert places_of(after) == places_of(before)
    (deeper,) = [row for row in after["depth"] if row["round"] == 2]
    assert (deeper["agent"], deeper["asked"], deeper["correct"]) == ("a", 6, 6)
    assert deeper["low"] < deeper["rate"] <= deeper["high"] == 1.0


def test_follow_ups_are_resampled_with_their_root_question() -> None:
    # The bootstrap draws root questions; here four questions hang on two roots.
    run = Run(("a", "b"), ("j",))
    for root in ("r1", "r2"):
        run.questions += [Question(root, "?", "d"), Question(root + "+", "?", "d", parent_id=root)]
        better = "a" if root == "r1" else "b"
        for name in (root, root + "+"):
            run.verdicts += both_orders(name, "j", "a", "b", better)
    row = run.count(TallySettings(rounds=400))["standings"][0]
    # By hand: of two roots, each draw is 0, ½ or 1; the interval reaches both ends.
    assert (row["score"], row["score_low"], row["score_high"]) == (0.5, 0.0, 1.0)


def test_variants_status_and_planned_counts_are_passed_through() -> None:
    exam = ExamInfo(
        "trial", "exam", 7, "partial", "budget reached", planned={"questions": 9, "answers": 99}
    )
    content = planted(4).count(exam=exam, variants={"b": "a"})
    assert (content["status"], content["status_reason"]) == ("partial", "budget reached")
    assert {row["agent"]: row["variant_of"] for row in content["standings"]}["b"] == "a"
    assert content["counts"]["questions"] == {"planned": 9, "ok": 4}
    assert content["counts"]["answers"]["planned"] == 99


def test_a_judge_of_the_same_model_is_no_third_party_and_is_named() -> None:
    run = planted(30, agents="abcde")
    alone, found = run.count(), run.count(same=[("a", "c"), ("e", "somebody else")])
    assert alone["same_model"] == []
    assert found["same_model"] == [["a", "c"]]
    everybody = {"count": 4, "left_out": []}
    twins = {"a": {"count": 3, "left_out": ["c"]}, "c": {"count": 3, "left_out": ["a"]}}
    for before, after in zip(alone["judges"], found["judges"], strict=True):
        one, other = before.pop("self_preference"), after.pop("self_preference")
        assert before == after
        assert one["win_rate"] == other["win_rate"]
        assert one["rank_bias"] == other["rank_bias"]
        assert one["third_party"]["value"] != other["third_party"]["value"]
        assert one["third_parties"] == everybody
        assert other["third_parties"] == twins.get(after["agent"], everybody)
    for before, after in zip(alone["home_advantage"], found["home_advantage"], strict=True):
        assert before["value"] != after["value"]
        assert after["third_parties"] == twins.get(after["agent"], everybody)
    same = ("standings", "voting", "win_rates", "full_marks", "agreement", "benchmark")
    assert [alone[key] for key in same] == [found[key] for key in same]


def test_without_a_third_party_of_another_model_nothing_is_estimated_and_it_says_why() -> None:
    found = planted(12, agents="abc").count(same=[("a", "b")])
    for judge in found["judges"]:
        own = judge["self_preference"]
        assert own["third_party"]["value"] is None
        assert "nor did another agent of its model" in own["third_party"]["reason"]
        assert own["third_parties"]["count"] == 0
        assert own["win_rate"]["value"] is not None
    for row in found["home_advantage"]:
        assert row["value"] is None
        assert "another agent of the same model is none" in row["reason"]


def test_drawing_judges_too_leaves_scores_and_finishes_without_nan() -> None:
    run = planted(15)
    pooled, both = run.count(), run.count(replace(QUICK, cluster_judges=True))
    assert [r["score"] for r in pooled["standings"]] == [r["score"] for r in both["standings"]]
    assert all(row["score_low"] is not None for row in both["standings"])


def peer_verdicts(rows: Iterable[Mapping[str, str]]) -> list[Verdict]:
    winners: dict[str, Winner] = {"1": "first", "2": "second", "3": "tie"}
    return [
        Verdict(row["question_id"], row["reviewer"], row["answer1"], row["answer2"], winner)
        for row in rows
        if (winner := winners.get(row["score"])) is not None
        # The repository holds one pair of files twice; its authors use those with underscores.
        and not row["file"].startswith("answer-")
    ]


@pytest.mark.shared
def test_real_peer_verdicts_give_the_published_order_without_rankings_or_marks() -> None:
    if not PRD.exists():
        pytest.skip("the shared data are not here")
    names = ("gpt4", "claude", "vicuna-13b", "gpt35", "bard")
    with (PRD / "ratings_compact.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["reviewer"] in names]
    run = Run(names, names, verdicts=peer_verdicts(rows))
    content = run.count(replace(QUICK, disagreement="average"))
    assert content["voting"]["ballots"] == "verdicts"
    assert [row["agent"] for row in content["standings"]][:2] == ["gpt4", "claude"]
    # data/README.md §8: verdict consistent after swapping.
    consistency = {s["agent"]: s["swap_consistency"] for s in content["judges"]}
    assert consistency["gpt4"] == pytest.approx(0.6887, abs=1e-4)
    assert consistency["bard"] == pytest.approx(0.3688, abs=1e-4)
    assert all(sheet["self_preference"] is not None for sheet in content["judges"])
    # §8: win rates with GPT-4 as the only reviewer. They include its verdicts on its own answers,
    # which would never count for a judge of that name, so the reviewer gets another one here.
    alone = tally(
        exam=ExamInfo("prd"),
        questions=[],
        answers=[],
        marks=[],
        verdicts=[replace(v, judge="reviewer") for v in run.verdicts if v.judge == "gpt4"],
        rankings=[],
        agents=names,
        judges={"reviewer": JudgeInfo()},
        settings=replace(QUICK, disagreement="average"),
    )
    rates = {row["agent"]: row["win_rate"] for row in alone["standings"]}
    assert rates == pytest.approx(
        {
            "gpt4": 0.85625,
            "claude": 0.70859375,
            "vicuna-13b": 0.3484375,
            "gpt35": 0.3421875,
            "bard": 0.24453125,
        },
        abs=1e-6,
    )


def fought(rows: Iterable[tuple[str, str]], judge: str = "people") -> Run:
    """Battles of (winner, loser), each on a question of its own and in one order."""
    run = Run((), (judge,))
    for number, (winner, loser) in enumerate(rows):
        name = f"q{number:04d}"
        run.questions.append(Question(name, "?", "d"))
        run.verdicts.append(Verdict(name, judge, winner, loser, "first"))
    agents = sorted({name for verdict in run.verdicts for name in (verdict.first, verdict.second)})
    run.agents = tuple(agents)
    return run


ONE_ORDER = {"people": JudgeInfo(one_order=True)}


def row_of(content: Mapping[str, Json], agent: str) -> dict[str, Json]:
    return next(dict(row) for row in content["standings"] if row["agent"] == agent)


def by(method: Method) -> TallySettings:
    return replace(QUICK, method=method)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_groups_that_never_met_are_not_ordered(method: Method) -> None:
    # 200 questions, each with a battle A-B (A wins 90 %) and a battle C-D (C wins 60 %).
    run = Run(tuple("ABCD"), ("people",))
    for number in range(200):
        name = f"q{number:03d}"
        run.questions.append(Question(name, "?", "d"))
        for one, other, wins in (("A", "B", number % 10 < 9), ("C", "D", number % 5 < 3)):
            winner: Winner = "first" if wins else "second"
            run.verdicts.append(Verdict(name, "people", one, other, winner))
    content = run.count(by(method), judges=ONE_ORDER)
    assert content["voting"]["groups"] == [["A", "B"], ["C", "D"]]
    assert "No verdict compares group 1 (A, B); group 2 (C, D)" in content["voting"]["note"]
    found = {row["agent"]: (row["group"], row["rank"]) for row in content["standings"]}
    assert found == {"A": (1, 1), "B": (1, 2), "C": (2, 1), "D": (2, 2)}
    # A share of wins of its own group, whatever the other group is like: 0.9 and 0.6 by hand.
    assert row_of(content, "A")["rank_high"] == 1
    if method == "borda":
        assert [row_of(content, name)["score"] for name in "AC"] == [0.9, 0.6]
    if method == "schulze":
        assert [row_of(content, name)["score"] for name in "AC"] == [1, 1]
    for rows in content["voting"]["by_method"].values():
        assert sorted((row["group"], row["rank"]) for row in rows) == sorted(found.values())
    said = headline(content)
    assert said.startswith("2 groups never met, so there is no order between them. Group 1: A is a")
    assert "From best to worst" not in said


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_newcomer_with_one_battle_is_first_with_no_certainty(method: Method) -> None:
    rows = [("A", "B")] * 40 + [("B", "A")] * 20 + [("New", "B")]
    content = fought(rows).count(by(method), judges=ONE_ORDER)
    new = row_of(content, "New")
    assert (new["rank_low"], new["rank_high"]) == (1, 3)
    # Clopper and Pearson: 1 of 1 leaves 0.025 at 95 %, of the score that the rule gives.
    assert new["score_low"] == pytest.approx(0.025 * new["score"], abs=1e-6)
    assert new["score_high"] == pytest.approx(1 - 0.025 * (1 - new["score"]), abs=1e-6)


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("questions", [1, 5, 20])
def test_questions_that_all_agree_get_the_exact_bound(method: Method, questions: int) -> None:
    content = fought([("A", "B")] * questions).count(by(method), judges=ONE_ORDER)
    left = 0.025 ** (1 / questions)  # Clopper and Pearson (1934), n of n: (α/2)^(1/n)
    for name in "AB":
        row = row_of(content, name)
        assert row["score_low"] == pytest.approx(row["score"] * left, abs=1e-6)
        assert row["score_high"] == pytest.approx(1 - (1 - row["score"]) * left, abs=1e-6)
    # Two tiers where a two-sided sign test says so: 2 · ½ⁿ ≤ 0.05, from 6 questions on.
    assert {row["tier"] for row in content["standings"]} == ({1, 2} if questions > 5 else {1})


@pytest.mark.parametrize("method", sorted(METHODS))
def test_an_exam_that_is_all_ties_is_not_sure_of_it(method: Method) -> None:
    run = Run(tuple("abc"), ("j",))
    for number in range(10):
        run.questions.append(Question(f"q{number}", "?", "d"))
        run.rankings.append(Ranking(f"q{number}", "j", (("a", "b", "c"),)))
    left = 0.025 ** (1 / 10)
    for row in run.count(by(method))["standings"]:
        assert row["score"] == 0.5
        assert row["score_low"] == pytest.approx(0.5 * left, abs=1e-6)
        assert row["score_high"] == pytest.approx(1 - 0.5 * left, abs=1e-6)
        assert (row["rank_low"], row["rank_high"], row["tier"]) == (1, 3, 1)


def test_the_count_of_questions_is_that_of_all_ballots() -> None:
    # 30 battles of 7 agents: nobody has more than nine of them.
    pairs = list(combinations("abcdefg", 2))
    run = fought([pairs[number % len(pairs)] for number in range(30)])
    content = run.count(judges=ONE_ORDER)
    assert max(row["questions"] for row in content["standings"]) < 30
    assert content["voting"]["questions"] == 30
    assert " on 30 questions (" in basis(content)


def test_ratings_that_are_not_finite_are_named() -> None:
    rows = [("A", "B")] * 30 + [("B", "C")] * 10 + [("C", "B")] * 10
    note = fought(rows).count(by("bradley_terry"), judges=ONE_ORDER)["voting"]["note"]
    assert "no finite ratings for A, B, C" in note
    back = fought([*rows, ("B", "A")]).count(by("bradley_terry"), judges=ONE_ORDER)
    assert "no finite ratings" not in str(back["voting"]["note"])


def test_a_pair_that_only_its_own_authors_judged_is_named() -> None:
    # a and b each rank the others; nobody but c wrote neither of their answers.
    run = planted(12, agents="abc")
    assert run.count()["voting"]["uncompared"] == []
    two = replace_judges(run, "ab")
    two.rankings = [one for one in run.rankings if one.judge in "ab"]
    content = two.count()
    assert content["voting"]["uncompared"] == [["a", "b"]]
    assert {row["agent"] for row in content["standings"]} == set("abc")


def test_an_unfit_judge_leaves_a_pair_uncompared_after_the_fact() -> None:
    run = planted(20, agents="abc")
    run.verdicts = [replace(v, winner="first") if v.judge == "c" else v for v in run.verdicts]
    content = run.count(
        replace(QUICK, fitness=Fitness(min_swap_consistency=0.6, max_first_preference=0.5))
    )
    assert content["voting"]["judges_counted"] == ["a", "b"]
    assert content["voting"]["uncompared"] == [["a", "b"]]
