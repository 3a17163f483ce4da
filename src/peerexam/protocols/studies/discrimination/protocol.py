"""Generation against discrimination (Self-[In]Correct, §3).

For each item an agent writes n candidates at a low temperature; both phases share them. S_gen is
the score of a random candidate, S_disc that of the one which the agent names when it is shown all
of them and decodes greedily. A reply that names none is credited with the lowest candidate (§4.1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from peerexam.calls import Json, Sampling, State
from peerexam.errors import SetupError
from peerexam.examiners.discrimination.choosing import (
    Named,
    Proposed,
    Turn,
    choose,
    choosing,
    propose,
    solving,
)
from peerexam.protocols.session.concurrency import together
from peerexam.protocols.studies.base import Progressed, Study, row_of
from peerexam.protocols.studies.discrimination.answer_scoring import Candidate, Scorer, scorer_of
from peerexam.protocols.studies.discrimination.variations import PLAIN, Variation
from peerexam.tasks.benchmarks.base import BenchmarkTask, Item
from peerexam.tasks.discrimination.candidate_file import EVERY_AGENT, Given
from peerexam.tasks.discrimination.distractors import simplified
from peerexam.tasks.discrimination.examples import examples_of

CANDIDATES, CHOICES = "candidates.jsonl", "choices.jsonl"

NO_ANSWER = "(no answer)"
"""Shown in the place of an empty candidate."""


@dataclass(frozen=True, slots=True)
class Discrimination:
    """What is to be done.

    Attributes:
        task: The benchmark.
        items: Its items, or those drawn from it.
        agents: Who answers and chooses.
        judges: Who scores what has no key.
        candidates: How many, n.
        temperature: Of the candidates.
        variations: Of the discrimination phase.
        peers: Whether every other agent chooses among an agent's candidates too, by `head`.
        seed: Of the random candidate, of distractors, of intervals.
        max_tokens: Of a candidate; None is the task's.
        given: Candidates of a file, in place of the agents' own.
        pool: The whole benchmark, where distractors come from.
    """

    task: BenchmarkTask
    items: tuple[Item, ...]
    agents: tuple[str, ...]
    variations: tuple[Variation, ...]
    judges: tuple[str, ...] = ()
    candidates: int = 4
    temperature: float = 0.7
    peers: bool = False
    seed: int = 0
    max_tokens: int | None = None
    given: Given | None = None
    pool: tuple[Item, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be done.

        Raises:
            SetupError: There is no item, nothing to choose from, or no peer.
        """
        if not self.items:
            raise SetupError(f"there is no item of {self.task.name} to ask about")
        if self.candidates < 2:
            raise SetupError("--candidates is a number of answers to choose from, 2 or more")
        if not 0 <= self.temperature <= 10:
            raise SetupError("--temperature is a number of 0 or more")
        if self.peers and len(self.agents) < 2:
            raise SetupError("--peers needs a second agent among --agents")
        if not self.variations:
            raise SetupError("there is no variation to ask by")

    @property
    def head(self) -> Variation:
        """The variation that stands for the study, and by which peers choose: plain, if it can."""
        return next((one for one in self.variations if one.name == PLAIN.name), self.variations[0])

    def own(self, agent: str) -> Mapping[str, tuple[str, ...]] | None:
        """The candidates that the file has for an agent, by item; None where there is no file."""
        if self.given is None:
            return None
        return self.given.get(agent) or self.given.get(EVERY_AGENT) or {}

    async def ask(self, study: Study) -> Progressed[tuple[Examined, ...]]:
        """Item by item, one entry an agent.

        Raises:
            SetupError: A judge cannot judge.
        """
        examiner = _Examiner(self, study, scorer_of(self.task, self.judges, study))
        return await study.over(self.items, examiner.of_all)

    def files(self, rows: Sequence[tuple[Examined, ...]]) -> dict[str, Iterable[dict[str, Json]]]:
        """The candidates and the choices, one a row."""
        examined = [one for item in rows for one in item]
        return {
            CANDIDATES: _candidate_rows(self, examined),
            CHOICES: _choice_rows(examined),
        }


