"""The pilot over real connections: what it asks, when it stops, and that it costs nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from peerexam.cli import main
from peerexam.errors import NoStandingsError
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.rejudge_and_add import add, rejudge
from peerexam.protocols.run.runner import run_exam

ROLES = ["examiner", "examinee", "judge"]
LEVELS = {"ann": 5, "bob": 4, "cid": 3, "dot": 2}
PROSE = "Both are fine pieces of work, each in its own way."
Script = Callable[[Any], Any]


def asked_for(served: Any) -> str:
    text = served.last_user_text
    if "Verdict:" in text:
        return "verdict"
    if "overall" in text:
        return "mark"
    return "questions" if "domain" in text.lower() else "answer"


def spoken(served: Any) -> str:
    """A model in words: it sets questions, answers with its level, prefers the higher one."""
    text, name = served.last_user_text, served.body["model"]
    if asked_for(served) == "verdict":
        levels = [int(part.split()[0]) for part in text.split("LEVEL")[1:]]
        if len(levels) < 2:
            return "Verdict: Tie"
        return f"Verdict: Response {1 if levels[0] >= levels[1] else 2}"
    if asked_for(served) == "mark":
        level = text.split("LEVEL")[1].split()[0] if "LEVEL" in text else "3"
        marks = "accuracy: 3\ncoherence: 3\nfactuality: 3\ncomprehensiveness: 3\n"
        return f"{marks}overall: {level}"
    if "cognitive" in text:
        return "Level: analysis"
    if asked_for(served) == "questions":
        word = next((one for one in DOMAINS if one in text), "things")
        return "\n".join(
            f"{n}. Which of the {word} that {name} knows is the {kind}?"
            for n, kind in enumerate(("longest", "oldest", "deepest"), 1)
        )
    return f"LEVEL {LEVELS[name]} is what {name} has to say."


DOMAINS = ["rivers", "primes", "stars"]


def agent(name: str, url: str, roles: list[str] = ROLES, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "model": f"openai/{name}@{url}",
        "roles": roles,
        "limits": {"attempts": 1, "concurrency": 4},
        **more,
    }


def exam(*agents: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": "piloted",
        "agents": list(agents),
        "questions": {"domains": DOMAINS, "per_domain": 3},
        "voting": {"rounds": 20},
        **more,
    }


def three(url: str, **more: Any) -> dict[str, Any]:
    return exam(*(agent(name, url) for name in ("ann", "bob", "cid")), **more)


def command(config: dict[str, Any], folder: Path, *flags: str) -> int:
    path = folder / "EXAM.yaml"
    path.write_text(yaml.safe_dump(config))
    return main(["run", str(path), "--out", str(folder / "run"), "--quiet", *flags])


def judging_in_prose(served: Any) -> str:
    return PROSE if asked_for(served) in ("verdict", "mark") else spoken(served)


def test_judges_that_answer_in_prose_stop_the_run_and_are_quoted(
    chat_server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = chat_server(judging_in_prose)
    assert command(three(server.url), tmp_path) == 4
    # 3 papers; 3 answers to each of 3 questions; of each judge a mark on the first question and
    # 2 verdicts on each, all of them asked for twice: 3 + 9 + 3 · 2 · (1 + 6) = 54.
    assert len(server.requests) == 54
    said = capsys.readouterr().err
    assert "no standings could follow, so the rest is not asked: no judge gave a verdict" in said
    assert f"  | {PROSE}" in said, "the reply itself"
    assert "  | Verdict: Response 1|Response 2|Tie" in said, "the tail of the prompt"
    assert "what to change: give the role judge to a model that" in said
    assert "--no-pilot" in said
    assert not any("primes" in one.last_user_text for one in server.requests)


def test_without_the_pilot_such_a_run_ends_without_standings_and_says_so_first(
    chat_server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = chat_server(judging_in_prose)
    assert command(three(server.url), tmp_path, "--no-pilot") == 4
    assert len(server.requests) > 500
    said = capsys.readouterr().out
    first = " ".join(said.split("\n\n")[0].split())
    assert first.startswith("There are no standings, so nothing may be concluded: only 0 of the 1")
    assert "ann: gave no usable verdict, mark or ranking" in first
    assert "counted all the same" not in said
    page = (tmp_path / "run" / "report.html").read_text()
    assert "<strong>No standings.</strong>" in page
    assert main(["report", str(tmp_path / "run"), "--json"]) == 4
    body = json.loads(capsys.readouterr().out)
    assert body["no_standings"].startswith("only 0 of the 1 judges")
    assert body["standings"]["status"] == "complete"
    assert body["standings"]["standings"] == []


def test_a_pilot_that_stops_says_so_in_json_too(
    chat_server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = chat_server(judging_in_prose)
    assert command(three(server.url), tmp_path, "--json") == 4
    body = json.loads(capsys.readouterr().out)
    assert body["status"] == "stopped"
    assert "no judge gave a verdict" in body["no_standings"]


def test_two_agents_of_whom_nobody_may_judge_are_found_before_any_call(
    chat_server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = chat_server(spoken)
    config = exam(agent("ann", server.url), agent("bob", server.url))
    assert command(config, tmp_path) == 4
    assert not server.requests
    assert "no judge may judge 2 of the agents that answer (ann, bob)" in capsys.readouterr().err
    assert command({**config, "pilot": False}, tmp_path) == 4
    assert server.requests
    assert "There are no standings" in capsys.readouterr().out


def test_twins_of_a_judge_are_its_own_answers(chat_server: Any, tmp_path: Path) -> None:
    server = chat_server(spoken)
    one = agent("ann", server.url, ["examinee"])
    two = {**agent("bob", server.url, ["examinee"])}
    judge = {**agent("eve", server.url, ["examiner", "judge"]), "model": one["model"]}
    assert command(exam(one, two, judge), tmp_path) == 4
    assert not server.requests


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (("", "length"), "raise answers.max_tokens (now 16,384)"),
        (("", "stop"), "see what the model says by itself"),
        (("", "content_filter"), "name other domains or questions"),
    ],
)
def test_answers_that_nobody_can_judge_stop_the_run(
    chat_server: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    reply: tuple[str, str],
    words: str,
) -> None:
    server = chat_server(
        lambda served: (
            chat_server.completion(*reply) if asked_for(served) == "answer" else spoken(served)
        )
    )
    assert command(three(server.url), tmp_path) == 4
    assert len(server.requests) == 3 + 9, "three papers, and three answers to three questions"
    said = capsys.readouterr().err
    assert "only 0 of 3 agents gave an answer that can be judged" in said
    assert f"(empty, finish reason {reply[1]})" in said
    assert words in said


def test_examiners_whose_questions_cannot_be_read_stop_the_run(
    chat_server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def script(served: Any) -> str:
        return "I had rather not." if asked_for(served) == "questions" else "x"

    server = chat_server(script)
    assert command(three(server.url), tmp_path) == 4
    # Three domains, each asked for four times (questions.attempts) by each of three examiners.
    assert len(server.requests) == 3 * 4 * 3
    said = capsys.readouterr().err
    assert "no examiner set a question" in said
    assert "  | I had rather not." in said


async def test_a_judge_that_the_exam_can_do_without_is_named_and_costs_nothing_more(
    chat_server: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def script(served: Any) -> str:
        return judging_in_prose(served) if served.body["model"] == "cid" else spoken(served)

    with_it, without_it = chat_server(script), chat_server(script)
    outcome = await run_exam(ExamConfig.model_validate(three(with_it.url)), tmp_path / "with")
    (named,) = (one for one in caplog.messages if "cid as judge, asked for a verdict" in one)
    assert PROSE in named
    assert named.endswith("the run continues")
    assert [row["agent"] for row in outcome.standings["standings"]] == ["ann", "bob", "cid"]
    config = ExamConfig.model_validate(three(without_it.url))
    await run_exam(config, tmp_path / "without", pilot=False)

    def bodies(server: Any) -> list[str]:
        return sorted(json.dumps(one.body, sort_keys=True) for one in server.requests)

    assert bodies(with_it) == bodies(without_it), "the pilot's calls are the exam's own"
    files = [(tmp_path / name / "standings.json").read_bytes() for name in ("with", "without")]
    assert files[0] == files[1]


async def test_once_mended_the_same_command_goes_on_from_the_pilots_calls(
    chat_server: Any, tmp_path: Path
) -> None:
    mended = False

    def script(served: Any) -> str:
        plain = mended or served.body.get("temperature") == 0.5
        return spoken(served) if plain else judging_in_prose(served)

    server = chat_server(script)
    with pytest.raises(NoStandingsError):
        await run_exam(ExamConfig.model_validate(three(server.url)), tmp_path)
    seen = [json.dumps(one.body, sort_keys=True) for one in server.requests]
    mended = True
    config = three(server.url, judging={"reasks": 2})  # the third time it keeps to the form
    outcome = await run_exam(ExamConfig.model_validate(config), tmp_path)
    assert outcome.status == "complete"
    assert len(outcome.standings["standings"]) == 3
    later = [json.dumps(one.body, sort_keys=True) for one in server.requests[len(seen) :]]
    assert not set(seen) & set(later), "nothing is paid for twice"


async def test_one_unlucky_question_stops_nothing(chat_server: Any, tmp_path: Path) -> None:
    def script(served: Any) -> Any:
        if "rivers that ann knows is the longest" in served.last_user_text:
            return {"answer": "", "questions": spoken(served)}.get(asked_for(served), PROSE)
        return spoken(served)

    server = chat_server(script)
    outcome = await run_exam(ExamConfig.model_validate(three(server.url)), tmp_path)
    assert outcome.status == "complete"
    assert len(outcome.standings["standings"]) == 3


@pytest.mark.parametrize(
    "more",
    [
        {"judging": {"panel": "author"}},
        {"judging": {"ranking": "none"}},
        {"judging": {"ranking": "rank_merge", "marks": False}},
        {"judging": {"ranking": "round_robin", "self_preference": False}},
        {"follow_ups": {"rounds": 1, "sample": 1}},
        {"protocol": "exam", "examiner": "dot"},
        {"judging": {"quorum": 3}},
        {"judging": {"fitness": {"max_attack_success": 0.9}}},
        {"questions": {"levels": {"classifiers": ["ann"]}}},
    ],
)
@pytest.mark.parametrize("share", [0.4, pytest.param(1.0, marks=pytest.mark.slow)])
async def test_whatever_the_exam_the_pilot_asks_nothing_that_it_would_not(
    chat_server: Any, tmp_path: Path, more: dict[str, Any], share: float
) -> None:
    names = ("ann", "bob", "cid", "dot")
    found = []
    for pilot in (True, False):
        server = chat_server(spoken)
        agents = [agent(name, server.url, judge={"share": share}) for name in names]
        questions = {"domains": DOMAINS[:2], "per_domain": 2, **more.get("questions", {})}
        config = ExamConfig.model_validate(exam(*agents, **{**more, "questions": questions}))
        folder = tmp_path / str(pilot)
        outcome = await run_exam(config, folder, pilot=pilot)
        bodies = sorted(json.dumps(one.body, sort_keys=True) for one in server.requests)
        found.append((bodies, (folder / "standings.json").read_bytes(), outcome.status))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "more", [{"judging": {"panel": "author"}}, {"judging": {"quorum": 2}, "share": 0.3}]
)
async def test_questions_that_the_exam_takes_out_are_asked_of_nobody(
    chat_server: Any, tmp_path: Path, more: dict[str, Any]
) -> None:
    """All examiners set the same questions, of which the exam keeps the first examiner's."""

    def script(served: Any) -> str:
        if asked_for(served) == "questions":
            return "1. Which is the longest?\n2. Which is the oldest of them?\n3. How deep is it?"
        return spoken(served)

    found = []
    settings = {key: value for key, value in more.items() if key != "share"}
    for pilot in (True, False):
        server = chat_server(script)
        agents = [
            agent(name, server.url, judge={"share": more.get("share", 1)})
            for name in ("ann", "bob", "cid", "dot")
        ]
        config = ExamConfig.model_validate(exam(*agents, **settings))
        await run_exam(config, tmp_path / str(pilot), pilot=pilot)
        found.append(sorted(json.dumps(one.body, sort_keys=True) for one in server.requests))
    assert found[0] == found[1]


