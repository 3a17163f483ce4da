"""How far can one believe a peer examination of small models? A check against a key.

Asks the examinees of an exam the 64 easy questions of keyed_questions.json and counts whose answer
holds an accepted one; asks the exam's likelihood judges, of each question's right and wrong answer,
which is the better; and, given a standings.json, says how far the order by peers agrees with the
order by accuracy.

    python benchmarks/keyed_questions.py examples/embedded.yaml --standings DIR/standings.json

Sixty-four questions are few: one standard error of an accuracy near 50 % is 6 points.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.stats import kendalltau, spearmanr

from peerexam.agents.base import Agent
from peerexam.agents.layers.stack import LayerSettings, RunContext, wrap
from peerexam.agents.registry import create_agent
from peerexam.agents.spec import AgentSpec, parse_model
from peerexam.examiners.answering import AnsweringOptions, ModelExaminee
from peerexam.examiners.judging.by_likelihood import Gain, LikelihoodJudge
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.ledger.base import Ledger
from peerexam.protocols.config.loading import load_config
from peerexam.protocols.config.models import AgentConfig, ExamConfig
from peerexam.records import Answer, Question

KEY = Path(__file__).with_name("keyed_questions.json")


@dataclass(frozen=True, slots=True)
class Keyed:
    """A question with its accepted answers and a plausible wrong one; the first is the best."""

    question: Question
    accepted: tuple[str, ...]
    wrong: str

    def is_right(self, text: str) -> bool:
        """Whether an accepted answer stands in the text, as whole words, a plural allowed."""
        words = normalised(text)
        return any(
            re.search(rf"(?<!\w){re.escape(normalised(each))}(?:s|es)?(?!\w)", words)
            for each in self.accepted
        )


def normalised(text: str) -> str:
    """Case, width, punctuation and runs of space put aside."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"[^\w\s]", " ", folded).split())


def read_key(path: Path = KEY) -> list[Keyed]:
    return [
        Keyed(
            Question(row["id"], row["question"], row["domain"]),
            tuple(row["accepted"]),
            row["wrong"],
        )
        for row in json.loads(path.read_text(encoding="utf-8"))
    ]


def build(config: AgentConfig, ledger: Ledger | None) -> Agent:
    provider, model, base_url, options = parse_model(config.model)
    spec = AgentSpec(
        config.name,
        provider,
        model,
        base_url or config.base_url,
        config.api_key_env,
        options | config.options,
    )
    layers = LayerSettings(
        system=config.system,
        temperature=config.temperature,
        top_p=config.top_p,
        max_tokens=config.max_tokens,
        seed=config.seed,
        deadline=None,
    )
    return wrap(create_agent(spec), layers, RunContext(ledger=ledger))


async def accuracy(agent: Agent, key: Sequence[Keyed], config: ExamConfig) -> list[bool]:
    """Which of the questions the agent answers rightly."""
    options = AnsweringOptions(config.answers.max_tokens, config.answers.temperature)
    examinee = ModelExaminee(agent, PromptLibrary(config.prompts), options)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(examinee.answer(each.question)) for each in key]
    return [each.is_right(task.result().text) for each, task in zip(key, tasks, strict=True)]


async def telling(agent: Agent, key: Sequence[Keyed], config: ExamConfig) -> dict[str, int]:
    """How often a likelihood judge values the right answer above the wrong one, by three values."""
    judge = LikelihoodJudge(agent, PromptLibrary(config.prompts))
    counts = {"gain": 0, "gain a token": 0, "gain, in a sentence": 0}
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_tell(judge, each)) for each in key]
    for task in tasks:
        for name, told in task.result().items():
            counts[name] += told
    return counts


async def _tell(judge: LikelihoodJudge, keyed: Keyed) -> dict[str, bool]:
    async def gain(text: str) -> Gain:
        found = await judge.gain(keyed.question, Answer(keyed.question.id, "key", text))
        if not isinstance(found, Gain):
            raise RuntimeError(f"{judge.name} cannot value {text!r}: {found.reason}")
        return found

    right, wrong = await gain(keyed.accepted[0]), await gain(keyed.wrong)
    spoken = [await gain(f"The answer is {t}.") for t in (keyed.accepted[0], keyed.wrong)]
    return {
        "gain": right.nats > wrong.nats,
        "gain a token": right.per_token > wrong.per_token,
        "gain, in a sentence": spoken[0].nats > spoken[1].nats,
    }


def agreement(accuracies: Mapping[str, float], standings: Mapping[str, Any]) -> str:
    """Kendall's τ-b and Spearman's ρ between accuracy and the exam's score."""
    rows = [row for row in standings["standings"] if row["agent"] in accuracies]
    if len(rows) < 2:
        return "too few examinees in common"
    ours = [accuracies[row["agent"]] for row in rows]
    theirs = [row["score"] for row in rows]
    tau, rho = kendalltau(ours, theirs).statistic, spearmanr(ours, theirs).statistic
    return f"agreement of {len(rows)} examinees: Kendall τ-b {tau:.2f}, Spearman ρ {rho:.2f}"


def shown(right: int, of: int) -> str:
    """A share with its 95 % Wilson interval."""
    z, p = 1.959964, right / of
    middle = (p + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    return f"{right}/{of} = {p:.0%} [{max(0.0, middle - half):.0%}, {min(1.0, middle + half):.0%}]"


async def main(arguments: argparse.Namespace) -> None:
    config = load_config(arguments.exam, environ={})
    key = read_key()
    accuracies: dict[str, float] = {}
    for each in config.agents_in("examinee"):
        agent = build(each, None)
        try:
            right = sum(await accuracy(agent, key, config))
        finally:
            await agent.close()
        accuracies[each.name] = right / len(key)
        print(f"{each.name:20} right {shown(right, len(key))}", flush=True)
    for each in config.agents_in("judge"):
        if each.judge.by != "likelihood":
            continue
        agent = build(each, None)
        try:
            counts = await telling(agent, key, config)
        finally:
            await agent.close()
        for name, told in counts.items():
            print(f"{each.name:20} tells right from wrong by {name}: {shown(told, len(key))}")
    if arguments.standings is not None:
        print(agreement(accuracies, json.loads(arguments.standings.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("exam", type=Path, help="EXAM.yaml")
    parser.add_argument("--standings", type=Path, help="standings.json of a run of that exam")
    asyncio.run(main(parser.parse_args()))