@dataclass(frozen=True, slots=True)
class Choice:
    """What one chooser said of one item's candidates.

    Attributes:
        chooser: The agent that chose.
        variation: By which prompt.
        order: Index of the candidate under each label.
        picked: Index of the candidate; None where the reply names none.
        state: `ok`, or why there is none; `error` is a call that failed, and no choice at all.
    """

    chooser: str
    variation: str
    order: tuple[int, ...]
    picked: int | None
    state: State
    reason: str | None = None
    reply: str | None = None
    prompt: str = ""
    call: str | None = None

    @property
    def label(self) -> int | None:
        """The label of what was picked, counted from 1."""
        return None if self.picked is None else self.order.index(self.picked) + 1


@dataclass(frozen=True, slots=True)
class Examined:
    """One item of one agent.

    Attributes:
        agent: Who wrote the candidates.
        choices: Empty where a candidate is missing.
        shown: By variation the candidates' texts, where they were exchanged.
    """

    item: Item
    agent: str
    candidates: tuple[Candidate, ...]
    choices: tuple[Choice, ...] = ()
    shown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """Calls that failed; the rotation that shows the plain order shares the plain call."""
        lost = sum(one.failed for one in self.candidates)
        errors = [choice for choice in self.choices if choice.state == "error"]
        return lost + len({choice.call or at for at, choice in enumerate(errors)})


def random_candidate(seed: int, agent: str, item: Item, n: int) -> int:
    """Index of the random candidate of S_gen: decided by the seed, whatever else is asked."""
    body = f"{seed}\n{agent}\n{item.id}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(body, digest_size=8).digest()) % n


def _candidate_rows(
    settings: Discrimination, rows: Sequence[Examined]
) -> Iterator[dict[str, Json]]:
    """One row a candidate: text, state, what was extracted, score."""
    for one in rows:
        n = len(one.candidates)
        picked = random_candidate(settings.seed, one.agent, one.item, n)
        for at, candidate in enumerate(one.candidates):
            answer = candidate.answer
            yield row_of(
                answer,
                "item agent candidate text state reason extracted score unscored judgements "
                "random prompt call",
                item=one.item.id,
                agent=one.agent,
                candidate=at + 1,
                extracted=candidate.extracted,
                score=candidate.score,
                unscored=candidate.unscored,
                judgements=dict(candidate.judgements),
                random=at == picked,
            )


def _choice_rows(rows: Sequence[Examined]) -> Iterator[dict[str, Json]]:
    """One row a choice: who chose what, under which labels, and what it is credited with."""
    for one in rows:
        for choice in one.choices:
            yield row_of(
                choice,
                "item agent chooser variation order label candidate state reason credit reply "
                "shown prompt call",
                item=one.item.id,
                agent=one.agent,
                order=[at + 1 for at in choice.order],
                candidate=None if choice.picked is None else choice.picked + 1,
                credit=_credit(one, choice),
                shown=list(one.shown.get(choice.variation, ())) or None,
            )


def _credit(one: Examined, choice: Choice) -> float | None:
    scores = [candidate.score for candidate in one.candidates]
    known = [score for score in scores if score is not None]
    if choice.state == "error" or len(known) < len(scores):
        return None
    return min(known) if choice.picked is None else scores[choice.picked]


