"""`show`: every answer, mark and verdict leads to its prompt and its raw reply."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.function import ScriptedAgent
from peerexam.calls import Completion, TokenLogprob, calls_of
from peerexam.cli import main
from peerexam.ledger.reading import reading
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.runner import run_exam
from peerexam.runfolder import RunFolder
from peerexam.runfolder.lookup import files_of, read_lines

MARK = "accuracy: 3\ncoherence: 3\nfactuality: 3\ncomprehensiveness: 3\noverall: 4"
HOSTILE = "It is \x1b[2J\x1b]0;owned\x07 \u202ereversed\u2066 \u200bhidden"
RIVERS = "1. Which rivers are the longest?"
Show = Callable[..., Any]


def reply_of(chat_server: Any) -> Callable[[Any], Any]:
    """Three models: `firm` does what it is asked, `hazy` on second asking, `gone` never."""

    def reply(served: Any) -> Any:
        text, name = served.last_user_text, served.body["model"]
        asked_again = sum(turn["role"] == "user" for turn in served.messages) > 1
        if name == "gone":
            return chat_server.error(400, "this model has left")
        if name == "hazy" and not asked_again and ("Verdict:" in text or "overall" in text):
            return "I would rather not say."
        fixed = {"Verdict:": "Verdict: Response 1", "overall": MARK, "Level:": "Level: analysis"}
        known = next((said for asked, said in fixed.items() if asked in text), None)
        if known is not None:
            return known
        if "exam paper" in text or "questions" in text:
            about = text.rsplit("domain: ", 1)[-1].strip()
            return RIVERS if about == "rivers" else "1. Why do tides differ from port to port?"
        if "Same:" in text:
            return "Same: yes"
        return HOSTILE if name == "firm" else f"{name} says so, draw {served.body['temperature']}."

    return reply


@pytest.fixture
def config(chat_server: Any, monkeypatch: pytest.MonkeyPatch) -> ExamConfig:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-to-be-seen-anywhere")
    server = chat_server(reply_of(chat_server))
    roles = {
        "firm": ["examinee", "judge"],
        "hazy": ["examiner", "examinee", "judge"],
        "gone": ["examinee", "judge"],
    }
    return ExamConfig.model_validate(
        {
            "name": "shown",
            "agents": [
                {"name": name, "model": f"openai/{name}@{server.url}", "roles": held}
                for name, held in roles.items()
            ],
            "questions": {
                "domains": ["rivers", "seas"],
                "per_domain": 1,
                "levels": {"classifiers": ["firm", "gone"]},
                "references": {"draws": 2, "checker": "firm"},
            },
            "judging": {"ranking": "round_robin"},
            "voting": {"rounds": 20},
        }
    )


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Show:
    """The output of the command, as JSON or as text."""

    def shown(*arguments: str, status: int = 0, text: bool = False) -> Any:
        capsys.readouterr()
        assert main(["show", *arguments, *([] if text else ["--json"])]) == status
        said = capsys.readouterr()
        if status:
            return said.err
        return said.out if text else json.loads(said.out)

    return shown


@pytest.fixture
def run(config: ExamConfig, tmp_path: Path) -> Path:
    asyncio.run(run_exam(config, tmp_path / "run"))
    return tmp_path / "run"


def test_every_record_of_a_run_leads_to_what_was_asked_and_answered(run: Path, show: Show) -> None:
    seen: set[tuple[str, str]] = set()
    for file, path in files_of(run).items():
        for line in read_lines(file, path):
            if file == "rankings":
                continue  # it is made of verdicts
            assert line.calls, f"{line.place} is {line.body}"
            seen.add((file, line.body.get("state", "ok")))
            by_name, by_place = show(str(run), line.name), show(str(run), line.place)
            assert by_name == by_place
            assert [call["call"] for call in by_name["calls"]] == list(line.calls)
            assert by_name["missing"] == []
            assert by_name["records"][0]["record"] == dict(line.body)
            for call in by_name["calls"]:
                assert call["messages"][-1]["role"] == "user"
                assert (call["reply"] is None) == (call["state"] == "error")
    assert seen == {
        *(
            (kind, "ok")
            for kind in ("questions", "levels", "references", "answers", "marks", "verdicts")
        ),
        *((kind, "error") for kind in ("levels", "answers", "marks", "verdicts")),
    }


def test_earlier_attempts_stand_before_the_reply_that_was_read(run: Path, show: Show) -> None:
    first, last = show(str(run), "q-hazy-rivers-1/firm/hazy")["calls"]
    assert (first["reply"], first["draw"]) == ("I would rather not say.", 0)
    assert (last["reply"], last["draw"]) == (MARK, 1)
    assert last["messages"][-2] == {"role": "assistant", "content": "I would rather not say."}
    text = show(str(run), "q-hazy-rivers-1/firm/hazy", text=True)
    assert (
        text.index("I would rather not say.")
        < text.index("CALL 2 OF 2")
        < text.index("│ overall: 4")
    )


def test_a_failed_call_shows_its_prompt_and_its_error(run: Path, show: Show) -> None:
    (call,) = show(str(run), "q-hazy-rivers-1/gone")["calls"]
    assert "Which rivers" in call["messages"][-1]["content"]
    assert call["state"] == "error"
    assert "this model has left" in call["reason"]


def test_the_check_of_a_reference_is_behind_it_too(run: Path, show: Show) -> None:
    answered, checked = show(str(run), "q-hazy-rivers-1/reference/1")["calls"]
    assert answered["agent"] == "hazy"
    assert (checked["agent"], checked["reply"]) == ("firm", "Same: yes")


def test_a_question_lists_what_is_said_of_it_and_each_id_can_be_pasted(
    run: Path, show: Show
) -> None:
    body = show(str(run), "q-hazy-rivers-1")
    assert body["calls"][0]["reply"] == RIVERS
    kinds = {one["place"].split(":")[0] for one in body["about"]}
    assert kinds == {"answers", "marks", "verdicts", "rankings", "levels", "references"}
    for one in body["about"]:
        assert show(str(run), one["id"])["records"][0]["place"] == one["place"]


def test_calls_are_found_by_whole_keys_prefixes_and_as_records_join_them(
    run: Path, show: Show
) -> None:
    (mark,) = [
        m
        for m in RunFolder(run).marks()
        if (m.question_id, m.examinee, m.judge) == ("q-hazy-rivers-1", "firm", "hazy")
    ]
    assert mark.call is not None
    first, last = calls_of(mark.call)
    for given in (mark.call, last, last[:12], last[:12] + "…", first):
        found = show(str(run), given)
        assert [record["id"] for record in found["records"]] == ["q-hazy-rivers-1/firm/hazy"]
        assert [call["call"] for call in found["calls"]] == [first, last]


def test_unknown_and_ambiguous_ids_name_what_is_near(run: Path, show: Show) -> None:
    assert "q-hazy-rivers-1/firm/hazy" in show(str(run), "q-hazy-rivers-1/firm/hazi", status=2)
    assert "q-hazy-seas-1" in show(str(run), "q-hazy-lakes-1", status=2)
    assert "nothing in" in show(str(run), "0" * 64, status=2)
    assert "nothing in" in show(str(run), "verdicts:99999", status=2)
    with (run / "marks.jsonl").open() as file:
        again = file.readline()
    with (run / "marks.jsonl").open("a") as file:
        file.write(again)
    name = json.loads(again)
    said = show(str(run), f"q-hazy-rivers-1/{name['examinee']}/{name['judge']}", status=2)
    assert "marks:1" in said


def test_a_prefix_of_several_calls_is_ambiguous(run: Path, show: Show) -> None:
    lines = (run / "answers.jsonl").read_text().splitlines()
    bodies = [json.loads(line) for line in lines]
    bodies[0]["call"], bodies[1]["call"] = "abcdef" + "0" * 58, "abcdef" + "1" * 58
    (run / "answers.jsonl").write_text("".join(json.dumps(body) + "\n" for body in bodies))
    said = show(str(run), "abcdef", status=2)
    assert "abcdef" + "0" * 58 in said
    assert "abcdef" + "1" * 58 in said


def test_text_of_models_cannot_steer_the_terminal(run: Path, show: Show, capsys: Any) -> None:
    text = show(str(run), "q-hazy-rivers-1/firm", text=True)
    capsys.readouterr()
    assert main(["show", str(run), "q-hazy-rivers-1/firm", "--json"]) == 0
    for said in (text, capsys.readouterr().out):
        assert not set(said) & set("\x1b\x07\u202e\u2066\u200b")
    assert show(str(run), "q-hazy-rivers-1/firm")["calls"][0]["reply"] == HOSTILE
    assert "sk-not-to-be-seen" not in text


def test_show_without_an_id_says_what_an_id_is(run: Path, show: Show) -> None:
    text = show(str(run), text=True)
    assert "q-hazy-rivers-1" in text
    assert "QUESTION/FIRST/SECOND/JUDGE" in text
    assert show(str(run))["questions"] == ["q-hazy-rivers-1", "q-hazy-seas-1"]


def test_another_ledger_is_named_by_db_and_a_missing_one_is_said(
    run: Path, show: Show, tmp_path: Path
) -> None:
    (run / "ledger.sqlite").rename(tmp_path / "elsewhere.sqlite")
    lost = show(str(run), "q-hazy-rivers-1/hazy")
    assert lost["calls"] == []
    assert "--db" in lost["missing"][0]
    found = show(str(run), "q-hazy-rivers-1/hazy", "--db", str(tmp_path / "elsewhere.sqlite"))
    assert found["calls"][0]["reply"].startswith("hazy says so")
    assert "there is no ledger here" in show(
        str(run), "q-hazy-rivers-1", "--db", "nowhere.sqlite", status=2
    )


def test_a_ledger_in_postgresql_is_read(
    config: ExamConfig, tmp_path: Path, postgres_url: str, show: Show
) -> None:
    asyncio.run(run_exam(config, tmp_path / "run", db=postgres_url))
    found = show(str(tmp_path / "run"), "q-hazy-rivers-1/firm/hazy/firm", "--db", postgres_url)
    assert found["calls"][0]["reply"] == "Verdict: Response 1"
    prefix = found["calls"][0]["call"][:16]
    assert show(str(tmp_path / "run"), prefix, "--db", postgres_url)["calls"] == found["calls"]


def test_a_running_exam_is_shown_and_not_disturbed(
    config: ExamConfig, tmp_path: Path, show: Show
) -> None:
    folder = tmp_path / "run"
    seen: list[Any] = []

    class Watching(ScriptedAgent):
        async def complete(self, request: Any) -> Completion:
            if "Verdict:" in request.messages[-1].content and not seen:
                with reading(folder / "ledger.sqlite") as reader:
                    answered = [reader.read([key])[key] for key in reader.keys_from("", 50)]
                seen.extend(call for call in answered if call.agent == "hazy")
                # As a killed process leaves it: a line that is half written.
                with (folder / "answers.jsonl").open("a") as file:
                    file.write('{"question_id":"q-hazy-rivers-1","exam')
                seen.append(await asyncio.to_thread(show, str(folder), "questions:1"))
            return await super().complete(request)

    given = {
        "firm": Watching(
            lambda r: "Verdict: Response 1" if "Verdict:" in r.messages[-1].content else MARK,
            "firm",
        )
    }
    outcome = asyncio.run(run_exam(config, folder, agents=given))
    assert seen[-1]["records"][0]["id"] == "q-hazy-rivers-1"
    assert any("hazy says so" in str(call.outcome) for call in seen[:-1])
    assert outcome.standings["counts"]["answers"]["planned"] == 6


def test_a_judge_by_likelihood_shows_the_texts_that_it_scored(tmp_path: Path, show: Show) -> None:
    scorer = ScriptedAgent(
        lambda r: Completion(
            r.continuation or "", logprobs=(TokenLogprob("a", -1.5), TokenLogprob("b", -0.5))
        ),
        "scorer",
        features=("chat", "score"),
    )
    (tmp_path / "questions.jsonl").write_text('{"id": "q1", "text": "Why?", "domain": "d"}\n')
    config = ExamConfig.model_validate(
        {
            "agents": [
                {"name": "a", "model": "test/a", "roles": ["examinee"]},
                {"name": "b", "model": "test/b", "roles": ["examinee"]},
                {
                    "name": "scorer",
                    "model": "test/s",
                    "roles": ["judge"],
                    "judge": {"by": "likelihood"},
                },
            ],
            "questions": {"file": tmp_path / "questions.jsonl"},
        }
    )
    given = {n: ScriptedAgent(partial("{} thinks so".format, n), n) for n in "ab"}
    given["scorer"] = scorer
    asyncio.run(run_exam(config, tmp_path / "run", agents=given))
    body = show(str(tmp_path / "run"), "q1/a/scorer")
    assert [call["continuation"] for call in body["calls"]] == ["a thinks so", "a thinks so"]
    assert len(show(str(tmp_path / "run"), "q1/a/b/scorer")["calls"]) == 4
    assert "-2.000 nats over 2 tokens" in show(str(tmp_path / "run"), "q1/a/scorer", text=True)


def test_simulated_and_imported_records_say_why_there_is_no_call(
    tmp_path: Path, show: Show
) -> None:
    (tmp_path / "EXAM.yaml").write_text(
        'agents:\n  - {name: x, model: "sim/x"}\n  - {name: y, model: "sim/y"}\n'
        '  - {name: z, model: "sim/z"}\n'
        "questions: {domains: [tides], per_domain: 1}\nvoting: {rounds: 20}\n"
    )
    run = tmp_path / "run"
    assert main(["run", str(tmp_path / "EXAM.yaml"), "--out", str(run), "--quiet"]) == 0
    assert "simulated" in show(str(run), "x:tides:1/y")["missing"][0]
    battles = tmp_path / "battles.csv"
    battles.write_text("model_a,model_b,winner\nx,y,model_a\ny,x,tie\n")
    imported = tmp_path / "imported"
    assert main(["import", "arena-rank", str(battles), "--out", str(imported)]) == 0
    assert "imported" in show(str(imported), "verdicts:1")["missing"][0]


def test_rows_of_any_study_that_carry_calls_are_shown(run: Path, show: Show) -> None:
    (mark,) = [
        m
        for m in RunFolder(run).marks()
        if (m.question_id, m.examinee, m.judge) == ("q-hazy-rivers-1", "firm", "hazy")
    ]
    assert mark.call is not None
    first, last = calls_of(mark.call)
    rows = [
        {
            "item": "i1",
            "judgements": {"truth by hazy": {"state": "ok", "call": last}},
            "call": None,
        },
        {"trace": "t1", "calls": [first, last]},
    ]
    (run / "finds.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [c["call"] for c in show(str(run), "finds:1")["calls"]] == [last]
    assert [c["call"] for c in show(str(run), "finds.jsonl:2")["calls"]] == [first, last]


def test_a_folder_without_records_is_refused_by_name(tmp_path: Path, show: Show) -> None:
    assert str(tmp_path) in show(str(tmp_path), "x", status=2)
    assert "nowhere" in show("nowhere", "x", status=2)
