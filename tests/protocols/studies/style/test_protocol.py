"""Judges with a known taste for a style: what is planted is what must be found."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from peerexam import FunctionAgent
from peerexam.errors import SetupError
from peerexam.protocols.config.models import AgentConfig
from peerexam.protocols.studies.style.protocol import Sample, draw_samples
from peerexam.protocols.studies.style.study import StyleCast, StyleResult, study_style, style_cast
from peerexam.records import Answer, Question
from peerexam.report.style import conclusion, style_page, style_text
from peerexam.runfolder import RunFolder, read_jsonl

Chat = list[dict[str, str]]

FENCED = re.compile(r"\[\[begin [^\]]*\]\]\n(.*?)\n\[\[end ", re.S)
ELOQUENT = "Verily, "


def write_run(path: Path, n: int, examinees: tuple[str, ...] = ("ann", "bob")) -> RunFolder:
    folder = RunFolder(path)
    with folder.writer("questions") as questions, folder.writer("answers") as answers:
        for i in range(n):
            questions.emit(Question(f"q{i}", f"What is {i}?", "numbers"))
            for name in examinees:
                answers.emit(Answer(f"q{i}", name, f"It is the number {i}, says {name}."))
    return folder


def parts(messages: Chat) -> list[str]:
    return FENCED.findall(messages[0]["content"])


class Players:
    """Function agents by name; `asked` counts their calls."""

    def __init__(self) -> None:
        self.asked = 0

    def agents(self, *judges: str) -> dict[str, FunctionAgent]:
        play = {"writer": self._rewrite, "checker": self._check}
        tastes = {
            "eloquent": lambda one, two: "1" if one.startswith(ELOQUENT) else "2",
            "plain": lambda one, two: "2" if one.startswith(ELOQUENT) else "1",
            "first": lambda one, two: "1",
        }
        for name in judges:
            play[name] = self._judge(tastes[name])
        return {name: FunctionAgent(name, fn) for name, fn in play.items()}

    async def _rewrite(self, messages: Chat) -> str:
        self.asked += 1
        text, *others = parts(messages)
        if others:
            return "Verdict: Tie"  # as a judge, the writer does not mind
        if "number 3," in text:
            return text
        if "number 4," in text:
            return text * 5
        return ELOQUENT + text

    async def _check(self, messages: Chat) -> str:
        self.asked += 1
        _, rewritten = parts(messages)
        if "number 5," in rewritten:
            return "Kept: no"
        return "I could not say." if "number 6," in rewritten else "Kept: yes"

    def _judge(self, taste: Any) -> Any:
        async def judge(messages: Chat) -> str:
            self.asked += 1
            _, one, two = parts(messages)
            return f"Verdict: Response {taste(one, two)}"

        return judge


def configs(*names: str) -> list[AgentConfig]:
    return [AgentConfig(name=name, model=f"file/{name}.jsonl") for name in names]


async def probe(
    samples: list[Sample],
    out: Path,
    judges: tuple[str, ...],
    players: Players | None = None,
    extra: tuple[AgentConfig, ...] = (),
) -> StyleResult:
    players = players or Players()
    asked = [name for name in judges if name != "writer"]
    given = players.agents(*asked)
    cast = style_cast(
        [*configs("writer", "checker", *asked), *extra],
        "writer",
        "checker",
        [*judges, *(one.name for one in extra)],
    )
    return await study_style(samples, cast, out, agents=given)


async def test_planted_tastes_and_reasons_by_hand(tmp_path: Path) -> None:
    samples = draw_samples(write_run(tmp_path / "run", 30, ("ann",)), 30)
    found = await probe(samples, tmp_path / "out", ("eloquent", "plain", "first", "writer"))
    body = found.body
    assert found.is_complete
    # Numbers 3 to 6 are dropped, each for its own reason; 26 answers are left.
    assert body["samples"] == {
        "drawn": 30,
        "kept": 26,
        "dropped": {
            "check: unparsed": 1,
            "content not kept": 1,
            "length too different": 1,
            "unchanged": 1,
        },
    }
    rows = {one["judge"]: one for one in body["judges"]}
    shares = {name: one["preference"]["value"] for name, one in rows.items()}
    assert shares == {"eloquent": 1.0, "plain": 0.0, "first": 0.5, "writer": 0.5}
    assert body["pooled"]["value"] == 0.5
    assert body["pooled_without_rewriter"]["value"] == 0.5
    assert body["pooled_without_rewriter"]["n"] == 26
    assert [rows[name]["swap_consistency"]["value"] for name in shares] == [1.0, 1.0, 0.0, 1.0]
    assert [rows[name]["first_preference"]["value"] for name in shares] == [0.0, 0.0, 1.0, 0.0]
    # The rewritten texts are the longer ones, so a taste for them is one for length.
    assert rows["eloquent"]["longer_preference"]["value"] == 1.0
    assert [rows[name]["is_rewriter"] for name in shares] == [False, False, False, True]
    most = len(ELOQUENT + "It is the number 1, says ann.") / len("It is the number 1, says ann.")
    assert body["length_ratio"]["most"] == pytest.approx(most, abs=1e-5)
    assert "eloquent prefers the rewritten texts; plain prefers the original" in conclusion(body)


async def test_a_simulated_taste_for_the_longer_text_is_recovered(tmp_path: Path) -> None:
    samples = draw_samples(write_run(tmp_path / "run", 150, ("ann", "bob")), 300)
    planted = AgentConfig(name="sim", model="sim/judge", options={"longer_preference": 0.4})
    fair = AgentConfig(name="fair", model="sim/fair")
    found = await probe(samples, tmp_path / "out", (), extra=(planted, fair))
    taste, none = (one["preference"] for one in found.body["judges"])
    # ½ + 0.4 ÷ 2 = 0.7 for every rewritten text, all of which are longer.
    assert taste["low"] <= 0.7 <= taste["high"]
    assert none["low"] <= 0.5 <= none["high"]
    assert found.body["pooled"]["low"] <= 0.6 <= found.body["pooled"]["high"]
    assert found.body["pooled"]["n"] == 146  # questions, each with two answers


async def test_the_records_hold_every_text_and_every_verdict(tmp_path: Path) -> None:
    samples = draw_samples(write_run(tmp_path / "run", 7, ("ann",)), 7)
    await probe(samples, tmp_path / "out", ("eloquent",))
    rewrites = [row for _, row in read_jsonl(tmp_path / "out" / "rewrites.jsonl")]
    verdicts = [row for _, row in read_jsonl(tmp_path / "out" / "verdicts.jsonl")]
    assert len(rewrites) == 7
    assert {row["dropped"] for row in rewrites if not row["kept"]} == {
        "check: unparsed",
        "content not kept",
        "length too different",
        "unchanged",
    }
    assert all(row["rewritten"] for row in rewrites)
    assert [(row["first"], row["winner"]) for row in verdicts] == [
        ("original", "rewritten"),
        ("rewritten", "rewritten"),
    ] * 3
    assert all(row["call"] for row in verdicts)


async def test_the_second_time_nothing_is_asked_and_nothing_changes(tmp_path: Path) -> None:
    samples = draw_samples(write_run(tmp_path / "run", 8), 12, seed=3)
    out = tmp_path / "out"
    kept, asked = [], []
    for _ in range(2):
        players = Players()
        await probe(samples, out, ("eloquent", "first"), players)
        kept.append({p.name: p.read_bytes() for p in out.glob("*.json*")})
        asked.append(players.asked > 0)
    assert asked == [True, False]
    assert kept[0] == kept[1]
    assert set(kept[0]) == {"style.json", "rewrites.jsonl", "verdicts.jsonl"}


async def test_failed_calls_leave_a_partial_result(tmp_path: Path) -> None:
    async def broken(_: Chat) -> str:
        raise ValueError("no")

    samples = draw_samples(write_run(tmp_path / "run", 2, ("ann",)), 2)
    given = Players().agents("eloquent") | {"writer": FunctionAgent("writer", broken)}
    cast = style_cast(configs("writer", "checker", "eloquent"), "writer", "checker", ["eloquent"])
    found = await study_style(samples, cast, tmp_path / "out", agents=given)
    assert not found.is_complete
    assert found.body["status"] == "partial"
    assert found.body["samples"]["dropped"] == {"rewriting: error": 2}
    assert found.body["pooled"]["value"] is None
    assert "No preference is known" in conclusion(found.body)


async def test_the_page_shows_names_as_text_and_runs_nothing(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>"
    samples = draw_samples(write_run(tmp_path / "run", 3, ("ann",)), 3)
    evil = AgentConfig(name=name, model="sim/x")
    found = await probe(samples, tmp_path / "out", ("eloquent",), extra=(evil,))
    page = style_page(found.body).decode()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/scri" in page
    assert "default-src &#39;none&#39;" in page
    assert style_page(found.body) == style_page(json.loads(json.dumps(found.body)))
    assert "all judges" in style_text(found.body)


def test_a_larger_draw_holds_the_smaller_and_only_usable_answers_are_drawn(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 20)
    with folder.writer("answers") as answers:
        for i in range(20):
            answers.emit(Answer(f"q{i}", "ann", f"It is {i}."))
            answers.emit(Answer(f"q{i}", "bob", "", "empty"))
    few, more = (draw_samples(folder, n, seed=4) for n in (5, 12))
    assert more[:5] == few
    assert {one.answer.examinee for one in draw_samples(folder, 99)} == {"ann"}
    assert draw_samples(folder, 5, seed=5) != few
    with pytest.raises(SetupError, match="'bob' answered nothing"):
        draw_samples(folder, 5, of="bob")
    with pytest.raises(SetupError, match="--samples"):
        draw_samples(folder, 0)


def test_answers_to_follow_ups_belong_to_the_first_question(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    with folder.writer("questions") as questions, folder.writer("answers") as answers:
        questions.emit(Question("q", "What?", "d"))
        questions.emit(Question("f", "And?", "d", round=2, parent_id="q"))
        answers.emit(Answer("f", "ann", "So."))
    (sample,) = draw_samples(folder, 1)
    assert sample.root == "q"


def chosen(
    rewriter: str = "a", checker: str | None = None, judges: list[str] | None = None, n: int = 3
) -> StyleCast:
    agents = configs("a", "b", "c")[:n]
    return style_cast(agents, rewriter, checker, judges)


def test_the_checker_is_by_default_the_first_that_is_not_the_rewriter() -> None:
    assert chosen().checker == "b"
    assert chosen("b").checker == "a"
    assert chosen().judges == ("a", "b", "c")
    assert {one.name: one.roles for one in chosen(judges=["c"]).agents} == {
        "a": (),
        "b": (),
        "c": ("judge",),
    }


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"rewriter": "x"}, "--rewriter x: the agents are a, b, c"),
        ({"checker": "x"}, "--checker x"),
        ({"checker": "a"}, "vouch for its own rewriting"),
        ({"n": 1}, "second model"),
        ({"judges": ["x"]}, "--judges x"),
    ],
)
def test_a_cast_that_cannot_play_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(SetupError, match=re.escape(said)):
        chosen(**asked)


def test_a_simulated_player_can_judge_and_nothing_else() -> None:
    agents = [*configs("a"), AgentConfig(name="s", model="sim/s")]
    with pytest.raises(SetupError, match="simulated"):
        style_cast(agents, "s")
    with pytest.raises(SetupError, match="second model"):
        style_cast(agents, "a")


async def test_a_folder_with_a_run_is_left_alone(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 1)
    folder.write_manifest({"schema": 1})
    with pytest.raises(SetupError, match="holds a run"):
        await probe(draw_samples(folder, 1), tmp_path / "run", ("eloquent",))
