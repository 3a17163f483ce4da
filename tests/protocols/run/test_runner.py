from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import peerexam
from peerexam.agents.function import FunctionAgent, ScriptedAgent
from peerexam.calls import Completion, Request
from peerexam.errors import BadKeyError, BudgetReachedError, SetupError
from peerexam.protocols.config.loading import dump_config, load_config
from peerexam.protocols.config.models import AgentConfig, ExamConfig, RoleName
from peerexam.protocols.run.finishing import tally_folder
from peerexam.protocols.run.rejudge_and_add import add, rejudge
from peerexam.protocols.run.runner import default_folder, run, run_exam
from peerexam.runfolder import RunFolder

RECORDS = ("questions", "answers", "marks", "verdicts", "rankings")


def simulated(**more: object) -> ExamConfig:
    return ExamConfig.model_validate(
        {
            "name": "sim",
            "agents": [
                {"name": name, "model": f"sim/{name}?ability={ability}"}
                for name, ability in (("a", 2), ("b", 1), ("c", 0), ("d", -1))
            ],
            "questions": {"domains": ["rivers", "primes"], "per_domain": 4},
            **more,
        }
    )


def spoken(**more: object) -> ExamConfig:
    return ExamConfig.model_validate(
        {
            "name": "spoken",
            "agents": [
                {"name": name, "model": f"openai/{name}@http://127.0.0.1:9/v1"} for name in "abc"
            ],
            "questions": {"domains": ["rivers", "primes"], "per_domain": 3},
            **more,
        }
    )


def speaker(name: str, level: int) -> Callable[[Request], str]:
    """A model in words: it sets questions, answers with its level, prefers the higher one."""

    def reply(request: Request) -> str:
        text = request.messages[-1].content
        if "follow question" in text:
            return "follow question: And what is behind that?"
        if "Verdict:" in text:
            levels = [int(part.split()[0]) for part in text.split("LEVEL")[1:]]
            return f"Verdict: Response {1 if levels[0] >= levels[1] else 2}"
        if "overall" in text:
            shown = int(text.split("LEVEL")[1].split()[0])
            return (
                "accuracy: 3\ncoherence: 3\nfactuality: 3\ncomprehensiveness: 3\n"
                f"overall: {min(5, shown)}"
            )
        if "domain" in text.lower():
            word = "rivers" if "rivers" in text else "primes"
            kinds = ("longest", "oldest", "deepest")
            return "\n".join(
                f"{i}. Which of the {word} that {name} knows is the {kind}?"
                for i, kind in enumerate(kinds, 1)
            )
        return f"LEVEL {level} is what {name} has to say."

    return reply


def speakers() -> dict[str, ScriptedAgent]:
    return {
        name: ScriptedAgent(speaker(name, level), name=name)
        for name, level in zip("abc", (5, 4, 3), strict=True)
    }


def contents(folder: Path, *names: str) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names}


ALL_FILES = (*(f"{kind}.jsonl" for kind in RECORDS), "standings.json", "manifest.json", "exam.yaml")


async def test_an_exam_leaves_every_file_and_the_true_order(tmp_path: Path) -> None:
    outcome = await run_exam(simulated(follow_ups={"rounds": 1}), tmp_path)
    assert outcome.status == "complete"
    assert [row["agent"] for row in outcome.standings["standings"]] == ["a", "b", "c", "d"]
    folder = RunFolder(tmp_path)
    questions = list(folder.questions())
    assert len([q for q in questions if q.round == 1]) == 4 * 2 * 4
    assert len({q.id for q in questions}) == len(questions)
    assert folder.read_manifest()["status"] == "complete"
    assert json.loads((tmp_path / "standings.json").read_text()) == outcome.standings
    assert tally_folder(tmp_path) == outcome.standings


async def test_the_same_exam_again_leaves_the_same_bytes(tmp_path: Path) -> None:
    config = spoken(follow_ups={"rounds": 1})
    first = speakers()
    await run_exam(config, tmp_path, agents=first)
    before = contents(tmp_path, *ALL_FILES)
    again = speakers()
    await run_exam(config, tmp_path, agents=again)
    assert contents(tmp_path, *ALL_FILES) == before
    assert sum(agent.calls for agent in first.values()) > 100
    assert sum(agent.calls for agent in again.values()) == 0


