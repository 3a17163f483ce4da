import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.hf.agent import HfAgent
from peerexam.agents.registry import create_agent
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Completion, Form, Json, Message, Request, Sampling
from peerexam.errors import ContextTooLongError, RefusedParameterError, SetupError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

PROMPTS = [
    "The capital of France is",
    "Question: How many legs has a spider? Answer:",
    "The sea",
    "Which city is the capital of Spain? Madrid is. The heart pumps blood around the body; the sun",
    "Rome",
]

ALONE = {"batch_size": 1}


def agent_of(folder: Path, **options: Json) -> HfAgent:
    agent = create_agent(
        AgentSpec("one", "hf", str(folder), options={"device": "cpu", "threads": 1, **options})
    )
    assert isinstance(agent, HfAgent)
    return agent


@asynccontextmanager
async def opened(folder: Path, **options: Json) -> AsyncIterator[HfAgent]:
    agent = agent_of(folder, **options)
    try:
        yield agent
    finally:
        await agent.close()


def asked(text: str, **sampling: Any) -> Request:
    return Request((Message("user", text),), Sampling(**{"max_tokens": 12, **sampling}))


async def ask_all(agent: HfAgent, requests: Sequence[Request]) -> list[Completion]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(agent.complete(request)) for request in requests]
    return [task.result() for task in tasks]


@cache
def reference(folder: Path) -> tuple[Any, Any]:
    """The model and its tokenizer, loaded by transformers without us."""
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = transformers.AutoModelForCausalLM
    if config.is_encoder_decoder:
        kind = transformers.AutoModelForSeq2SeqLM
    return kind.from_pretrained(folder).eval(), transformers.AutoTokenizer.from_pretrained(folder)


def greedy_reference(folder: Path, text: str, tokens: int) -> str:
    model, tokenizer = reference(folder)
    inputs = tokenizer(text, return_tensors="pt")
    with torch.inference_mode():
        output = model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            max_new_tokens=tokens,
            do_sample=False,
        )[0]
    skipped = 1 if model.config.is_encoder_decoder else inputs["input_ids"].shape[1]
    text_of: str = tokenizer.decode(output[skipped:], skip_special_tokens=True)
    return text_of


@pytest.mark.parametrize("which", ["base_model", "t5_model"])
async def test_a_batch_writes_what_transformers_writes_for_each_prompt_alone(
    request: pytest.FixtureRequest, which: str
) -> None:
    folder: Path = request.getfixturevalue(which)
    async with opened(folder) as agent:
        replies = await ask_all(agent, [asked(text) for text in PROMPTS])
    assert [reply.text for reply in replies] == [
        greedy_reference(folder, text, 12) for text in PROMPTS
    ]
    assert len({reply.text for reply in replies}) > 1


@pytest.mark.parametrize("which", ["base_model", "t5_model"])
async def test_what_is_drawn_does_not_depend_on_the_batch(
    request: pytest.FixtureRequest, which: str
) -> None:
    folder: Path = request.getfixturevalue(which)
    requests = [
        asked(text, temperature=0.9, seed=seed, top_p=0.8 if seed % 2 else None, top_logprobs=0)
        for seed, text in enumerate(PROMPTS)
    ]
    requests.append(asked(PROMPTS[0], max_tokens=3))
    async with opened(folder) as agent, opened(folder, **ALONE) as alone:
        together = await ask_all(agent, requests)
        apart = [await alone.complete(one) for one in requests]
    assert [reply.text for reply in together] == [reply.text for reply in apart]
    for one, other in zip(together[:-1], apart[:-1], strict=True):
        assert one.logprob == pytest.approx(other.logprob, abs=1e-3)


async def test_seed_and_draw_decide_what_is_drawn(base_model: Path) -> None:
    one = asked(PROMPTS[0], temperature=1.0, seed=1)
    async with opened(base_model) as agent:
        first, same, unseeded, zero = await ask_all(
            agent,
            [
                one,
                replace(one, sampling=replace(one.sampling, stop=("\ue123",))),
                replace(one, sampling=replace(one.sampling, seed=None)),
                replace(one, sampling=replace(one.sampling, seed=0)),
            ],
        )
        other, drawn_again = await ask_all(
            agent,
            [replace(one, sampling=replace(one.sampling, seed=2)), replace(one, draw=1)],
        )
    assert first.text == same.text
    assert unseeded.text == zero.text
    assert len({first.text, zero.text, other.text, drawn_again.text}) == 4


