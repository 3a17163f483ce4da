"""The prompts and raw replies in the report's page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.report.run.test_html import Page, assert_inert

from peerexam.agents.function import ScriptedAgent
from peerexam.calls import Completion, Request
from peerexam.cli import main
from peerexam.ledger.reading import SqliteReader, reading
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.runner import in_own_loop, run_exam
from peerexam.report.run.html import write_report
from peerexam.runfolder import RunFolder

HOSTILE = "</script><img src=x onerror=alert(1)>"
MARK = "accuracy: 3\ncoherence: 3\nfactuality: 3\ncomprehensiveness: 3\noverall: 4"


def reply(request: Request) -> Completion:
    text = request.messages[-1].content
    if "Verdict:" in text and not request.draw:
        return Completion(f"Hm. {HOSTILE}", thinking="a second look")
    if "Verdict:" in text:
        return Completion("Verdict: Response 2")
    return Completion(MARK if "overall" in text else f"{HOSTILE} is my answer")


def config_of(tmp_path: Path, questions: int = 2) -> ExamConfig:
    rows = ({"id": f"q{n}", "text": f"Why is {n} so?", "domain": "d"} for n in range(questions))
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    roles = {"a": ["examinee"], "b": ["examinee"], "j": ["judge"]}
    agents = [{"name": n, "model": f"test/{n}", "roles": held} for n, held in roles.items()]
    return ExamConfig.model_validate(
        {"agents": agents, "questions": {"file": tmp_path / "q.jsonl"}, "voting": {"rounds": 20}}
    )


def run_of(tmp_path: Path, db: str | None = None, questions: int = 2) -> Path:
    given = {name: ScriptedAgent(reply, name) for name in "abj"}
    # In a loop of its own: the browser tests are inside of one.
    in_own_loop(run_exam(config_of(tmp_path, questions), tmp_path / "run", db=db, agents=given))
    return tmp_path / "run"


def page_of(run: Path, **options: Any) -> Page:
    return Page(write_report(run, **options).read_text("utf-8"))


def texts(data: dict[str, Any], number: int) -> dict[str, Any]:
    """A call as the page's script puts it together."""
    held = data["exchanges"]

    def text(lines: list[int] | None) -> str | None:
        return None if lines is None else "\n".join(held["lines"][line] for line in lines)

    key, agent, messages, state, said, thinking, _, _ = held["calls"][number]
    prompt = [(held["messages"][m][0], text(held["messages"][m][1])) for m in messages]
    return {"key": key, "agent": agent, "prompt": prompt, "state": state, "reply": text(said),
            "thinking": text(thinking)}  # fmt: skip