async def test_models_in_words_are_ranked_and_no_judge_counts_on_itself(tmp_path: Path) -> None:
    outcome = await run_exam(spoken(), tmp_path, agents=speakers())
    assert [row["agent"] for row in outcome.standings["standings"]] == ["a", "b", "c"]
    folder = RunFolder(tmp_path)
    assert all(judge not in sum(r.order, ()) for r in folder.rankings() for judge in [r.judge])
    assert not any(mark.judge == mark.examinee for mark in folder.marks())
    calls = {record.call for record in folder.verdicts()}
    assert all(call is not None and len(call) == 64 for call in calls)
    assert all(record.prompt for record in folder.marks())


async def test_a_dead_agent_does_not_take_the_exam_down(tmp_path: Path) -> None:
    def dead(request: Request) -> Exception:
        return BadKeyError("401: no such key")

    agents = {**speakers(), "c": ScriptedAgent(dead, name="c")}
    outcome = await run_exam(spoken(), tmp_path, agents=agents)
    assert outcome.status == "partial"
    assert outcome.reason is not None
    assert "c as examinee" in outcome.reason
    answers = list(RunFolder(tmp_path).answers())
    assert {a.state for a in answers if a.examinee == "c"} == {"error"}
    assert {a.state for a in answers if a.examinee != "c"} == {"ok"}
    assert any("c set 0 of 3" in note for note in RunFolder(tmp_path).read_manifest()["notes"])

    healed = speakers()
    outcome = await run_exam(spoken(), tmp_path, agents=healed)
    assert outcome.status == "complete"