@dataclass(frozen=True, slots=True)
class _Examiner:
    settings: Discrimination
    study: Study
    scorer: Scorer

    async def of_all(self, item: Item) -> tuple[Examined, ...]:
        return tuple(await together(self._examine(item, name) for name in self.settings.agents))

    async def _examine(self, item: Item, name: str) -> Examined:
        earlier = await self._earlier(item, name)
        if isinstance(earlier, Proposed):
            lost = Candidate(earlier, unscored=earlier.reason, failed=True)
            return Examined(item, name, (lost,))
        answers = await self._answers(item, name, earlier)
        candidates = tuple(
            await together(self.scorer.score(item, earlier, answer) for answer in answers)
        )
        if any(answer.state == "error" for answer in answers):
            return Examined(item, name, candidates)
        texts = tuple(answer.text for answer in answers)
        shown = {
            variation.name: self._shown(item, texts, variation)
            for variation in self.settings.variations
        }
        asked = _asked(item, earlier)
        choices = await together(
            self._choose(asked, shown.get(variation.name, texts), chooser, variation, rotation)
            for chooser, variation in self._choosers(name)
            for rotation in variation.rotations(len(texts))
        )
        changed = {key: value for key, value in shown.items() if value != texts}
        return Examined(item, name, candidates, tuple(choices), changed)

    def _choosers(self, owner: str) -> list[tuple[str, Variation]]:
        """The agent itself by every variation; its peers by the one that stands for the study."""
        own = [(owner, variation) for variation in self.settings.variations]
        if not self.settings.peers:
            return own
        head = self.settings.head
        return own + [(peer, head) for peer in self.settings.agents if peer != owner]

    async def _earlier(self, item: Item, name: str) -> list[Turn] | Proposed:
        """The turns before, each answered by the agent's first draw; or what failed of them."""
        turns: list[Turn] = []
        for at, question in enumerate(item.earlier):
            before = Item(f"{item.cluster}-{at + 1}", question, earlier=item.earlier[:at])
            answer = (await self._answers(before, name, turns, only_first=True))[0]
            if answer.state == "error":
                return answer
            turns.append(Turn(question, answer.text or NO_ANSWER))
        return turns

    async def _answers(
        self, item: Item, name: str, earlier: Sequence[Turn], *, only_first: bool = False
    ) -> list[Proposed]:
        settings = self.settings
        own = settings.own(name)
        if own is not None and item.id in own:
            return [Proposed(t.strip(), "ok" if t.strip() else "empty") for t in own[item.id]]
        agent, task = self.study.agents[name], settings.task
        chat = "chat" in agent.features
        rendered = solving(
            self.study.prompts, chat, task.name, examples_of(task), item.question, earlier
        )
        sampling = Sampling(
            settings.temperature,
            max_tokens=settings.max_tokens or task.max_tokens,
            stop=() if chat else task.stop,
        )
        draws = range(1 if only_first else settings.candidates)
        return await together(propose(agent, rendered, sampling, draw) for draw in draws)

    def _shown(self, item: Item, texts: tuple[str, ...], variation: Variation) -> tuple[str, ...]:
        if not variation.simplified:
            return texts
        settings = self.settings
        pool = settings.pool or settings.items
        return tuple(simplified(settings.task, item, texts, pool, settings.seed))

    async def _choose(
        self, asked: str, texts: Sequence[str], chooser: str, variation: Variation, rotation: int
    ) -> Choice:
        settings, agent = self.settings, self.study.agents[chooser]
        order = tuple((at + rotation) % len(texts) for at in range(len(texts)))
        rendered = choosing(
            self.study.prompts,
            "chat" in agent.features,
            settings.task.name,
            variation.examples(settings.task, len(texts)),
            asked,
            [settings.task.shown(texts[at]) or NO_ANSWER for at in order],
            variation.wording,
            settings.seed,
        )
        limit = variation.max_tokens(settings.task)
        named = await choose(agent, rendered, len(texts), limit, variation.wording.verbatim)
        return _choice(chooser, variation.name, order, named, texts, settings.task)


def _asked(item: Item, earlier: Sequence[Turn]) -> str:
    """The question as it is shown to whoever chooses, with the turns before it."""
    lines = [f"Earlier: {turn.question}\nEarlier response: {turn.answer}" for turn in earlier]
    return "\n\n".join([*lines, item.question])


def _choice(
    chooser: str,
    variation: str,
    order: tuple[int, ...],
    named: Named,
    texts: Sequence[str],
    task: BenchmarkTask,
) -> Choice:
    picked, state, reason = None, named.state, named.reason
    if named.label is not None:
        picked = order[named.label - 1]
    elif named.text is not None:
        picked = named_candidate(named.text, [texts[at] for at in order], task)
        picked = None if picked is None else order[picked]
        if picked is None:
            state, reason = "unparsed", "the reply is none of the candidates"
    return Choice(
        chooser, variation, order, picked, state, reason, named.reply, named.prompt, named.call
    )


def named_candidate(text: str, shown: Sequence[str], task: BenchmarkTask) -> int | None:
    """Which candidate a verbatim reply is: the first with the same text, else the same answer.

    Args:
        text: What the reply names.
        shown: Candidates in the order of their labels.
        task: Whose extraction tells what answer a text gives.
    """
    folded = [_folded(task.shown(one)) for one in shown]
    wanted = _folded(task.shown(text))
    if wanted in folded:
        return folded.index(wanted)
    extracted = task.extract(text)
    answers = [task.extract(one) for one in shown]
    return answers.index(extracted) if extracted is not None and extracted in answers else None


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
