"""LangChain chat models as agents: two integrations against a real HTTP server on the loopback."""

# ruff: noqa: E402 (what the skips guard is imported after them)

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain")
langchain_openai = pytest.importorskip("langchain_openai")
langchain_anthropic = pytest.importorskip("langchain_anthropic")

from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult

from peerexam.agents.langchain.agent import LangChainAgent, create, from_langchain
from peerexam.agents.registry import create_agent
from peerexam.agents.spec import AgentSpec, parse_model
from peerexam.calls import Form, Message, Request, Sampling, TokenLogprob, Usage
from peerexam.errors import (
    BadKeyError,
    CallError,
    CallTimeoutError,
    ConnectionFailedError,
    ContextTooLongError,
    MissingExtraError,
    MissingKeyError,
    NoServerError,
    OverloadedError,
    PermanentError,
    QuotaExhaustedError,
    RateLimitedError,
    RefusedParameterError,
    SetupError,
    UnknownModelError,
)
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.runner import run
from peerexam.runfolder import RunFolder
from peerexam.testing.faults.server import Asked, Conditions, Fault, FaultServer, Reply
from peerexam.testing.faults.wording import answer

SECRET = "sk-very-secret-0123456789"
ASK = Request(
    (Message("system", "Be brief."), Message("user", "Capital of France?")),
    Sampling(temperature=0.5, top_p=0.9, max_tokens=50, stop=("END",), seed=7),
)
MODELS = {"openai": "openai:gpt-4o-mini", "anthropic": "anthropic:claude-m-1"}

Connect = Callable[..., LangChainAgent]


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PUPIL_KEY", SECRET)


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Builds agents by the provider's own factory, and closes them."""
    async with AsyncExitStack() as stack:

        def connect(server: FaultServer, kind: str = "openai", **options: Any) -> LangChainAgent:
            url = server.openai_url if kind == "openai" else server.anthropic_url
            model = options.pop("model", MODELS[kind])
            spec = AgentSpec("pupil", "langchain", model, url, "PUPIL_KEY", options)
            agent = create(spec)
            assert isinstance(agent, LangChainAgent)
            stack.push_async_callback(agent.close)
            return agent

        yield connect


async def failure_of(agent: LangChainAgent, ask: Request = ASK) -> CallError:
    with pytest.raises(CallError) as caught:
        await agent.complete(ask)
    return caught.value


async def test_a_request_is_put_into_openais_words_and_the_reply_read(connect: Connect) -> None:
    with FaultServer(["Paris."]) as server:
        got = await connect(server).complete(ASK)
        asked = server.requests[0]
    assert asked.key == SECRET
    assert asked.body["messages"] == [
        {"content": "Be brief.", "role": "system"},
        {"content": "Capital of France?", "role": "user"},
    ]
    sent = {name: asked.body[name] for name in ("temperature", "top_p", "seed", "stop")}
    assert sent == {"temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": ["END"]}
    assert asked.body["max_completion_tokens"] == 50
    assert (got.text, got.state, got.finish_reason, got.model) == (
        "Paris.",
        "ok",
        "stop",
        "served-model",
    )
    assert (got.usage, got.dropped) == (Usage(7, 3), ())
    assert got.latency is not None
    assert got.latency > 0


async def test_what_an_integration_does_not_take_is_left_out_and_told(connect: Connect) -> None:
    with FaultServer(["Paris."]) as server:
        got = await connect(server, "anthropic").complete(ASK)
        asked = server.requests[0]
    assert asked.key == SECRET
    assert asked.body["system"] == "Be brief."
    assert (asked.body["max_tokens"], asked.body["stop_sequences"]) == (50, ["END"])
    assert (asked.body["temperature"], asked.body["top_p"]) == (0.5, 0.9)
    assert "seed" not in asked.body
    assert (got.text, got.finish_reason, got.dropped) == ("Paris.", "end_turn", ("seed",))