async def test_a_budget_ends_a_run_at_whole_questions_and_a_bigger_one_goes_on(
    tmp_path: Path,
) -> None:
    calm = tmp_path / "calm"
    unlimited = speakers()
    await run_exam(spoken(), calm, agents=unlimited)
    needed = sum(agent.calls for agent in unlimited.values())

    small = speakers()
    limits = {"budget": {"calls": needed // 2}, "concurrency": 4, "window": 2}
    part = tmp_path / "part"
    outcome = await run_exam(spoken(limits=limits), part, agents=small)
    assert outcome.status == "partial"
    assert outcome.reason is not None
    assert "budget" in outcome.reason
    spent = sum(agent.calls for agent in small.values())
    assert 0 < spent <= needed // 2
    # Whole questions: every question that has an answer has all of them, and the same verdicts
    # as in the undisturbed run.
    answered = [a.question_id for a in RunFolder(part).answers()]
    assert answered
    assert all(answered.count(name) == 3 for name in answered)
    verdicts = [v for v in RunFolder(calm).verdicts() if v.question_id in set(answered)]
    assert list(RunFolder(part).verdicts()) == verdicts

    more = speakers()
    outcome = await run_exam(spoken(), part, agents=more)
    assert outcome.status == "complete"
    assert spent + sum(agent.calls for agent in more.values()) == needed
    records = [f"{kind}.jsonl" for kind in RECORDS]
    assert contents(part, *records) == contents(calm, *records)


async def test_rejudging_takes_the_old_answers_and_asks_the_new_judge_alone(
    tmp_path: Path,
) -> None:
    old = tmp_path / "old"
    await run_exam(spoken(follow_ups={"rounds": 1}), old, agents=speakers())
    judge = ScriptedAgent(speaker("z", 1), name="z")
    config = AgentConfig(name="z", model="openai/z@http://127.0.0.1:9/v1")
    new = tmp_path / "new"
    outcome = await rejudge(old, [config], new, agents={"z": judge})
    assert outcome.status == "complete"
    assert contents(new, "questions.jsonl", "answers.jsonl") == contents(
        old, "questions.jsonl", "answers.jsonl"
    )
    assert {v.judge for v in RunFolder(new).verdicts()} == {"z"}
    assert {m.judge for m in RunFolder(new).marks()} == {"z"}
    assert [row["agent"] for row in outcome.standings["standings"]] == ["a", "b", "c"]
    with pytest.raises(SetupError, match="folder of their own"):
        await rejudge(old, [config], old, agents={"z": judge})


async def test_an_agent_that_joins_plays_only_the_missing_cells(tmp_path: Path) -> None:
    await run_exam(spoken(), tmp_path, agents=speakers())
    before = list(RunFolder(tmp_path).verdicts())
    agents = {**speakers(), "d": ScriptedAgent(speaker("d", 1), name="d")}
    config = AgentConfig(name="d", model="openai/d@http://127.0.0.1:9/v1", roles=("examinee",))
    outcome = await add(tmp_path, config, agents=agents)
    assert [row["agent"] for row in outcome.standings["standings"]] == ["a", "b", "c", "d"]
    after = list(RunFolder(tmp_path).verdicts())
    assert set(before) <= set(after)
    assert all("d" in (v.first, v.second) for v in set(after) - set(before))
    # It sets no questions, and its answers are the only new ones.
    assert agents["d"].calls == len(list(RunFolder(tmp_path).questions()))
    assert {r.order[-1] for r in RunFolder(tmp_path).rankings()} == {("d",)}
    # The same again is done already; another of that name is refused.
    again = await add(tmp_path, config, agents=agents)
    assert again.standings == outcome.standings
    other = config.model_copy(update={"temperature": 0.5})
    with pytest.raises(SetupError, match="already has an agent"):
        await add(tmp_path, other, agents=agents)


async def test_an_agent_that_joins_as_a_judge_ranks_everyone_else(tmp_path: Path) -> None:
    await run_exam(spoken(), tmp_path, agents=speakers())
    agents = {**speakers(), "d": ScriptedAgent(speaker("d", 1), name="d")}
    outcome = await add(
        tmp_path, AgentConfig(name="d", model="openai/d@http://127.0.0.1:9/v1"), agents=agents
    )
    orders = {r.order for r in RunFolder(tmp_path).rankings() if r.judge == "d"}
    assert orders == {(("a",), ("b",), ("c",))}
    assert "d" in outcome.standings["voting"]["judges_counted"]


@pytest.mark.parametrize("roles", [("examinee",), ("examinee", "judge"), ("judge",)])
async def test_running_a_folder_that_agents_joined_leaves_what_add_left(
    tmp_path: Path, roles: tuple[RoleName, ...]
) -> None:
    await run_exam(spoken(follow_ups={"rounds": 1}), tmp_path, agents=speakers())
    agents = dict(speakers())
    for name, level in (("d", 5), ("e", 2)):
        agents[name] = ScriptedAgent(speaker(name, level), name=name)
        config = AgentConfig(name=name, model=f"openai/{name}@http://127.0.0.1:9/v1", roles=roles)
        await add(tmp_path, config, agents=agents)
    before = contents(tmp_path, *ALL_FILES)
    again = {name: ScriptedAgent(speaker(name, 1), name=name) for name in "abcde"}
    joined = load_config(tmp_path / "exam.yaml", environ={})
    await run_exam(joined, tmp_path, agents=again)
    assert {name: agent.calls for name, agent in again.items()} == dict.fromkeys("abcde", 0)
    assert contents(tmp_path, *ALL_FILES) == before


async def test_python_runs_inside_a_running_loop_too(tmp_path: Path) -> None:
    outcome = run(simulated(), tmp_path)
    assert outcome.status == "complete"
    assert outcome.folder == tmp_path


async def test_a_folder_that_holds_another_exam_is_left_alone(tmp_path: Path) -> None:
    await run_exam(simulated(), tmp_path)
    before = contents(tmp_path, *ALL_FILES)
    with pytest.raises(SetupError, match="holds another exam"):
        await run_exam(spoken(), tmp_path, agents=speakers())
    assert contents(tmp_path, *ALL_FILES) == before


async def test_an_agent_handed_over_must_be_in_the_exam(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="'nobody'"):
        await run_exam(spoken(), tmp_path, agents={"nobody": ScriptedAgent(speaker("x", 1))})


async def test_the_central_examiner_sets_and_judges_alone(tmp_path: Path) -> None:
    config = spoken(protocol="exam", examiner="a")
    outcome = await run_exam(config, tmp_path, agents=speakers())
    folder = RunFolder(tmp_path)
    assert {q.author for q in folder.questions()} == {"a"}
    assert {v.judge for v in folder.verdicts()} == {"a"}
    assert {a.examinee for a in folder.answers()} == {"b", "c"}
    assert [row["agent"] for row in outcome.standings["standings"]] == ["b", "c"]


def test_a_plain_async_function_is_enough(tmp_path: Path) -> None:
    async def parrot(messages: list[dict[str, str]]) -> str:
        return speaker("b", 4)(_request(messages))

    agents: dict[str, peerexam.Agent] = {**speakers(), "b": FunctionAgent("b", parrot)}
    outcome = peerexam.run(spoken(), tmp_path, agents=agents)
    assert [row["agent"] for row in outcome.standings["standings"]] == ["a", "b", "c"]


def _request(messages: list[dict[str, str]]) -> Request:
    turns = tuple(peerexam.Message("user", message["content"]) for message in messages)
    return Request(turns)


async def test_unusable_answers_are_counted_and_never_judged(tmp_path: Path) -> None:
    def refusing(request: Request) -> str | Completion:
        text = request.messages[-1].content
        plain = speaker("c", 3)(request)
        if plain.startswith("LEVEL") and "oldest" in text:
            return Completion("", "filtered", "content_filter")
        return plain

    agents = {**speakers(), "c": ScriptedAgent(refusing, name="c")}
    outcome = await run_exam(spoken(), tmp_path, agents=agents)
    assert outcome.status == "complete"
    counts = outcome.standings["counts"]["answers"]
    assert (counts["planned"], counts["ok"], counts["filtered"]) == (54, 48, 6)
    lost = {a.question_id for a in RunFolder(tmp_path).answers() if a.state == "filtered"}
    judged = {v.question_id for v in RunFolder(tmp_path).verdicts() if "c" in (v.first, v.second)}
    assert not lost & judged


async def test_two_runs_in_one_folder_at_once_are_refused(tmp_path: Path) -> None:
    other: list[BaseException] = []

    async def meanwhile(request: Request) -> str:
        if not other:
            other.append(ConnectionError())  # once is enough
            try:
                await run_exam(spoken(), tmp_path, agents=speakers())
            except SetupError as error:
                other[0] = error
        return speaker("a", 3)(request)

    agents = {**speakers(), "a": ScriptedAgent(meanwhile, name="a")}
    outcome = await run_exam(spoken(), tmp_path, agents=agents)
    assert outcome.status == "complete"
    assert "another run is using" in str(other[0])
    # The folder is free again.
    assert (await run_exam(spoken(), tmp_path, agents=speakers())).status == "complete"


async def test_an_unfinished_run_of_another_exam_is_left_alone(tmp_path: Path) -> None:
    await run_exam(simulated(), tmp_path)
    (tmp_path / "manifest.json").unlink()  # as a kill leaves it
    before = contents(tmp_path, "answers.jsonl", "exam.yaml")
    with pytest.raises(SetupError, match="holds another exam, 'sim'"):
        await run_exam(spoken(), tmp_path, agents=speakers())
    assert contents(tmp_path, "answers.jsonl", "exam.yaml") == before


@pytest.mark.parametrize("name", ["questions.jsonl", "verdicts.jsonl", "report.html"])
async def test_a_record_of_the_users_own_is_never_replaced(tmp_path: Path, name: str) -> None:
    mine = tmp_path / name
    mine.write_text("my own")
    with pytest.raises(SetupError, match=f"{name} was not written by a run"):
        await run_exam(simulated(), tmp_path)
    assert mine.read_text() == "my own"


async def test_a_config_of_the_users_own_is_never_replaced(tmp_path: Path) -> None:
    mine = tmp_path / "exam.yaml"
    mine.write_text("# what I know of these agents\n" + dump_config(simulated()))
    with pytest.raises(SetupError, match="not written by a run"):
        await run_exam(simulated(), tmp_path)
    assert mine.read_text().startswith("# what I know")


@pytest.mark.parametrize("other", [simulated, spoken])
async def test_new_judgements_never_replace_a_run(
    tmp_path: Path, other: Callable[[], ExamConfig]
) -> None:
    await run_exam(spoken(), tmp_path / "old", agents=speakers())
    victim = tmp_path / "victim"
    await run_exam(other(), victim, agents=speakers() if other is spoken else None)
    before = contents(victim, *ALL_FILES)
    judge = AgentConfig(name="z", model="sim/z")
    with pytest.raises(SetupError, match="choose another folder"):
        await rejudge(tmp_path / "old", [judge], victim)
    assert contents(victim, *ALL_FILES) == before


async def test_a_budget_that_ends_while_questions_are_set_leaves_a_partial_run(
    tmp_path: Path,
) -> None:
    small = speakers()
    outcome = await run_exam(spoken(limits={"budget": {"calls": 2}}), tmp_path, agents=small)
    assert outcome.status == "partial"
    assert "budget" in (outcome.reason or "")
    manifest = RunFolder(tmp_path).read_manifest()
    assert manifest["status"] == "partial"
    assert manifest["counts"]["questions"] == {"planned": 18, "ok": 0}
    assert tally_folder(tmp_path) == RunFolder(tmp_path).read_standings()
    more = speakers()
    assert (await run_exam(spoken(), tmp_path, agents=more)).status == "complete"


@pytest.mark.parametrize("judging", [{"panel": "author"}, {}])
async def test_a_newcomer_is_judged_by_the_panel_of_each_question(
    tmp_path: Path, judging: dict[str, str]
) -> None:
    body = spoken(judging=judging).model_dump()
    body["agents"][1]["judge"]["share"] = 0.5
    await run_exam(ExamConfig.model_validate(body), tmp_path, agents=speakers())
    folder = RunFolder(tmp_path)
    panels = {(m.question_id, m.judge) for m in folder.marks()}
    agents = {**speakers(), "d": ScriptedAgent(speaker("d", 1), name="d")}
    config = AgentConfig(name="d", model="openai/d@http://127.0.0.1:9/v1", roles=("examinee",))
    await add(tmp_path, config, agents=agents)
    judged = {(m.question_id, m.judge) for m in folder.marks() if m.examinee == "d"}
    assert judged == panels


async def test_a_judge_that_joins_marks_the_answers_to_follow_ups_too(tmp_path: Path) -> None:
    await run_exam(spoken(follow_ups={"rounds": 1}), tmp_path, agents=speakers())
    agents = {**speakers(), "d": ScriptedAgent(speaker("d", 1), name="d")}
    config = AgentConfig(name="d", model="openai/d@http://127.0.0.1:9/v1", roles=("judge",))
    await add(tmp_path, config, agents=agents)
    folder = RunFolder(tmp_path)
    answers = {(a.question_id, a.examinee) for a in folder.answers()}
    marked = {(m.question_id, m.examinee) for m in folder.marks() if m.judge == "d"}
    assert len({q.id for q in folder.questions() if q.round == 2}) > 0
    assert marked == answers


def new_judge(tmp_path: Path, name: str = "z") -> tuple[AgentConfig, dict[str, ScriptedAgent]]:
    config = AgentConfig(name=name, model=f"openai/{name}@http://127.0.0.1:9/v1")
    return config, {name: ScriptedAgent(speaker(name, 1), name=name)}


@pytest.mark.parametrize(
    "more",
    [
        {"judging": {"panel": "author"}},
        {"judging": {"quorum": 3}},
        {"protocol": "exam", "examiner": "a"},
    ],
)
async def test_a_new_judge_judges_every_answer_of_any_exam(
    tmp_path: Path, more: dict[str, object]
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    await run_exam(spoken(**more), old, agents=speakers())
    config, agents = new_judge(tmp_path)
    outcome = await rejudge(old, [config], new, agents=agents)
    answers = {(a.question_id, a.examinee) for a in RunFolder(old).answers()}
    assert {(m.question_id, m.examinee) for m in RunFolder(new).marks()} == answers
    assert outcome.standings["voting"]["quorum_met"]
    assert outcome.standings["voting"]["unplaced"] == []
    # What is written is a config that can be read again, and counts to the same.
    assert tally_folder(new) == RunFolder(new).read_standings()


async def test_an_imported_run_can_be_judged_again_and_read_back(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    await run_exam(spoken(), old, agents=speakers())
    (old / "exam.yaml").unlink()  # as an importer leaves it
    config, agents = new_judge(tmp_path)
    outcome = await rejudge(old, [config], new, agents=agents)
    assert outcome.status == "complete"
    assert [row["agent"] for row in outcome.standings["standings"]] == ["a", "b", "c"]
    assert tally_folder(new) == RunFolder(new).read_standings()


async def test_a_new_judge_may_not_take_the_name_of_another_model(tmp_path: Path) -> None:
    await run_exam(spoken(), tmp_path / "old", agents=speakers())
    other = AgentConfig(name="a", model="openai/other@http://127.0.0.1:9/v1")
    with pytest.raises(SetupError, match="name of its own"):
        await rejudge(tmp_path / "old", [other], tmp_path / "new", agents=speakers())
    config, agents = new_judge(tmp_path, "a")
    outcome = await rejudge(tmp_path / "old", [config], tmp_path / "new", agents=agents)
    assert outcome.status == "complete"
    assert not any(m.examinee == "a" for m in RunFolder(tmp_path / "new").marks())


async def test_follow_ups_are_planned_once_however_often_a_run_is_gone_over(
    tmp_path: Path,
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    first = await run_exam(spoken(follow_ups={"rounds": 1}), old, agents=speakers())
    planned = first.standings["counts"]["questions"]
    assert planned["planned"] > 18
    config, agents = new_judge(tmp_path)
    again = await rejudge(old, [config], new, agents=agents)
    assert again.standings["counts"]["questions"] == planned
    judge = config.model_copy(update={"roles": ("judge",)})
    added = await add(old, judge, agents={**speakers(), **agents})
    assert added.standings["counts"]["questions"] == planned


async def test_what_is_made_of_an_unfinished_run_is_not_called_complete(tmp_path: Path) -> None:
    old = tmp_path / "old"
    await run_exam(spoken(limits={"budget": {"calls": 60}}), old, agents=speakers())
    assert 0 < len({a.question_id for a in RunFolder(old).answers()}) < 18
    config, agents = new_judge(tmp_path)
    outcome = await rejudge(old, [config], tmp_path / "new", agents=agents)
    assert outcome.status == "partial"
    assert "is not finished" in (outcome.reason or "")
    before = contents(old, *ALL_FILES)
    with pytest.raises(SetupError, match="finish it with peerexam run"):
        await add(old, config, agents={**speakers(), **agents})
    assert contents(old, *ALL_FILES) == before


async def test_a_newcomers_budget_that_ends_leaves_the_run_as_it_was(tmp_path: Path) -> None:
    await run_exam(spoken(), tmp_path, agents=speakers())
    before = contents(tmp_path, *ALL_FILES)
    config = AgentConfig.model_validate(
        {"name": "z", "model": "openai/z@http://127.0.0.1:9/v1", "budget": {"calls": 20}}
    )
    _, agents = new_judge(tmp_path)
    with pytest.raises(BudgetReachedError, match="is left as it was"):
        await add(tmp_path, config, agents={**speakers(), **agents})
    assert contents(tmp_path, *ALL_FILES) == before


@pytest.mark.parametrize("lost", ["questions", "follow-ups"])
async def test_an_examiner_that_is_lost_leaves_a_run_that_is_partial(
    tmp_path: Path, lost: str
) -> None:
    def failing(request: Request) -> str | Exception:
        text = request.messages[-1].content
        follow_up = "follow question" in text
        asked = {"questions": "domain" in text.lower() and not follow_up, "follow-ups": follow_up}
        if asked[lost]:
            return BadKeyError("401: no such key")
        return speaker("b", 4)(request)

    config = spoken(follow_ups={"rounds": 1})
    agents = {**speakers(), "b": ScriptedAgent(failing, name="b")}
    outcome = await run_exam(config, tmp_path, agents=agents)
    assert outcome.status == "partial"
    assert "b as examiner" in (outcome.reason or "")
    healed = await run_exam(config, tmp_path, agents=speakers())
    assert healed.status == "complete"
    calm = tmp_path / "calm"
    await run_exam(config, calm, agents=speakers())
    records = [f"{kind}.jsonl" for kind in RECORDS]
    assert contents(tmp_path, *records) == contents(calm, *records)


@pytest.mark.parametrize("name", ["..", ".", "/", "../../x", "a:b", "n" * 100, "a\\..\\b", ". ."])
def test_no_name_of_an_exam_leads_out_of_the_runs(name: str) -> None:
    folder = default_folder(simulated(name=name))
    assert folder.parent == Path("runs")
    assert folder.name not in ("", ".", "..")
    assert len(folder.name) <= 100
    assert folder.name.isprintable()


async def test_what_a_newcomer_failed_at_is_asked_again_as_the_reason_says(tmp_path: Path) -> None:
    await run_exam(spoken(), tmp_path, agents=speakers())
    config, agents = new_judge(tmp_path)
    dead = {"z": ScriptedAgent(lambda _: BadKeyError("401: no such key"), name="z")}
    outcome = await add(tmp_path, config, agents={**speakers(), **dead})
    assert outcome.status == "partial"
    assert "`peerexam run` with the exam.yaml" in (outcome.reason or "")
    resolved = load_config(tmp_path / "exam.yaml", environ={})
    outcome = await run_exam(resolved, tmp_path, agents={**speakers(), **agents})
    assert outcome.status == "complete"
    assert "z" in [row["agent"] for row in outcome.standings["standings"]]


async def test_questions_that_share_an_id_are_refused(tmp_path: Path) -> None:
    agents = [{"name": name, "model": f"sim/{number}"} for number, name in enumerate(("a", "a:x"))]
    config = simulated(agents=agents, questions={"domains": ["x:y", "y"], "per_domain": 1})
    with pytest.raises(SetupError, match="two questions have the id 'a:x:y:1'"):
        await run_exam(config, tmp_path)
