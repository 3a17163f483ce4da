"""Levels and references: from the config to the records, the notes, the plan and the seal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.function import Reply, ScriptedAgent
from peerexam.calls import Completion, Request
from peerexam.errors import BadKeyError, ConfigError, ContextTooLongError, PeerexamError
from peerexam.examiners.questions.levels import LEVELS
from peerexam.protocols.config.loading import load_config
from peerexam.protocols.config.models import AgentConfig, ExamConfig
from peerexam.protocols.planning.plan import Line, plan
from peerexam.protocols.questions.sealing import QuestionSet
from peerexam.protocols.run.folder.setup_digest import setup_digest
from peerexam.protocols.run.rejudge_and_add import add, rejudge
from peerexam.protocols.run.runner import run_exam
from peerexam.runfolder import RunFolder

KINDS = ("oldest", "longest", "deepest")
FILES = ("questions.jsonl", "levels.jsonl", "references.jsonl", "answers.jsonl", "manifest.json")


def simulated(questions: dict[str, Any], **more: Any) -> ExamConfig:
    return ExamConfig.model_validate(
        {
            "agents": [
                {"name": "a", "model": "sim/a?reference_noise=0.5"},
                {"name": "b", "model": "sim/b"},
                {"name": "c", "model": "sim/c?level_noise=0.3", "roles": []},
            ],
            "questions": {"domains": ["rivers"], "per_domain": 20, **questions},
            **more,
        }
    )


def spoken(
    questions: dict[str, Any], url: str = "http://127.0.0.1:9/v1", **more: Any
) -> ExamConfig:
    """Two agents of all roles, and one that is only asked about the questions."""
    return ExamConfig.model_validate(
        {
            "agents": [
                {"name": "a", "model": f"openai/a@{url}"},
                {"name": "b", "model": f"openai/b@{url}"},
                {"name": "c", "model": f"openai/c@{url}", "roles": []},
            ],
            "questions": {"domains": ["rivers"], "per_domain": 3, **questions},
            "judging": {"ranking": "none", "marks": False},
            **more,
        }
    )


def says(name: str, text: str, draw: int) -> Reply:
    """What a model in words replies; on the oldest river it changes its mind at every draw."""
    if "three levels" in text or "read as a level" in text:
        return "Level: " + ("analysis" if "deepest" in text else "memorization")
    if "say the same" in text:
        one, other = (part.split("\n")[1] for part in text.split("[[begin Answer")[1:])
        return "Same: yes" if one.split()[-1] == other.split()[-1] else "Same: no"
    if "add nothing" in text:
        sure = "oldest" not in text
        return f"In draw {draw} {name} says: {'Nile' if sure else f'river-{draw}'}"
    if "domain" in text.lower():
        return "\n".join(
            f"{i}. Which of the rivers that {name} knows is the {kind}?"
            for i, kind in enumerate(KINDS, 1)
        )
    return f"An answer by {name}."


def speaker(
    name: str, otherwise: Callable[[str, int], Reply | None] = lambda text, draw: None
) -> ScriptedAgent:
    def reply(request: Request) -> Reply:
        text = request.messages[-1].content
        special = otherwise(text, request.draw)
        return says(name, text, request.draw) if special is None else special

    return ScriptedAgent(reply, name=name)


def speakers(**other: ScriptedAgent) -> dict[str, ScriptedAgent]:
    return {**{name: speaker(name) for name in "abc"}, **other}


def calls(agents: dict[str, ScriptedAgent]) -> int:
    return sum(agent.calls for agent in agents.values())


def notes(folder: Path) -> str:
    return "\n".join(RunFolder(folder).read_manifest()["notes"])


async def test_the_first_classifiers_word_goes_into_the_questions(tmp_path: Path) -> None:
    await run_exam(simulated({"levels": {"classifiers": ["c", "b"]}}), tmp_path)
    folder = RunFolder(tmp_path)
    questions, votes = list(folder.questions()), list(folder.levels())
    assert [(v.question_id, v.classifier) for v in votes] == [
        (q.id, name) for q in questions for name in ("c", "b")
    ]
    assert [q.level for q in questions] == [v.level for v in votes if v.classifier == "c"]
    assert {q.level for q in questions} == set(LEVELS)
    assert not folder.records_path("references").exists()


async def test_references_and_agreement_go_into_the_questions(tmp_path: Path) -> None:
    await run_exam(simulated({"references": {"draws": 5}}), tmp_path)
    folder = RunFolder(tmp_path)
    drawn = list(folder.references())
    questions = list(folder.questions())
    assert [(one.question_id, one.draw) for one in drawn] == [
        (q.id, draw) for q in questions for draw in range(5)
    ]
    for question in questions:
        first, *others = (one for one in drawn if one.question_id == question.id)
        assert (question.reference, first.agrees) == (first.text, None)
        assert question.reference_agreement == sum(one.agrees is True for one in others) / 4
    agreement = {q.author: q.reference_agreement for q in questions if q.author == "b"}
    assert agreement == {"b": 1.0}
    unsure = sum(
        q.reference_agreement < 0.5 for q in questions if q.reference_agreement is not None
    )
    assert unsure > 0
    assert (
        f"{unsure} of 40 questions are marked: their author gave the same answer in less than "
        "half of 4 further draws" in notes(tmp_path)
    )


async def test_one_draw_is_a_reference_without_an_agreement(tmp_path: Path) -> None:
    agents = speakers()
    await run_exam(spoken({"references": {"draws": 1}}), tmp_path, agents=agents)
    questions = list(RunFolder(tmp_path).questions())
    assert {q.reference_agreement for q in questions} == {None}
    assert all(q.reference and q.author and q.author in q.reference for q in questions)


async def test_the_seal_covers_what_is_noted(tmp_path: Path) -> None:
    config = spoken({"levels": {"classifiers": ["c"]}, "references": {"draws": 2}})
    await run_exam(config, tmp_path, agents=speakers())
    folder = RunFolder(tmp_path)
    questions = tuple(folder.questions())
    seal = QuestionSet(questions, len(questions)).seal
    assert folder.read_manifest()["questions_hash"] == seal
    assert all(q.level and q.reference and q.reference_agreement is not None for q in questions)


async def test_no_answer_is_asked_before_everything_is_noted(tmp_path: Path) -> None:
    asked: list[str] = []

    def listening(text: str, draw: int) -> Reply | None:
        known = ("three levels", "say the same", "add nothing", "domain")
        asked.append(next((word for word in known if word in text), "answer"))
        return None

    config = spoken({"levels": {"classifiers": ["c"]}, "references": {"draws": 3}})
    agents = {name: speaker(name, listening) for name in "abc"}
    await run_exam(config, tmp_path, agents=agents, pilot=False)
    assert "answer" in asked
    first = asked.index("answer")
    assert set(asked[first:]) == {"answer"}


async def test_the_checker_is_the_author_unless_another_is_named(tmp_path: Path) -> None:
    await run_exam(
        spoken({"references": {"draws": 2}}), tmp_path / "own", agents=(own := speakers())
    )
    other = speakers()
    config = spoken({"references": {"draws": 2, "checker": "c"}})
    await run_exam(config, tmp_path / "other", agents=other)
    assert own["c"].calls == 0
    # Two authors with three questions each, and one further draw of each in other words.
    assert other["c"].calls == 6


async def test_draws_in_equal_words_need_no_checker(tmp_path: Path) -> None:
    def same(text: str, draw: int) -> Reply | None:
        return f"The Nile{'.' * draw}" if "add nothing" in text else None

    agents = {name: speaker(name, same) for name in "abc"}
    config = spoken({"references": {"draws": 2, "checker": "c"}})
    await run_exam(config, tmp_path, agents=agents)
    assert agents["c"].calls == 0
    assert {q.reference_agreement for q in RunFolder(tmp_path).questions()} == {1.0}


async def test_a_question_its_author_cannot_hold_to_is_left_out_where_asked(tmp_path: Path) -> None:
    config = spoken({"references": {"draws": 3, "drop_inconsistent": True}})
    outcome = await run_exam(config, tmp_path, agents=speakers())
    folder = RunFolder(tmp_path)
    questions = list(folder.questions())
    assert len(questions) == 4
    assert not any("oldest" in q.text for q in questions)
    # What showed it is kept.
    assert len(list(folder.references())) == 6 * 3
    assert outcome.standings["counts"]["questions"]["planned"] == 6
    assert (
        "2 of 6 questions are left out: their author gave the same answer in less than half of 2 "
        "further draws" in notes(tmp_path)
    )


async def test_an_exam_without_a_question_left_says_so(tmp_path: Path) -> None:
    def unsure(text: str, draw: int) -> Reply | None:
        return f"river-{draw}" if "add nothing" in text else None

    config = spoken({"references": {"draws": 2, "drop_inconsistent": True}})
    with pytest.raises(PeerexamError, match=r"no question is left:\n6 of 6 questions are left out"):
        await run_exam(config, tmp_path, agents={name: speaker(name, unsure) for name in "abc"})


async def test_a_refused_reference_is_a_record_and_no_reference(tmp_path: Path) -> None:
    def refusing(text: str, draw: int) -> Reply | None:
        if "add nothing" not in text or "deepest" in text:
            return None
        return Completion("", "refused") if "oldest" in text else Completion("In", "truncated")

    agents = speakers(a=speaker("a", refusing))
    outcome = await run_exam(spoken({"references": {"draws": 3}}), tmp_path, agents=agents)
    assert outcome.status == "complete"
    drawn = [one for one in RunFolder(tmp_path).references() if one.author == "a"]
    # No further draw is asked for where there is nothing to hold it against.
    assert [(one.draw, one.state) for one in drawn] == [
        (0, "refused"),
        (0, "truncated"),
        *((draw, "ok") for draw in range(3)),
    ]
    of_a = [q for q in RunFolder(tmp_path).questions() if q.author == "a"]
    assert [q.reference is None for q in of_a] == [True, True, False]
    assert (
        "2 of 6 authors' answers are no reference: 1 refused, 1 truncated; a higher "
        "questions.references.max_tokens lets answers end" in notes(tmp_path)
    )


async def test_a_check_that_cannot_be_read_counts_neither_way(tmp_path: Path) -> None:
    def mute(text: str, draw: int) -> Reply | None:
        return "Hm." if "say the same" in text or "could not be read" in text else None

    agents = speakers(c=speaker("c", mute))
    config = spoken({"references": {"draws": 2, "checker": "c"}})
    outcome = await run_exam(config, tmp_path, agents=agents)
    assert outcome.status == "complete"
    folder = RunFolder(tmp_path)
    assert {q.reference_agreement for q in folder.questions()} == {None}
    assert all(q.reference for q in folder.questions())
    further = [one for one in folder.references() if one.draw]
    assert {(one.agrees, one.state) for one in further} == {(None, "ok")}
    assert {one.reason for one in further} == {
        "not checked (unparsed): 'Hm.' is not one of the choices offered"
    }
    assert "6 of 6 further draws could not be compared: 6 unchecked" in notes(tmp_path)


async def test_calls_that_failed_leave_the_run_partial_and_are_asked_again(tmp_path: Path) -> None:
    def dead(text: str, draw: int) -> Reply | None:
        return BadKeyError("401: no such key")

    config = spoken({"levels": {"classifiers": ["c"]}, "references": {"draws": 2, "checker": "c"}})
    first = await run_exam(config, tmp_path / "one", agents=speakers(c=speaker("c", dead)))
    assert first.status == "partial"
    assert first.reason is not None
    assert "c as classifier (6" in first.reason
    assert "c as checker (6" in first.reason
    assert {q.level for q in RunFolder(tmp_path / "one").questions()} == {None}
    again = await run_exam(config, tmp_path / "one", agents=speakers())
    await run_exam(config, tmp_path / "two", agents=speakers())
    assert again.status == "complete"
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


async def test_a_question_too_long_for_a_classifier_is_noted_and_no_failure(tmp_path: Path) -> None:
    def small(text: str, draw: int) -> Reply | None:
        return ContextTooLongError("9000 tokens")

    config = spoken({"levels": {"classifiers": ["c"]}})
    outcome = await run_exam(config, tmp_path, agents=speakers(c=speaker("c", small)))
    assert outcome.status == "complete"
    assert "c gave 6 of 6 questions no level: 6 error" in notes(tmp_path)


async def test_a_classifier_that_knows_one_level_only_is_noted(tmp_path: Path) -> None:
    def simple(text: str, draw: int) -> Reply | None:
        return "Level: memorization"

    rows = [{"text": f"Which river is number {i}?"} for i in range(10)]
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    settings = {"domains": (), "file": str(path), "levels": {"classifiers": ["c"]}}
    await run_exam(spoken(settings), tmp_path / "run", agents=speakers(c=speaker("c", simple)))
    assert "c gave all 10 questions one level, memorization" in notes(tmp_path / "run")


@pytest.mark.parametrize("budget", [2, 5, 11, 17])
async def test_a_budget_that_ends_it_leaves_a_run_that_goes_on(tmp_path: Path, budget: int) -> None:
    questions = {"levels": {"classifiers": ["c", "b"]}, "references": {"draws": 3}}
    poor = spoken(questions, limits={"budget": {"calls": budget}})
    first = speakers()
    outcome = await run_exam(poor, tmp_path / "one", agents=first)
    assert outcome.status == "partial"
    assert outcome.reason is not None
    assert "no question is sealed yet" in outcome.reason
    assert calls(first) <= budget
    assert not (tmp_path / "one" / "levels.jsonl").exists()
    assert outcome.standings["counts"]["questions"]["planned"] == 6
    second, whole = speakers(), speakers()
    done = await run_exam(spoken(questions), tmp_path / "one", agents=second)
    await run_exam(spoken(questions), tmp_path / "two", agents=whole)
    assert done.status == "complete"
    assert calls(first) + calls(second) == calls(whole)
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def own_questions(tmp_path: Path) -> str:
    path = tmp_path / "own.jsonl"
    rows = [
        {"id": "one", "text": "Which river is the oldest?", "level": "comprehension"},
        {"id": "two", "text": "Which river is the deepest?"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def of_file(tmp_path: Path, **questions: Any) -> dict[str, Any]:
    return {"domains": (), "file": own_questions(tmp_path), **questions}


async def test_own_questions_keep_their_level_and_have_no_reference(tmp_path: Path) -> None:
    settings = of_file(
        tmp_path, levels={"classifiers": ["c"]}, references={"draws": 2, "checker": "c"}
    )
    agents = speakers()
    outcome = await run_exam(spoken(settings), tmp_path / "run", agents=agents)
    assert outcome.status == "complete"
    questions = list(RunFolder(tmp_path / "run").questions())
    assert [q.level for q in questions] == ["comprehension", "analysis"]
    assert [q.reference for q in questions] == [None, None]
    assert agents["c"].calls == 1
    said = notes(tmp_path / "run")
    assert "1 of 2 questions came with their level, which was not asked for again" in said
    assert "2 of 2 questions have no reference: their author is none of the examiners here" in said


async def test_a_budget_counts_own_questions_as_planned(tmp_path: Path) -> None:
    settings = of_file(tmp_path, levels={"classifiers": ["c", "b"]})
    config = spoken(settings, limits={"budget": {"calls": 1}})
    outcome = await run_exam(config, tmp_path / "run", agents=speakers())
    assert outcome.status == "partial"
    assert outcome.standings["counts"]["questions"]["planned"] == 2


def test_another_setting_is_another_set_up() -> None:
    settings: list[dict[str, Any]] = [
        {},
        {"levels": {"classifiers": ["a"]}},
        {"levels": {"classifiers": ["b"]}},
        {"levels": {"classifiers": ["a"], "max_tokens": 9}},
        {"references": {"draws": 1}},
        {"references": {"draws": 2}},
        {"references": {"draws": 2, "temperature": 1.0}},
        {"references": {"draws": 2, "checker": "c"}},
        {"references": {"draws": 2, "min_agreement": 0.9}},
        {"references": {"draws": 2, "drop_inconsistent": True}},
    ]
    assert len({setup_digest(spoken(one), {}, "seal") for one in settings}) == len(settings)


async def test_new_judges_and_newcomers_find_levels_and_references_kept(tmp_path: Path) -> None:
    config = simulated({"levels": {"classifiers": ["c"]}, "references": {"draws": 2}})
    await run_exam(config, tmp_path / "run")
    kept = {name: (tmp_path / "run" / name).read_bytes() for name in FILES[:3]}
    judge = AgentConfig(name="j", model="sim/j", roles=("judge",))
    await rejudge(tmp_path / "run", [judge], tmp_path / "judged")
    newcomer = AgentConfig(name="n", model="sim/n", roles=("examinee",))
    await add(tmp_path / "run", newcomer)
    for name, body in kept.items():
        assert (tmp_path / "run" / name).read_bytes() == body
        assert (tmp_path / "judged" / name).read_bytes() == body
    for folder in ("run", "judged"):
        held = load_config(tmp_path / folder / "exam.yaml", environ={})
        assert held.questions.levels.classifiers == ("c",)


def agent(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "model": f"openai/{name}", "price": {"input": 1, "output": 2}, **more}


def by_task(lines: tuple[Line, ...], name: str) -> dict[str, Line]:
    return {line.task: line for line in lines if line.agent == name}


def test_the_plan_counts_as_a_hand_does() -> None:
    config = ExamConfig.model_validate(
        {
            "agents": [agent("a"), agent("b"), agent("c", roles=[])],
            "questions": {
                "domains": ["x", "y"],
                "per_domain": 3,
                "max_tokens": 100,
                "levels": {"classifiers": ["c", "b"], "max_tokens": 40},
                "references": {"draws": 4, "max_tokens": 50, "checker": "c"},
            },
            "judging": {"reasks": 2, "max_tokens": 60},
        }
    )
    lines = plan(config).lines
    c, a, b = (by_task(lines, name) for name in "cab")
    # Two examiners, two domains, three questions each: 12 questions, every one asked of each
    # classifier, and twice more where the reply cannot be read.
    levels = c["levels"].calls
    assert (levels.least, levels.expected, levels.most) == (12, 12, 36)
    assert b["levels"].calls == levels
    # 250 tokens of the prompt and 30 of the question; the reply names one word.
    assert c["levels"].prompt_tokens.expected == 12 * 280
    assert c["levels"].completion_tokens.expected == 12 * 6
    # A reply that is cut at its limit has twice the room the next time: 40, 80 and 160 tokens.
    assert c["levels"].completion_tokens.most == pytest.approx(12 * (40 + 80 + 160))
    # Six questions of its own, four answers to each, half the limit long.
    references = a["references"].calls
    assert (references.least, references.expected, references.most) == (6, 24, 24)
    assert a["references"].completion_tokens.expected == 24 * 25
    # Three further draws of 12 questions, each compared unless it is equal.
    checks = c["agreement checks"].calls
    assert (checks.least, checks.expected, checks.most) == (0, 36, 108)
    # 250 of the prompt, 30 of the question, twice 25 of an answer.
    assert c["agreement checks"].prompt_tokens.expected == 36 * 330
    assert c["agreement checks"].completion_tokens.most == pytest.approx(36 * (60 + 120 + 240))
    # US dollars: 36 · 330 prompt tokens at $1 a million, 36 · 6 completion tokens at $2.
    cost = c["agreement checks"].cost
    assert cost is not None
    assert cost.expected == pytest.approx(36 * 330e-6 + 36 * 6 * 2e-6)
    assert "agreement checks" not in {*a, *b}
    assert "references" not in c
    assert [line.task for line in lines if line.agent == "a"][:2] == ["questions", "references"]


def test_a_plan_knows_what_own_questions_bring_with_them(tmp_path: Path) -> None:
    settings = of_file(
        tmp_path, levels={"classifiers": ["c"]}, references={"draws": 2, "checker": "c"}
    )
    found = by_task(plan(spoken(settings)).lines, "c")
    assert found["levels"].calls.expected == 1
    assert "agreement checks" not in found


async def test_the_calls_really_made_are_those_planned(chat_server: Any, tmp_path: Path) -> None:
    def reply(served: Any) -> str:
        # Greedy or not tells the draws apart as far as this model goes.
        text = says(
            served.body["model"], served.last_user_text, int(served.body["temperature"] > 0)
        )
        assert isinstance(text, str)
        return text

    server = chat_server(reply)
    settings = {"levels": {"classifiers": ["c", "a"]}, "references": {"draws": 2}}
    config = spoken(settings, server.url)
    planned = plan(config)
    # 2 papers; 6 questions × 2 classifiers; 6 references, 6 further draws, 6 checks; 12 answers.
    assert planned.calls.expected == 2 + 12 + 6 + 6 + 6 + 12
    outcome = await run_exam(config, tmp_path)
    assert outcome.status == "complete"
    assert len(server.requests) == planned.calls.expected
    questions = list(RunFolder(tmp_path).questions())
    assert [q.reference_agreement for q in questions] == [0.0, 1.0, 1.0] * 2


@pytest.mark.parametrize(
    ("questions", "agents", "problem"),
    [
        ("levels: {classifiers: [a, a]}", "", "'a' is listed twice among the classifiers"),
        (
            "levels: {classifiers: [a, d]}",
            "- {name: d, model: openai/a, roles: []}",
            "'d' and 'a' are the same model with the same settings",
        ),
        (
            "levels: {classifiers: [d]}",
            "- {name: d, model: file/answers.jsonl, roles: [examinee]}",
            "'d' has recorded answers only",
        ),
        (
            "references: {draws: 2, checker: d}",
            "- {name: d, model: file/answers.jsonl, roles: [examinee]}",
            "'d' has recorded answers only",
        ),
        ("levels: {classifiers: [nobody]}", "", "'nobody' is to classify questions"),
    ],
)
def test_agents_that_cannot_be_asked_are_refused(
    tmp_path: Path, questions: str, agents: str, problem: str
) -> None:
    (tmp_path / "answers.jsonl").write_text('{"question_id": "q", "text": "x"}\n')
    path = tmp_path / "exam.yaml"
    path.write_text(
        "agents:\n"
        "- {name: a, model: openai/a}\n"
        "- {name: b, model: openai/b}\n"
        f"{agents}\n"
        "questions:\n"
        "  domains: [rivers]\n"
        f"  {questions}\n"
    )
    with pytest.raises(ConfigError, match=problem):
        load_config(path, environ={"OPENAI_API_KEY": "x"})