@pytest.mark.parametrize("which", ["base_model", "t5_model"])
async def test_log_probabilities_of_a_reply_are_those_of_scoring_it(
    request: pytest.FixtureRequest, which: str
) -> None:
    # Two ways to the same number: step by step with a cache, and in one pass over the whole.
    folder: Path = request.getfixturevalue(which)
    async with opened(folder) as agent:
        written = await agent.complete(asked(PROMPTS[0], top_logprobs=0))
        assert written.logprobs is not None
        engine = await agent.open()
        prompt = engine.loaded.tokenizer.tokenize(PROMPTS[0], start=True, control=False)
        tokens = await asyncio.to_thread(_greedy_tokens, engine, prompt)
        from peerexam.agents.hf.batching import BatchLimits
        from peerexam.agents.hf.scoring import Scoring

        scored, _ = await engine.score(Scoring(prompt, tokens), BatchLimits())
    assert [entry.logprob for entry in written.logprobs] == pytest.approx(
        [entry.logprob for entry in scored], abs=1e-4
    )


def _greedy_tokens(engine: Any, prompt: list[int]) -> list[int]:
    loaded = engine.loaded
    with torch.inference_mode():
        output = loaded.model.generate(
            input_ids=torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            max_new_tokens=12,
        )[0].tolist()
    return list(output[1 if loaded.is_encoder_decoder else len(prompt) :])


CONTINUATIONS = [" Paris.", " a star, and the sea is salty.", " Eight", "", " Rome"]


async def test_a_continuation_has_the_log_probabilities_of_one_forward_pass(
    base_model: Path,
) -> None:
    requests = [
        Request((Message("user", text),), continuation=continuation)
        for text, continuation in zip(PROMPTS, CONTINUATIONS, strict=True)
    ]
    async with opened(base_model) as agent:
        scored = await ask_all(agent, requests)
    model, tokenizer = reference(base_model)
    for text, continuation, reply in zip(PROMPTS, CONTINUATIONS, scored, strict=True):
        prompt = tokenizer(text)["input_ids"]
        whole = torch.tensor([tokenizer(text + continuation)["input_ids"]])
        with torch.inference_mode():
            logprobs = model(whole).logits[0].log_softmax(-1)
        expected = [
            float(logprobs[place - 1, whole[0, place]])
            for place in range(len(prompt), whole.shape[1])
        ]
        assert reply.logprobs is not None
        assert [entry.logprob for entry in reply.logprobs] == pytest.approx(expected, abs=1e-4)
        assert "".join(entry.token for entry in reply.logprobs) == continuation
        assert reply.usage.completion_tokens == len(expected)


async def test_an_encoder_decoder_scores_by_its_own_loss(t5_model: Path) -> None:
    async with opened(t5_model) as agent:
        scored = await ask_all(
            agent,
            [
                Request((Message("user", text),), continuation=continuation)
                for text, continuation in zip(PROMPTS, CONTINUATIONS, strict=True)
                if continuation
            ],
        )
    model, tokenizer = reference(t5_model)
    kept = [index for index, continuation in enumerate(CONTINUATIONS) if continuation]
    for index, reply in zip(kept, scored, strict=True):
        inputs = tokenizer(PROMPTS[index], return_tensors="pt")
        labels = tokenizer(CONTINUATIONS[index].strip(), add_special_tokens=False)["input_ids"]
        with torch.inference_mode():
            # Transformers' loss is the mean of the negative log-likelihoods of the labels.
            loss = model(input_ids=inputs["input_ids"], labels=torch.tensor([labels])).loss
        assert reply.logprob == pytest.approx(-float(loss) * len(labels), abs=1e-3)


async def test_an_empty_prompt_is_scored_from_the_start_of_a_text(base_model: Path) -> None:
    request = Request((Message("user", ""),), continuation="Rome")
    async with opened(base_model) as agent:
        scored = await agent.complete(request)
    assert math.isfinite(scored.logprob)
    assert scored.usage.prompt_tokens == 1  # <s>


async def test_a_reply_ends_before_a_stop_string_and_only_its_row_does(base_model: Path) -> None:
    async with opened(base_model) as agent:
        whole = await agent.complete(asked(PROMPTS[0], max_tokens=30))
        stop = whole.text[8:11]
        cut_at = whole.text.index(stop)
        cut, other = await ask_all(
            agent,
            [
                asked(PROMPTS[0], max_tokens=30, stop=("\ue123", stop), top_logprobs=0),
                asked(PROMPTS[0], max_tokens=30),
            ],
        )
    assert cut.text == whole.text[:cut_at]
    assert (cut.state, cut.finish_reason) == ("ok", "stop")
    assert (other.text, other.state) == (whole.text, "truncated")
    assert cut.logprobs is not None
    written = "".join(entry.token for entry in cut.logprobs)
    assert written.startswith(cut.text)
    assert len(cut.logprobs) < 30


