"""Agents that cannot be had, in a whole exam over real connections."""

from __future__ import annotations

import html
import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from peerexam.cli import main
from peerexam.errors import PeerexamError
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.rejudge_and_add import add
from peerexam.protocols.run.runner import run_exam
from peerexam.protocols.session.outcome import Outcome
from peerexam.report.run.html import write_report
from peerexam.runfolder import RunFolder

SECRET = "sk-very-secret-0123456789"
ROLES = ("examiner", "examinee", "judge")
LEVELS = {"ann": 5, "bob": 4, "cid": 3, "dot": 2, "eve": 1}


def spoken(served: Any) -> str:
    """A model in words: it sets questions, answers with its level, prefers the higher one."""
    text, name = served.last_user_text, served.body["model"]
    if "Verdict:" in text:
        levels = [int(part.split()[0]) for part in text.split("LEVEL")[1:]]
        return f"Verdict: Response {1 if levels[0] >= levels[1] else 2}"
    if "overall" in text:
        level = text.split("LEVEL")[1].split()[0]
        marks = "accuracy: 3\ncoherence: 3\nfactuality: 3\ncomprehensiveness: 3\n"
        return f"{marks}overall: {level}"
    if "domain" in text.lower():
        kinds = ("longest", "oldest", "deepest")
        return "\n".join(
            f"{n}. Which of the rivers that {name} knows is the {kind}?"
            for n, kind in enumerate(kinds, 1)
        )
    return f"LEVEL {LEVELS[name]} is what {name} has to say."


@pytest.fixture
def closed_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def agent(name: str, url: str, roles: Sequence[str] = ROLES, **limits: Any) -> dict[str, Any]:
    return {
        "name": name,
        "model": f"openai/{name}@{url}",
        "api_key_env": "OPENAI_API_KEY",
        "roles": list(roles),
        "limits": {"attempts": 1, "concurrency": 4, **limits},
    }


def exam(*agents: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": "faults",
        "agents": list(agents),
        "questions": {"domains": ["rivers"], "per_domain": 3},
        **more,
    }


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def hold(config: dict[str, Any], out: Path) -> Outcome:
    return await run_exam(ExamConfig.model_validate(config), out)


async def test_dead_agents_do_not_take_the_exam_down(
    chat_server: Any, closed_port: str, tmp_path: Path
) -> None:
    well = chat_server(spoken)
    barred = chat_server(lambda served: chat_server.error(401, f"Incorrect API key {SECRET}"))
    config = exam(
        agent("ann", well.url),
        agent("bob", well.url),
        agent("cid", barred.url),
        agent("dot", closed_port),
        agent("eve", well.url),
    )
    outcome = await hold(config, tmp_path)
    assert outcome.status == "partial"
    # Four calls at most are under way when the first of them is refused.
    assert 1 <= len(barred.requests) <= 4
    reason = outcome.reason or ""
    for words in (
        "agent 'cid' was disabled (BadKeyError: Incorrect API key [key]",
        "agent 'dot' was disabled (NoServerError: no connection to http://127.0.0.1:",
        "fix it and run the same command: failed calls are retried",
        "cid as examinee (9",
        "dot as judge",
    ):
        assert words in reason
    assert SECRET not in reason
    assert reason.count("NoServerError") == 1, "why an agent was disabled is told once"

    folder = RunFolder(tmp_path)
    states = {name: {a.state for a in folder.answers() if a.examinee == name} for name in LEVELS}
    dead = ("cid", "dot")
    assert states == {name: {"error" if name in dead else "ok"} for name in LEVELS}
    reasons = {a.reason for a in folder.answers() if a.examinee == "cid"}
    assert any("'cid' was disabled: BadKeyError" in (reason or "") for reason in reasons)
    assert {m.judge for m in folder.marks() if m.state == "error"} == {"cid", "dot"}
    assert {m.judge for m in folder.marks() if m.state == "ok"} == {"ann", "bob", "eve"}
    standings = outcome.standings["standings"]
    assert [row["agent"] for row in standings if row["rank"] is not None] == ["ann", "bob", "eve"]
    notes = folder.read_manifest()["notes"]
    assert any("cid set 0 of 3" in note for note in notes)
    write_report(tmp_path)
    left = contents(tmp_path)
    assert "agent 'cid' was disabled" in html.unescape(left["report.html"].decode())
    assert [name for name, body in left.items() if SECRET.encode() in body] == []