def test_every_record_of_the_page_has_its_prompts_and_replies(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    page = page_of(run)
    assert_inert(page)
    data = page.data
    folder = RunFolder(run)
    stored: dict[str, list[Any]] = {
        "answers": list(folder.answers()),
        "marks": list(folder.marks()),
        "verdicts": list(folder.verdicts()),
    }
    with reading(folder.ledger_path) as reader:
        for question in data["questions"]:
            for kind, records in enumerate(stored.values(), 1):
                mine = [r for r in records if r.question_id == question["id"]]
                assert len(question["calls"][kind]) == len(mine) > 0
                for record, numbers in zip(mine, question["calls"][kind], strict=True):
                    assert record.call is not None
                    keys = record.call.split("+")
                    shown = [texts(data, number) for number in numbers]
                    held = reader.read(keys)
                    for key, one in zip(keys, shown, strict=True):
                        outcome = held[key].outcome
                        assert isinstance(outcome, Completion)
                        assert key.startswith(one["key"])
                        assert one["reply"] == outcome.text
                        assert one["thinking"] == outcome.thinking
                        assert one["prompt"] == [tuple(m) for m in held[key].request["messages"]]
    verdict = [texts(data, n) for n in data["questions"][0]["calls"][3][0]]
    assert [one["reply"] for one in verdict] == [f"Hm. {HOSTILE}", "Verdict: Response 2"]


def test_what_prompts_have_in_common_stands_once(tmp_path: Path) -> None:
    held = page_of(run_of(tmp_path, questions=24)).data["exchanges"]
    assert len(set(held["lines"])) == len(held["lines"])
    messages = [sum(len(held["lines"][n]) for n in lines) for _, lines in held["messages"]]
    whole = sum(messages[n] for call in held["calls"] for n in call[2])
    assert sum(map(len, held["lines"])) < whole / 4


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    assert write_report(run).read_bytes() == write_report(run).read_bytes()


def test_without_its_ledger_the_page_says_what_it_lacks(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    (run / "ledger.sqlite").rename(tmp_path / "other.sqlite")
    page = page_of(run)
    assert "exchanges" not in page.data
    assert "ledger was not available" in page.text
    assert "exchanges" in page_of(run, db=tmp_path / "other.sqlite").data
    (run / "ledger.sqlite").write_bytes(b"not a ledger at all" * 100)
    assert "ledger was not available" in page_of(run).text


def test_a_ledger_that_is_damaged_inside_does_not_stop_the_report(tmp_path: Path) -> None:
    run = run_of(tmp_path, questions=40)
    body = bytearray((run / "ledger.sqlite").read_bytes())
    body[16384:] = bytes(len(body) - 16384)  # all pages but the first
    (run / "ledger.sqlite").write_bytes(body)
    assert "ledger was not available" in page_of(run).text


def test_a_run_that_asked_no_model_needs_no_such_note(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    for kind in ("answers", "marks", "verdicts"):
        path = run / f"{kind}.jsonl"
        bodies = [json.loads(line) | {"call": None} for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(body) + "\n" for body in bodies))
    page = page_of(run)
    assert "exchanges" not in page.data
    assert "ledger" not in page.text


def test_of_more_than_there_is_room_for_the_ledger_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(tmp_path, questions=70)
    asked: list[int] = []
    read = SqliteReader.read

    def counting(self: SqliteReader, keys: Any) -> Any:
        asked.append(len(keys))
        return read(self, keys)

    monkeypatch.setattr(SqliteReader, "read", counting)
    whole = page_of(run).data
    assert sum("calls" in question for question in whole["questions"]) == 70
    everything = sum(asked)
    asked.clear()
    page = page_of(run, room=4000)
    shown = sum("calls" in question for question in page.data["questions"])
    assert 0 < shown < 20
    assert f"{shown} of the 70 questions are in this page" in page.text
    assert sum(asked) < everything / 2
    held = page.data["exchanges"]
    assert sum(map(len, held["lines"])) < 8000, "room and at most one question more"


def test_only_questions_that_are_shown_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(tmp_path, questions=12)
    asked: set[str] = set()
    read = SqliteReader.read

    def noting(self: SqliteReader, keys: Any) -> Any:
        asked.update(keys)
        return read(self, keys)

    monkeypatch.setattr(SqliteReader, "read", noting)
    page = page_of(run, question_limit=3)
    shown = {question["id"] for question in page.data["questions"]}
    folder = RunFolder(run)
    records = [*folder.answers(), *folder.marks(), *folder.verdicts()]
    theirs = {key for r in records if r.question_id in shown for key in (r.call or "").split("+")}
    assert asked == theirs


def test_the_command_takes_a_ledger_elsewhere(tmp_path: Path, capsys: Any) -> None:
    elsewhere = tmp_path / "shared.sqlite"
    run = run_of(tmp_path, db=str(elsewhere))
    assert main(["report", str(run)]) == 0
    assert "exchanges" not in Page((run / "report.html").read_text("utf-8")).data
    assert main(["report", str(run), "--db", str(elsewhere)]) == 0
    assert "exchanges" in Page((run / "report.html").read_text("utf-8")).data
    assert main(["report", str(run), "--db", "nowhere.sqlite"]) == 2
    assert "there is no ledger here" in capsys.readouterr().err