async def test_a_quorum_that_is_not_reached_stops_the_run(chat_server: Any, tmp_path: Path) -> None:
    def script(served: Any) -> str:
        return spoken(served) if served.body["model"] == "ann" else judging_in_prose(served)

    server = chat_server(script)
    config = ExamConfig.model_validate(three(server.url, judging={"quorum": 2}))
    with pytest.raises(NoStandingsError, match="only 1 of the 2 judges of the quorum"):
        await run_exam(config, tmp_path)
    assert not any("primes" in one.last_user_text for one in server.requests)


async def test_a_budget_that_ends_within_the_pilot_leaves_a_partial_run(
    chat_server: Any, tmp_path: Path
) -> None:
    server = chat_server(spoken)
    config = three(server.url, limits={"budget": {"calls": 5}})
    outcome = await run_exam(ExamConfig.model_validate(config), tmp_path)
    assert outcome.status == "partial"
    assert "budget" in (outcome.reason or "")
    assert len(server.requests) == 5


def test_a_run_that_a_budget_ended_before_any_standings_stays_partial(
    chat_server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = chat_server(spoken)
    assert command(three(server.url, limits={"budget": {"calls": 5}}), tmp_path) == 3
    first, second, *_ = capsys.readouterr().out.split("\n\n")
    assert first.startswith("There are no standings")
    assert second.startswith("PARTIAL: ")


def test_what_a_model_said_cannot_steer_the_terminal(
    chat_server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = chat_server(
        lambda served: "\x1b[2J\x9b31mwiped" if asked_for(served) == "verdict" else spoken(served)
    )
    assert command(three(server.url), tmp_path) == 4
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\x9b" not in said
    assert "wiped" in said


async def test_recorded_answers_that_begin_later_are_no_reason_to_stop(
    chat_server: Any, tmp_path: Path
) -> None:
    server = chat_server(spoken)
    texts = [f"What is the height of hill {n}?" for n in range(8)]
    (tmp_path / "questions.jsonl").write_text(
        "".join(json.dumps({"text": text, "domain": "hills"}) + "\n" for text in texts)
    )
    for name, level in (("old", 4), ("new", 5)):
        rows = [{"question": text, "answer": f"LEVEL {level} says {name}"} for text in texts[4:]]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    recorded = [
        {"name": name, "model": f"file/{tmp_path / name}.jsonl", "roles": ["examinee"]}
        for name in ("old", "new")
    ]
    config = exam(
        *recorded,
        agent("ann", server.url, ["judge"]),
        questions={"file": str(tmp_path / "questions.jsonl")},
    )
    outcome = await run_exam(ExamConfig.model_validate(config), tmp_path / "run")
    assert [row["agent"] for row in outcome.standings["standings"]] == ["new", "old"]


async def test_new_judges_are_tried_before_they_judge_everything(
    chat_server: Any, tmp_path: Path
) -> None:
    server, prose = chat_server(spoken), chat_server(judging_in_prose)
    await run_exam(ExamConfig.model_validate(three(server.url)), tmp_path / "old")
    judge = ExamConfig.model_validate(exam(agent("dot", prose.url))).agents[0]
    with pytest.raises(NoStandingsError, match="no judge gave a verdict that can be read"):
        await rejudge(tmp_path / "old", [judge], tmp_path / "new")
    # On each of three questions two verdicts, on the first also a mark, each asked for twice.
    assert len(prose.requests) == 2 * (1 + 3 * 2)
    outcome = await rejudge(tmp_path / "old", [judge], tmp_path / "new", pilot=False)
    assert outcome.standings["no_standings"] is not None


async def test_who_joins_and_gives_no_answer_leaves_the_run_as_it_was(
    chat_server: Any, tmp_path: Path
) -> None:
    server, mute = chat_server(spoken), chat_server(lambda served: "")
    await run_exam(ExamConfig.model_validate(three(server.url)), tmp_path)
    names = ("standings.json", "answers.jsonl", "exam.yaml")
    before = {name: (tmp_path / name).read_bytes() for name in names}
    joining = ExamConfig.model_validate(exam(agent("dot", mute.url, ["examinee"]))).agents[0]
    with pytest.raises(NoStandingsError, match="nothing that dot did can be used"):
        await add(tmp_path, joining)
    assert len(mute.requests) == 3
    assert {name: (tmp_path / name).read_bytes() for name in names} == before
    outcome = await add(tmp_path, joining, pilot=False)
    assert [row["agent"] for row in outcome.standings["standings"]] == ["ann", "bob", "cid"]


async def test_cut_answers_are_named_with_their_limit(
    chat_server: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def script(served: Any) -> Any:
        cut = served.body["model"] == "bob" and asked_for(served) == "answer"
        return chat_server.completion(spoken(served), "length") if cut else spoken(served)

    server = chat_server(script)
    config = three(server.url, answers={"max_tokens": 77})
    outcome = await run_exam(ExamConfig.model_validate(config), tmp_path)
    (early,) = (text for text in caplog.messages if text.startswith("pilot: answers were cut"))
    assert "bob (at 77 tokens)" in early
    assert "raise answers.max_tokens (now 77)" in early
    assert "ann" not in early
    assert outcome.standings["cut_answers"] == [{"agent": "bob", "cut": 27, "of": 27}]


def test_one_agent_that_is_marked_alone_has_a_result(
    chat_server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = chat_server(spoken)
    config = exam(
        agent("ann", server.url, ["examinee"]),
        agent("dot", server.url, ["examiner", "judge"]),
        judging={"ranking": "none"},
    )
    assert command(config, tmp_path) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "ann was examined alone, so there is nobody to compare it with."


def test_answers_that_nobody_is_to_judge_are_collected(
    chat_server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = chat_server(spoken)
    config = exam(
        *(agent(name, server.url) for name in ("ann", "bob")),
        judging={"ranking": "none", "marks": False},
    )
    assert command(config, tmp_path) == 0
    assert capsys.readouterr().out.startswith("Nothing was judged, so there are no standings")
    mute = chat_server(lambda served: "" if asked_for(served) == "answer" else spoken(served))
    again = {**config, "agents": [agent(name, mute.url) for name in ("ann", "bob")]}
    other = tmp_path / "other"
    other.mkdir()
    assert command(again, other) == 4
    assert "only 0 of 2 agents gave an answer" in capsys.readouterr().err


async def test_a_pilot_without_budget_keeps_what_an_earlier_session_left(
    chat_server: Any, tmp_path: Path
) -> None:
    well = False

    def script(served: Any) -> Any:
        if served.body["model"] == "cid" and asked_for(served) == "verdict" and not well:
            return chat_server.error(400, "not today")
        return spoken(served)

    server = chat_server(script)
    agents = [agent(name, server.url) for name in ("ann", "bob", "cid")]
    whole = exam(*agents, questions={"domains": ["rivers"], "per_domain": 1})
    first = await run_exam(ExamConfig.model_validate(whole), tmp_path)
    assert first.status == "partial", "a judge's calls failed"
    before = (tmp_path / "answers.jsonl").read_bytes()
    spent = {"limits": {"budget": {"calls": len(server.requests)}}}
    second = await run_exam(ExamConfig.model_validate({**whole, **spent}), tmp_path)
    assert "budget" in (second.reason or "")
    assert "no question is sealed" not in (second.reason or "")
    assert (tmp_path / "answers.jsonl").read_bytes() in (before, b"")
    well = True
    third = await run_exam(ExamConfig.model_validate(whole), tmp_path)
    assert third.status == "complete"
    assert (tmp_path / "answers.jsonl").read_bytes() == before
