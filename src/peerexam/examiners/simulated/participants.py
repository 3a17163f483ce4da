"""Simulated participants: they set, answer, judge and classify with planted abilities and biases.

They take their roles directly, not through text, and ask no model. Everything they do is a hash of
the seed and of what they are asked, so it does not depend on the order of the calls: the same
answers compared in the same order always get the same verdict. A measure that does not find what
was planted in them is wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from statistics import NormalDist
from typing import get_args

from peerexam.agents.spec import AgentSpec
from peerexam.errors import SetupError
from peerexam.examiners.asking import Outcome
from peerexam.examiners.base import AuthoredQuestions, FollowUp, Style
from peerexam.examiners.simulated.spec import SimSpec, home_gain, sim_spec, win_probability
from peerexam.records import (
    DIMENSIONS,
    Answer,
    Domain,
    Group,
    Level,
    LevelVote,
    Mark,
    Question,
    Reference,
    Verdict,
)

FULL_MARK_ABOVE = 1.0
"""Quality, in logits, above which an answer gets the full mark."""

_NORMAL = NormalDist()
_REPLY = "(simulated: no verdict in a form that can be read)"
_LEVEL_REPLY = "(simulated: no level in a form that can be read)"
_LEVELS: tuple[Level, ...] = get_args(Level)
# fmt: off
_WORDS = (
    "the", "case", "rests", "on", "a", "rule", "that", "holds", "for", "most", "and", "fails",
    "with", "few", "so", "one", "must", "weigh", "both",
)
# fmt: on


def _chance(*parts: object) -> float:
    """A number in (0, 1) that depends on the parts alone: 53 bits of their hash."""
    text = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(text, digest_size=8).digest()
    return ((int.from_bytes(digest) >> 11) + 0.5) / 2**53


@lru_cache(maxsize=65_536)
def _luck(seed: int, question_id: str, examinee: str) -> float:
    """A standard normal number, the same for every judge of an answer."""
    return _NORMAL.inv_cdf(_chance(seed, "quality", question_id, examinee))


class SimParticipant:
    """One simulated participant in all roles.

    Args:
        name: Who it is in the exam.
        spec: What is planted in it.
        seed: Of the world. Participants that meet must share it, since it fixes the quality of
            every answer, whoever judges.
        everyone: Name to what is planted in it. An examinee that is not listed counts as
            an average one without noise of its own.

    Attributes:
        never_waits: It waits for nothing, so asking several at the same time gains nothing.
    """

    never_waits = True

    def __init__(
        self, name: str, spec: SimSpec, seed: int, everyone: Mapping[str, SimSpec]
    ) -> None:
        self._name = name
        self._spec = spec
        self._seed = seed
        self._everyone = everyone

    @property
    def name(self) -> str:
        """Who it is in the exam."""
        return self._name

    @property
    def spec(self) -> SimSpec:
        """What is planted in it."""
        return self._spec

    async def questions(self, domain: Domain, n: int, style: Style) -> AuthoredQuestions:
        """Set n numbered questions; none is ever missing."""
        questions = tuple(self._question(domain, i, n, style) for i in range(n))
        return AuthoredQuestions(questions, wanted=n)

    def _question(self, domain: Domain, i: int, n: int, style: Style) -> Question:
        return Question(
            id=f"{self._name}:{domain.name}:{i + 1}",
            text=f"{self._name} asks, number {i + 1} on {domain.name}: {self._words(domain, i)}?",
            domain=domain.name,
            domain_path=domain.path,
            author=self._name,
            group="hard" if style == "peer" else _breadth_group(i, n),
        )

    def _words(self, domain: Domain, i: int) -> str:
        """Six words of which hardly two questions share the order."""
        picks = (_chance(self._seed, "word", self._name, domain.name, i, k) for k in range(6))
        return " ".join(_WORDS[int(pick * len(_WORDS))] for pick in picks)

    async def follow_up(self, question: Question, answer: Answer) -> FollowUp:
        """Ask one question more, of the same domain and author, for this examinee alone."""
        return FollowUp(
            Question(
                id=f"{question.id}>{answer.examinee}",
                text=f"{self._name} asks {answer.examinee} to go on from {question.id}",
                domain=question.domain,
                domain_path=question.domain_path,
                author=self._name,
                group=question.group,
                round=question.round + 1,
                parent_id=question.id,
                examinee=answer.examinee,
            )
        )

    async def answer(self, question: Question) -> Answer:
        """Answer with a sentence whose length says nothing about its quality."""
        words = 5 + int(40 * _chance(self._seed, "length", question.id, self._name))
        body = " ".join(_WORDS[i % len(_WORDS)] for i in range(words))
        return Answer(question.id, self._name, f"{self._name} holds that {body}.")

    async def level(self, question: Question) -> LevelVote:
        """Say the question's own level, which the world has, unless noise is planted."""
        if self._fails("level", question.id):
            return LevelVote(
                question.id, self._name, None, "unparsed", "planted error", _LEVEL_REPLY
            )
        own = int(3 * _chance(self._seed, "level", question.id))
        misses = _chance(self._seed, "level noise", self._name, question.id)
        noise = self._spec.level_noise
        # Below the noise, a half of the misses for each of the other two levels.
        step = 0 if misses >= noise else 1 + (misses >= noise / 2)
        return LevelVote(question.id, self._name, _LEVELS[(own + step) % 3])

    async def reference(self, question: Question, draw: int) -> Reference:
        """Answer in the words of draw 0, unless noise is planted."""
        drawn = _chance(self._seed, "reference", self._name, question.id, draw)
        said = draw if draw and drawn < self._spec.reference_noise else 0
        chance = _chance(self._seed, "reference words", self._name, question.id, said)
        order = int(chance * len(_WORDS) ** 6)
        words = " ".join(_WORDS[order // len(_WORDS) ** k % len(_WORDS)] for k in range(6))
        text = f"{self._name} knows, as of {said}, that {words}."
        return Reference(question.id, self._name, draw, text)

    async def same(self, question: Question, reference: str, other: str) -> Outcome[bool]:
        """Say whether both are the same text: simulated authors say one thing in one way."""
        return Outcome(reference == other)

    async def mark(self, question: Question, answer: Answer) -> Mark:
        """Mark by the planted quality: the full mark exactly where it is above 1."""
        if self._fails("mark", question.id, answer.examinee):
            return Mark(
                question.id,
                answer.examinee,
                self._name,
                dict.fromkeys(DIMENSIONS),
                state="unparsed",
                reason="planted error",
                reply=_REPLY,
            )
        quality = self.quality(question, answer.examinee)
        overall = 1 + sum(quality > limit for limit in (-2.0, -1.0, 0.0, FULL_MARK_ABOVE))
        each = 1 + (quality > -1.0) + (quality > 0.0)
        scores: dict[str, int | None] = dict.fromkeys(DIMENSIONS, each)
        return Mark(question.id, answer.examinee, self._name, scores, overall)

    async def verdict(self, question: Question, first: Answer, second: Answer) -> Verdict:
        """Draw the winner by `win_probability`; no ties."""
        a, b = first.examinee, second.examinee
        if self._fails("verdict", question.id, a, b):
            return Verdict(question.id, self._name, a, b, None, "unparsed", "planted error", _REPLY)
        chance = win_probability(
            self._spec,
            self._base_quality(question, a) - self._base_quality(question, b),
            own=(a == self._name) - (b == self._name),
            longer=(len(first.text) > len(second.text)) - (len(first.text) < len(second.text)),
            home=self._home(question, a) - self._home(question, b),
        )
        won = _chance(self._seed, "verdict", self._name, question.id, a, b) < chance
        return Verdict(question.id, self._name, a, b, "first" if won else "second")

    def quality(self, question: Question, examinee: str) -> float:
        """Planted quality of an answer in logits, home advantage included, whoever asks."""
        home = home_gain(self._everyone[examinee]) if self._home(question, examinee) else 0.0
        return self._base_quality(question, examinee) + home

    def _base_quality(self, question: Question, examinee: str) -> float:
        spec = self._everyone.get(examinee)
        if spec is None:
            return 0.0
        return spec.ability + spec.noise * _luck(self._seed, question.id, examinee)

    def _home(self, question: Question, examinee: str) -> float:
        spec = self._everyone.get(examinee)
        return spec.home_advantage if spec is not None and question.author == examinee else 0.0

    def _fails(self, kind: str, *ids: str) -> bool:
        rate = self._spec.error_rate
        return rate > 0 and _chance(self._seed, "error", kind, self._name, *ids) < rate


def _breadth_group(i: int, n: int) -> Group:
    """First three concise, last three compound, complex between (examiner paper, B.1)."""
    if i < 3:
        return "concise"
    return "compound" if i >= n - 3 else "complex"


def simulated_participants(specs: Iterable[AgentSpec], seed: int) -> dict[str, SimParticipant]:
    """Build the participants of one world, keyed by their names in the exam.

    Args:
        specs: `sim/…` agents.
        seed: Fixes everything that they will do.

    Raises:
        SetupError: A spec cannot be read, or two of them have one name.
    """
    everyone: dict[str, SimSpec] = {}
    for agent in specs:
        if agent.name in everyone:
            raise SetupError(f"two simulated participants are called '{agent.name}': rename one")
        everyone[agent.name] = sim_spec(agent)
    return {name: SimParticipant(name, spec, seed, everyone) for name, spec in everyone.items()}