async def test_a_later_run_asks_only_what_the_lost_agent_owes(
    chat_server: Any, tmp_path: Path
) -> None:
    well = chat_server(spoken)
    barred = [True]
    moody = chat_server(
        lambda served: chat_server.error(401, "Who?") if barred[0] else spoken(served)
    )
    config = exam(
        agent("ann", well.url),
        agent("bob", well.url),
        agent("cid", moody.url, roles=["judge"]),
    )
    assert (await hold(config, tmp_path)).status == "partial"
    before = len(well.requests)
    barred[0] = False
    outcome = await hold(config, tmp_path)
    assert outcome.status == "complete", outcome.reason
    assert len(well.requests) == before


@pytest.mark.parametrize("role", ["examinee", "judge"])
async def test_an_exam_whose_role_is_wholly_lost_still_ends_with_its_reasons(
    chat_server: Any, tmp_path: Path, role: str
) -> None:
    well = chat_server(spoken)
    barred = chat_server(lambda served: chat_server.error(403, "Not for you"))
    rest = [each for each in ROLES if each != role]
    config = exam(
        agent("ann", well.url, roles=rest),
        agent("bob", well.url, roles=rest),
        agent("cid", barred.url, roles=[role]),
        *([agent("dot", barred.url, roles=[role])] if role == "examinee" else []),
        judging={"self_preference": False},
    )
    outcome = await hold(config, tmp_path)
    assert outcome.status == "partial"
    assert "agent 'cid' was disabled (BadKeyError: Not for you" in (outcome.reason or "")
    write_report(tmp_path)
    json.dumps(outcome.standings, allow_nan=False)


async def test_with_every_examiner_lost_the_error_says_who_and_why(
    chat_server: Any, tmp_path: Path
) -> None:
    well = chat_server(spoken)
    broke = chat_server(
        lambda served: chat_server.error(429, "You are out of credit", code="insufficient_quota")
    )
    config = exam(
        agent("ann", broke.url, roles=["examiner"]),
        agent("bob", well.url, roles=["examinee", "judge"]),
        agent("cid", well.url, roles=["examinee", "judge"]),
        agent("dot", well.url, roles=["judge"]),
    )
    with pytest.raises(PeerexamError, match=r"ann set 0 of 3(?s:.)*out of credit"):
        await hold(config, tmp_path)
    assert len(broke.requests) == 1


async def test_who_joins_and_is_lost_is_named_too(chat_server: Any, tmp_path: Path) -> None:
    well = chat_server(spoken)
    barred = chat_server(lambda served: chat_server.error(404, "no such model"))
    two = exam(agent("ann", well.url), agent("bob", well.url), pilot=False)
    assert (await hold(two, tmp_path)).status
    joining = ExamConfig.model_validate(exam(agent("cid", barred.url))).agents[0]
    outcome = await add(tmp_path, joining)
    assert outcome.status == "partial"
    assert "agent 'cid' was disabled (UnknownModelError: no such model" in (outcome.reason or "")


def test_the_command_ends_with_status_3_and_names_the_lost_agent(
    chat_server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    well = chat_server(spoken)
    barred = chat_server(lambda served: chat_server.error(401, "Who?"))
    config = exam(
        agent("ann", well.url), agent("bob", well.url), agent("cid", barred.url, roles=["judge"])
    )
    path = tmp_path / "EXAM.yaml"
    path.write_text(yaml.safe_dump(config))
    assert main(["run", str(path), "--out", str(tmp_path / "run"), "--quiet"]) == 3
    said = capsys.readouterr()
    assert "agent 'cid' is disabled: BadKeyError: Who?" in said.err, "as soon as it happens"
    assert "partial: agent 'cid' was disabled (BadKeyError: Who?" in said.err, "and at the end"