OUTCOMES: dict[Fault, type[CallError] | str] = {
    Fault.RATE_LIMIT_SECONDS: RateLimitedError,
    Fault.QUOTA_EXHAUSTED: QuotaExhaustedError,
    Fault.SERVER_ERROR: OverloadedError,
    Fault.BAD_GATEWAY: OverloadedError,
    Fault.UNAVAILABLE: OverloadedError,
    Fault.OVERLOADED: OverloadedError,
    Fault.RESET_BEFORE_ANSWER: ConnectionFailedError,
    Fault.RESET_MID_BODY: ConnectionFailedError,
    Fault.CLOSED_MID_BODY: ConnectionFailedError,
    Fault.HANG: CallTimeoutError,
    Fault.DRIP_IN_TIME: "ok",
    Fault.TRUNCATED_JSON: OverloadedError,
    Fault.MALFORMED_JSON: OverloadedError,
    Fault.HTML_PAGE: OverloadedError,
    Fault.EMPTY_CHOICES: OverloadedError,
    Fault.OVERLOAD_IN_200: OverloadedError,
    Fault.HALF_ANSWER_IN_200: OverloadedError,
    Fault.UNASKED_STREAM: OverloadedError,
    Fault.USAGE_MISSING: "ok",
    Fault.NULL_CONTENT: "empty",
    Fault.CUT_OFF: "truncated",
    Fault.CONTENT_FILTER: "filtered",
    Fault.CONTENT_FILTER_400: "filtered",
    Fault.REFUSAL: "refused",
    Fault.CONTEXT_TOO_LONG: ContextTooLongError,
    Fault.BAD_KEY: BadKeyError,
    Fault.FORBIDDEN: BadKeyError,
    Fault.UNKNOWN_MODEL: UnknownModelError,
    Fault.REFUSED_MAX_TOKENS: RefusedParameterError,
}


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_each_fault_has_its_outcome_after_one_request_and_without_the_key(
    connect: Connect, kind: str
) -> None:
    seen: dict[Fault, type[Exception] | str] = {}
    told: list[str] = []
    with FaultServer(list(OUTCOMES), Conditions(echo_key=True)) as server:
        agent = connect(server, kind, timeout=0.5)
        for fault in OUTCOMES:
            try:
                seen[fault] = (await agent.complete(ASK)).state
            except CallError as error:
                seen[fault] = type(error)
                told.append("".join(traceback.format_exception(error)))
        assert len(server.requests) == len(OUTCOMES), "the SDK's own retries are off"
    assert seen == OUTCOMES
    assert not [text for text in told if SECRET in text or "During handling" in text]


async def test_the_wait_that_the_provider_asks_for_is_on_the_error(connect: Connect) -> None:
    script = [Fault.RATE_LIMIT_SECONDS, Fault.RATE_LIMIT_DATE, Fault.RATE_LIMIT_MS]
    with FaultServer(script) as server:
        agent = connect(server, "anthropic")
        for _ in script:
            error = await failure_of(agent)
            assert isinstance(error, RateLimitedError)
            # Two seconds; a date has whole ones, rounded up.
            assert error.retry_after == pytest.approx(2, abs=1.0)


async def test_nobody_listening_is_a_failed_connection(connect: Connect) -> None:
    with FaultServer([]) as server:
        agent = connect(server)
        server.stop_listening()
        assert type(await failure_of(agent)) is NoServerError


async def test_a_refused_parameter_is_left_out_once_and_for_all(connect: Connect) -> None:
    script = [Fault.REFUSED_TEMPERATURE, "Paris.", "Rome."]
    with FaultServer(script) as server:
        agent = connect(server)
        got = await agent.complete(ASK)
        again = await agent.complete(ASK)
        sent = ["temperature" in asked.body for asked in server.requests]
    assert (got.text, got.dropped) == ("Paris.", ("temperature",))
    assert (again.text, again.dropped) == ("Rome.", ("temperature",))
    assert sent == [True, False, False]


async def test_a_refused_parameter_is_not_sent_from_the_objects_own_field() -> None:
    with FaultServer([Fault.REFUSED_TEMPERATURE, "Paris."]) as server:
        model = langchain_openai.ChatOpenAI(
            model="m", base_url=server.openai_url, api_key=SECRET, temperature=0.9
        )
        agent = from_langchain(model)
        got = await agent.complete(ASK)
        await agent.close()
        assert "temperature" not in server.requests[1].body
    assert got.dropped == ("temperature",)


async def test_thinking_blocks_and_cached_tokens_are_read(connect: Connect) -> None:
    body = answer("anthropic", None) | {
        "content": [
            {"type": "thinking", "thinking": "It is in Europe.", "signature": "x"},
            {"type": "text", "text": "Pa"},
            {"type": "text", "text": "ris."},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 4},
    }
    with FaultServer([Reply(body)]) as server:
        got = await connect(server, "anthropic").complete(ASK)
    assert (got.text, got.thinking, got.state) == ("Paris.", "It is in Europe.", "ok")
    # Anthropic counts cached tokens apart; LangChain's input tokens are all of them: 3 + 4.
    assert got.usage == Usage(7, 5, 4)