async def test_a_reply_at_the_length_limit_is_truncated(base_model: Path) -> None:
    async with opened(base_model) as agent:
        short, long = await ask_all(
            agent, [asked(PROMPTS[0], max_tokens=2), asked(PROMPTS[1], max_tokens=9)]
        )
    assert (short.state, short.finish_reason, short.usage.completion_tokens) == (
        "truncated",
        "length",
        2,
    )
    assert long.usage.completion_tokens == 9
    assert short.usage.prompt_tokens == len(reference(base_model)[1](PROMPTS[0])["input_ids"])


async def test_a_reply_ends_with_the_models_own_end(small_models: Any, base_model: Path) -> None:
    async with opened(base_model) as agent:
        whole = await agent.complete(asked(PROMPTS[0], top_logprobs=0))
        assert whole.logprobs is not None
        third = (await agent.open()).loaded.tokenizer.tokenize(
            whole.logprobs[2].token, start=False, control=False
        )
    assert len(third) == 1
    folder = small_models.with_json(base_model, "generation_config.json", eos_token_id=[2, *third])
    async with opened(folder) as agent:
        ended = await agent.complete(asked(PROMPTS[0], top_logprobs=0))
    assert ended.logprobs is not None
    spelled = [entry.token for entry in whole.logprobs]
    before_end = spelled[: spelled.index(spelled[2])]
    assert [entry.token for entry in ended.logprobs] == before_end
    assert ended.state == ("ok" if "".join(before_end).strip() else "empty")
    assert ended.usage.completion_tokens == len(before_end) + 1


async def test_without_a_temperature_the_model_draws_as_its_own_config_says(
    small_models: Any, base_model: Path
) -> None:
    warm = small_models.with_json(
        base_model, "generation_config.json", do_sample=True, temperature=0.9, top_k=5, top_p=0.9
    )
    requests = [asked(PROMPTS[0], temperature=None, seed=seed) for seed in range(4)]
    async with opened(base_model) as greedy, opened(warm) as drawing:
        one = await ask_all(greedy, requests)
        many = await ask_all(drawing, requests)
        still_greedy = await drawing.complete(asked(PROMPTS[0]))
    assert len({reply.text for reply in one}) == 1
    assert len({reply.text for reply in many}) > 1
    assert still_greedy.text == one[0].text


async def test_a_chat_model_gets_the_conversation_by_its_template(chat_model: Path) -> None:
    conversation = (Message("system", "Be brief."), Message("user", "The sea?"))
    async with opened(chat_model) as agent, opened(chat_model, chat=False) as plain:
        assert "chat" in agent.features
        assert "chat" not in plain.features
        assert agent.fingerprint != plain.fingerprint
        reply = await agent.complete(Request(conversation, Sampling(max_tokens=6)))
        continued = await plain.complete(Request(conversation, Sampling(max_tokens=6)))
    _, tokenizer = reference(chat_model)
    spelled = "<|system|>Be brief.</s><|user|>The sea?</s><|assistant|>"
    assert reply.usage.prompt_tokens == len(tokenizer(spelled, add_special_tokens=False).input_ids)
    assert continued.text == greedy_reference(chat_model, "Be brief.\n\nThe sea?", 6)


async def test_a_model_without_a_template_that_follows_instructions_gets_them_as_plain_text(
    t5_model: Path,
) -> None:
    conversation = (Message("system", "Answer."), Message("user", "The sea?"))
    async with opened(t5_model, chat=True) as agent:
        assert "chat" in agent.features
        reply = await agent.complete(Request(conversation, Sampling(max_tokens=6)))
    assert reply.text == greedy_reference(t5_model, "Answer.\n\nThe sea?", 6)
    assert "chat" not in agent_of(t5_model).features


async def test_a_prompt_beyond_the_context_is_refused_with_the_numbers(
    small_models: Any, base_model: Path
) -> None:
    long = asked("sea " * 300)
    scored = Request((Message("user", "sea " * 120),), continuation=" star" * 200)
    async with opened(base_model) as agent:
        with pytest.raises(ContextTooLongError, match=r"\d+ tokens of prompt .* 256 tokens$"):
            await agent.complete(long)
        with pytest.raises(ContextTooLongError, match="256"):
            await agent.complete(scored)
        fits = await agent.complete(asked("sea", max_tokens=1000))
    assert fits.usage.total == 256
    assert fits.state == "truncated"
    async with opened(base_model, max_context=32) as agent:
        with pytest.raises(ContextTooLongError, match=r"32 tokens; a larger one .* max_context"):
            await agent.complete(asked("sea " * 40))
    async with opened(base_model, max_context=1000) as agent:
        with pytest.raises(SetupError, match=r"max_context is 1000.*256"):
            await agent.complete(asked("sea"))