async def test_log_probabilities_are_asked_for_and_read(connect: Connect) -> None:
    body = answer("openai", "Paris.")
    entries = [{"token": "Pa", "logprob": -0.25}, {"token": "ris.", "logprob": -0.5}]
    for entry in entries:
        entry |= {"bytes": None, "top_logprobs": []}
    body["choices"][0]["logprobs"] = {"content": entries, "refusal": None}
    with FaultServer([Reply(body)]) as server:
        agent = connect(server, logprobs=True)
        got = await agent.complete(Request(ASK.messages, Sampling(top_logprobs=2)))
        asked = server.requests[0].body
    assert "logprobs" in agent.features
    assert (asked["logprobs"], asked["top_logprobs"]) == (True, 2)
    assert got.logprobs == (TokenLogprob("Pa", -0.25), TokenLogprob("ris.", -0.5))


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_a_reply_is_held_to_a_json_schema_where_the_option_says_so(
    connect: Connect, kind: str
) -> None:
    schema = '{"additionalProperties":false,"properties":{"n":{"type":"integer"}},"type":"object"}'
    ask = Request(ASK.messages, Sampling(form=Form("json_schema", schema)))
    with FaultServer(['{"n": 1}']) as server:
        got = await connect(server, kind, json_schema=True).complete(ask)
        asked = server.requests[0].body
        plain = connect(server, kind)
        with pytest.raises(RefusedParameterError, match="json_schema: true"):
            await plain.complete(ask)
    assert got.text == '{"n": 1}'
    assert "integer" in str(asked.get("response_format") or asked.get("output_config"))


async def test_a_reply_that_was_to_be_json_is_cut_or_filtered_like_any_other(
    connect: Connect,
) -> None:
    ask = Request(ASK.messages, Sampling(form=Form("json_schema", '{"type":"object"}')))
    script = [
        Reply(answer("openai", '{"n"', "length")),
        Reply(answer("openai", None, "content_filter")),
        Reply(answer("openai", None, refusal="No.")),
    ]
    with FaultServer(script) as server:
        agent = connect(server, json_schema=True)
        got = [await agent.complete(ask) for _ in script]
    assert [(one.text, one.state) for one in got] == [
        ('{"n"', "truncated"),
        ("", "filtered"),
        ("No.", "refused"),
    ]
    assert got[0].usage == Usage(7, 3)


async def test_no_text_is_scored(connect: Connect) -> None:
    with FaultServer([]) as server:
        with pytest.raises(PermanentError, match="log-probabilities of a given text"):
            await connect(server).complete(Request(ASK.messages, continuation="x"))
        assert not server.requests


def test_a_model_name_reaches_the_provider_through_the_registry() -> None:
    provider, model, url, options = parse_model(
        "langchain/openai:org/m:1@http://127.0.0.1:9/v1?timeout=5"
    )
    agent = create_agent(AgentSpec("pupil", provider, model, url, None, options))
    assert agent.name == "pupil"
    assert agent.fingerprint["model"] == "org/m:1"


def test_an_endpoint_of_ones_own_needs_no_key() -> None:
    for model in MODELS.values():
        create(AgentSpec("pupil", "langchain", model, "http://127.0.0.1:9"))


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_missing_key_is_named_before_the_run(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingKeyError, match=f"{kind.upper()}_API_KEY"):
        create(AgentSpec("pupil", "langchain", MODELS[kind]))
    monkeypatch.delenv("PUPIL_KEY")
    with pytest.raises(MissingKeyError, match="PUPIL_KEY"):
        create(AgentSpec("pupil", "langchain", MODELS[kind], api_key_env="PUPIL_KEY"))


@pytest.mark.parametrize(
    ("model", "options", "kind", "words"),
    [
        ("no-such-provider:m", {}, SetupError, "provider:model"),
        ("mistralai:m", {}, MissingExtraError, "pip install langchain-mistralai"),
        ("openai:m", {"max_retries": 3}, SetupError, "attempts"),
        ("openai:m", {"api_key": "x"}, SetupError, "api_key_env"),
        ("openai:m", {"base_url": "x"}, SetupError, "@http"),
        ("openai:m", {"model_kwargs": {"user": SECRET}}, SetupError, "options hold a secret"),
        ("openai:m", {"default_headers": {"X-Api-Key": "hidden-0123"}}, SetupError, "a secret"),
    ],
)
def test_what_cannot_be_built_is_said_with_the_mend(
    model: str, options: dict[str, Any], kind: type[SetupError], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        create(AgentSpec("pupil", "langchain", model, None, "PUPIL_KEY", options))
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.filterwarnings("ignore:WARNING! colour is not default:UserWarning")
def test_an_option_that_the_integration_does_not_have_is_named() -> None:
    with pytest.raises(SetupError, match=r"no option 'colour'; it has .*reasoning_effort"):
        create(AgentSpec("p", "langchain", "openai:m", None, "PUPIL_KEY", {"colour": 1}))


def test_an_object_that_is_no_chat_model_is_refused_with_the_mend() -> None:
    chain: Any = FakeListChatModel(responses=["x"]) | StrOutputParser()
    with pytest.raises(SetupError, match="FunctionAgent"):
        from_langchain(chain)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_an_object_is_asked_without_its_retries_and_stays_as_it_is(kind: str) -> None:
    with FaultServer([Fault.OVERLOADED]) as server:
        made: BaseChatModel = (
            langchain_openai.ChatOpenAI(model="m", base_url=server.openai_url, api_key=SECRET)
            if kind == "openai"
            else langchain_anthropic.ChatAnthropic(
                model="m", base_url=server.anthropic_url, api_key=SECRET, max_retries=4
            )
        )
        before = dict(vars(made))
        agent = from_langchain(made, "mine")
        assert type(await failure_of(agent)) is OverloadedError
        await agent.close()
        assert len(server.requests) == 1
    assert dict(vars(made)) == before


async def test_what_is_bound_goes_along_unless_the_request_says_otherwise() -> None:
    with FaultServer(["Paris."]) as server:
        model = langchain_openai.ChatOpenAI(model="m", base_url=server.openai_url, api_key=SECRET)
        agent = from_langchain(model.bind(temperature=0.9, reasoning_effort="low"))
        await agent.complete(ASK)
        await agent.close()
        asked = server.requests[0].body
    assert (asked["reasoning_effort"], asked["temperature"]) == ("low", 0.5)
    assert agent.name == "m"
    assert agent.fingerprint["bound"] == {"temperature": 0.9, "reasoning_effort": "low"}


def test_an_agent_can_be_asked_on_one_event_loop_after_another() -> None:
    with FaultServer(["Paris."]) as server:
        model = langchain_openai.ChatOpenAI(model="m", base_url=server.openai_url, api_key=SECRET)
        agent = from_langchain(model)

        async def ask() -> str:
            text = (await agent.complete(ASK)).text
            await agent.close()
            return text

        assert [asyncio.run(ask()) for _ in range(3)] == ["Paris."] * 3


@pytest.fixture
def global_cache() -> Iterator[None]:
    set_llm_cache(InMemoryCache())
    yield
    set_llm_cache(None)


@pytest.mark.usefixtures("global_cache")
async def test_langchains_global_cache_does_not_make_two_draws_one(connect: Connect) -> None:
    with FaultServer(["Paris.", "Rome."]) as server:
        agent = connect(server)
        texts = [(await agent.complete(Request(ASK.messages, draw=n))).text for n in range(2)]
    assert texts == ["Paris.", "Rome."]


class Peculiar(BaseChatModel):
    """A user's own chat model, without a field for any parameter."""

    reply: Any

    @property
    def _llm_type(self) -> str:
        return "peculiar"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        if isinstance(self.reply, Exception):
            raise self.reply
        return ChatResult(generations=[ChatGeneration(message=self.reply)])


async def test_a_model_without_fields_drops_every_parameter_by_name() -> None:
    got = await from_langchain(Peculiar(reply=AIMessage("Hm."))).complete(ASK)
    assert got.dropped == ("temperature", "top_p", "max_tokens", "seed")
    assert (got.text, got.usage) == ("Hm.", Usage())


@pytest.mark.parametrize(
    ("metadata", "state"),
    [
        ({"finish_reason": "STOP"}, "ok"),
        ({"finish_reason": "SAFETY"}, "filtered"),  # Google
        ({"stopReason": "guardrail_intervened"}, "filtered"),  # Bedrock
        ({"done_reason": "length"}, "truncated"),  # Ollama
        ({"finish_reason": "MAX_TOKENS"}, "truncated"),  # Google
        ({"incomplete_details": {"reason": "max_output_tokens"}}, "truncated"),  # responses API
        ({"prompt_feedback": {"block_reason": "OTHER"}}, "filtered"),
        ({"stop_reason": "refusal"}, "refused"),
    ],
)
async def test_each_integrations_word_for_the_end_gets_its_state(
    metadata: dict[str, Any], state: str
) -> None:
    reply = AIMessage("Well.", response_metadata=metadata)
    got = await from_langchain(Peculiar(reply=reply)).complete(ASK)
    assert (got.text, got.state) == ("Well.", state)


@pytest.mark.parametrize(
    ("content", "extra", "thinking"),
    [
        (["Yes", {"type": "text", "text": "."}], {}, None),
        ("Yes.", {"reasoning_content": "Hm."}, "Hm."),  # DeepSeek, Ollama
        ("<think>Hm.</think>Yes.", {}, "Hm."),
        ([{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "Yes."}], {}, "Hm."),
        (
            [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
                {"type": "text", "text": "Yes."},
            ],
            {},
            "Hm.",
        ),
        (
            [
                {"type": "reasoning_content", "reasoning_content": {"text": "Hm."}},
                {"type": "text", "text": "Yes."},
            ],
            {},
            "Hm.",
        ),
    ],
)
async def test_text_and_thinking_are_told_apart_wherever_they_stand(
    content: Any, extra: dict[str, Any], thinking: str | None
) -> None:
    reply = AIMessage(content, additional_kwargs=extra)
    got = await from_langchain(Peculiar(reply=reply)).complete(ASK)
    assert (got.text, got.thinking, got.state) == ("Yes.", thinking, "ok")


class _Response:
    def __init__(self, status_code: int, text: str, headers: dict[str, str]) -> None:
        self.status_code = status_code
        self.text = text
        self.headers = headers


def raised(made: Exception, **attributes: Any) -> Exception:
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        # google.genai: a number in `code`, the JSON in `details`
        (
            raised(Exception("x"), code=429, details={"error": {"message": "slow down"}}),
            RateLimitedError,
        ),
        # botocore: everything in a dict
        (
            raised(
                Exception("x"),
                response={
                    "Error": {"Code": "ThrottlingException", "Message": "slow down"},
                    "ResponseMetadata": {"HTTPStatusCode": 429, "HTTPHeaders": {}},
                },
            ),
            RateLimitedError,
        ),
        # httpx, requests: a response
        (
            raised(Exception("x"), response=_Response(503, '{"error": "slow down"}', {})),
            OverloadedError,
        ),
        (TimeoutError(), CallTimeoutError),
        (ConnectionResetError("gone"), ConnectionFailedError),
        (TypeError("a bug"), PermanentError),
        (KeyError("a bug"), PermanentError),
        (ValueError("a bug"), PermanentError),
        (raised(Exception("x"), code=7), PermanentError),
    ],
)
async def test_other_sdks_errors_are_read_by_what_they_carry_and_bugs_are_not_retried(
    error: Exception, kind: type[CallError]
) -> None:
    got = await failure_of(from_langchain(Peculiar(reply=error)))
    assert type(got) is kind
    if "x" in str(error):
        assert "slow down" in str(got) or kind is PermanentError