async def test_an_encoder_decoders_context_may_be_widened(t5_model: Path) -> None:
    # T5's positions are relative; 128 is the tokenizer's word for the length of training.
    long = asked("sea " * 140, max_tokens=3)
    async with opened(t5_model) as agent:
        with pytest.raises(ContextTooLongError, match="128 tokens; a larger one"):
            await agent.complete(long)
    async with opened(t5_model, max_context=1024) as agent:
        reply = await agent.complete(long)
    assert reply.text == greedy_reference(t5_model, "sea " * 140, 3)


async def test_a_request_for_a_form_is_refused(base_model: Path) -> None:
    async with opened(base_model) as agent:
        with pytest.raises(RefusedParameterError) as caught:
            await agent.complete(asked("Rome", form=Form("grammar", 'root ::= "a"')))
    assert caught.value.parameter == "form"


async def test_agents_with_the_same_weights_share_one_model(
    small_models: Any, base_model: Path
) -> None:
    one, other = agent_of(base_model), agent_of(base_model, batch_size=2, chat=True)
    apart = agent_of(base_model, dtype="bfloat16")
    before = [await agent.complete(asked(PROMPTS[0])) for agent in (one, other, apart)]
    assert await one.open() is await other.open()
    assert await one.open() is not await apart.open()
    await one.close()
    await one.close()
    assert (await other.complete(asked(PROMPTS[0]))).text == before[0].text
    await other.close()
    await apart.close()
    again = await one.complete(asked(PROMPTS[0]))  # what is closed opens again when asked
    assert again.text == before[0].text
    await one.close()


async def test_closing_frees_the_weights(base_model: Path) -> None:
    import weakref

    agent = agent_of(base_model)
    await agent.complete(asked("Rome"))
    weights = weakref.ref((await agent.open()).loaded.model)
    await agent.close()
    assert weights() is None


async def test_whoever_stops_waiting_does_not_disturb_the_others(base_model: Path) -> None:
    async with opened(base_model) as agent:
        await agent.complete(asked("Rome"))
        leaver = asyncio.create_task(agent.complete(asked(PROMPTS[0], max_tokens=200)))
        stayer = asyncio.create_task(agent.complete(asked(PROMPTS[1])))
        await asyncio.sleep(0.1)
        leaver.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaver
        assert (await stayer).text == greedy_reference(base_model, PROMPTS[1], 12)


async def test_numbers_that_overflow_are_an_error_and_not_an_answer(
    small_models: Any, base_model: Path
) -> None:
    from safetensors.torch import load_file, save_file

    def spoil(folder: Path) -> None:
        path = folder / "model.safetensors"
        weights = load_file(path)
        weights["model.norm.weight"] = torch.full_like(weights["model.norm.weight"], math.nan)
        save_file(weights, path, metadata={"format": "pt"})

    from peerexam.errors import PermanentError

    async with opened(small_models.copy(base_model, spoil)) as agent:
        with pytest.raises(PermanentError, match="float32"):
            await agent.complete(asked("Rome"))
        with pytest.raises(PermanentError, match="float32"):
            await agent.complete(Request((Message("user", "Rome"),), continuation=" is"))


async def test_bfloat16_answers_and_is_another_agent(base_model: Path) -> None:
    async with opened(base_model, dtype="bfloat16") as agent:
        assert agent.fingerprint["dtype"] == "bfloat16"
        assert agent.fingerprint != agent_of(base_model).fingerprint
        replies = await ask_all(agent, [asked(text, top_logprobs=0) for text in PROMPTS])
    assert all(reply.usage.completion_tokens == 12 for reply in replies)
    assert all(math.isfinite(reply.logprob) for reply in replies)


async def test_waiting_for_a_model_to_load_holds_no_thread_that_others_need(
    small_models: Any, base_model: Path
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(1)
    asyncio.get_running_loop().set_default_executor(pool)
    async with opened(base_model) as agent:
        waiting = [asyncio.create_task(agent.open()) for _ in range(8)]
        await asyncio.sleep(0)
        assert await asyncio.to_thread(lambda: "free") == "free"
        assert len({id(await one) for one in waiting}) == 1


async def test_a_model_that_could_not_be_loaded_is_tried_again(
    small_models: Any, base_model: Path
) -> None:
    folder: Path = small_models.copy(base_model)
    agent = agent_of(folder)
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:100])
    for _ in range(2):
        with pytest.raises(SetupError, match="cannot be loaded"):
            await agent.complete(asked("Rome"))
    weights.write_bytes(whole)
    assert (await agent.complete(asked("Rome"))).usage.completion_tokens == 12
    await agent.close()