def replying(asked: Asked) -> str:
    """A model that sets, answers and judges, its verdict by the asked text alone."""
    text = "\n".join(str(turn["content"]) for turn in asked.body["messages"]).lower()
    if "verdict" in text and "response 1" in text:
        return "Verdict: Response 1"
    if "coherence" in text and "overall" in text:
        names = ("accuracy", "coherence", "factuality", "comprehensiveness")
        return "\n".join([*(f"{name}: 3" for name in names), "overall: 5"])
    return f"It is blue, says {asked.body['model']}."


def test_a_chat_model_sits_an_exam_by_name_and_as_an_object(tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"id": "sky", "text": "What colour is the sky?", "domain": "nature"}\n')
    with FaultServer(replying) as server:
        config = ExamConfig.model_validate(
            {
                "name": "chained",
                "agents": [
                    {
                        "name": "named",
                        "model": f"langchain/openai:one@{server.openai_url}",
                        "api_key_env": "PUPIL_KEY",
                        "roles": ["examinee"],
                    },
                    {"name": "object", "model": "langchain/own", "roles": ["examinee"]},
                    {
                        "name": "judge",
                        "model": f"langchain/openai:three@{server.openai_url}",
                        "roles": ["judge"],
                    },
                ],
                "questions": {"file": questions},
            }
        )
        own = langchain_anthropic.ChatAnthropic(
            model="two", base_url=server.anthropic_url, api_key=SECRET
        )
        given = {"object": from_langchain(own, "object")}
        outcome = run(config, tmp_path / "run", agents=given)
        asked = len(server.requests)
        again = run(
            config, tmp_path / "again", agents=given, db=str(tmp_path / "run/ledger.sqlite")
        )
        assert len(server.requests) == asked, "the second run is answered from the ledger"
    assert (outcome.status, again.status) == ("complete", "complete")
    answers = {a.examinee: a.text for a in RunFolder(tmp_path / "run").answers()}
    assert answers == {"named": "It is blue, says one.", "object": "It is blue, says two."}
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or SECRET.encode() not in file.read_bytes(), file
