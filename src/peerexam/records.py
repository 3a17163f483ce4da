"""What an exam is made of: questions, answers, marks, verdicts, rankings, standings.

Frozen values without behaviour. Every planned answer, mark and verdict becomes a record, as a
value (`state == "ok"`) or as a named failure; none is dropped in silence. `call` is the ledger key
of the call behind a record, or several joined by `+` in the order asked, the last of them the one
whose reply was read: a judge is asked again, or scores two texts. It is None where no model was
asked. `prompt` is the hash of the template that asked for it, so that a changed prompt can never be
mistaken for a changed model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from peerexam.calls import Json, State

SCHEMA_VERSION = 1
"""Of the records in a run's folder; it stands in the manifest."""

Group = Literal["concise", "complex", "compound", "hard", "own"]
"""The kind of question: the paper's three (appendix B.1), hard (B.3), or the user's own."""

Level = Literal["memorization", "comprehension", "analysis"]
"""The cognitive level a question asks for (examiner paper, §3.1)."""

Winner = Literal["first", "second", "tie"]

PLAIN = "plain"
"""Style of a canary's wrong answer as it is."""

HARMLESS = "harmless"
"""Style of a wrong answer with a sentence that asks for nothing: the control of the attacks."""

DIMENSIONS = ("accuracy", "coherence", "factuality", "comprehensiveness")
"""The default rubric's dimensions, each 1 to 3 (examiner paper, §3.2); `overall` is 1 to 5."""


@dataclass(frozen=True, slots=True)
class Domain:
    """A field of knowledge to ask about, with its path from the taxonomy's root."""

    name: str
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        id: Stable across resume; unique within the run.
        text: What the examinees are asked.
        domain: The domain's name.
        domain_path: From the taxonomy's root to the domain.
        author: The examiner it came from, None for the user's own.
        group: The kind of question.
        round: 1 for a question of the paper, 2 and more for follow-ups.
        parent_id: The question whose answer a follow-up goes on from.
        level: Cognitive level, where it was asked for.
        examinee: For a follow-up, the one agent that is asked it; None means everyone.
        reference: The author's own answer, where it was asked for (examiner paper, §3.1).
        reference_agreement: In which share of further draws (0 to 1) the author gave the same
            answer again; None where there were none.
        prompt: Hash of the template that asked for it.
        call: Ledger key of the call that set it.
    """

    id: str
    text: str
    domain: str
    domain_path: tuple[str, ...] = ()
    author: str | None = None
    group: Group = "own"
    round: int = 1
    parent_id: str | None = None
    level: Level | None = None
    examinee: str | None = None
    reference: str | None = None
    reference_agreement: float | None = None
    prompt: str | None = None
    call: str | None = None


@dataclass(frozen=True, slots=True)
class LevelVote:
    """What one classifier says of a question's cognitive level (examiner paper, §3.1).

    Attributes:
        level: None where there is no answer.
        reply: The classifier's text where it could not be read.
    """

    question_id: str
    classifier: str
    level: Level | None
    state: State = "ok"
    reason: str | None = None
    reply: str | None = None
    prompt: str | None = None
    call: str | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """One answer of an author to its own question.

    Attributes:
        draw: 0 is the reference; the others are checked against it.
        agrees: Whether it says the same as the reference; None for the reference itself, and
            where that is not known.
    """

    question_id: str
    author: str
    draw: int
    text: str
    agrees: bool | None = None
    state: State = "ok"
    reason: str | None = None
    prompt: str | None = None
    call: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What one examinee answered to one question; `text` is kept as it came."""

    question_id: str
    examinee: str
    text: str
    state: State = "ok"
    reason: str | None = None
    prompt: str | None = None
    call: str | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """One judge's Likert scores of one answer.

    Attributes:
        scores: Dimension to score, None where there is none. A rubric's own dimensions, by
            default `DIMENSIONS`.
        overall: 1 to 5 by default; 5 is the full mark.
        reply: The judge's text where it could not be read.
    """

    question_id: str
    examinee: str
    judge: str
    scores: Mapping[str, int | None] = field(default_factory=dict)
    overall: int | None = None
    state: State = "ok"
    reason: str | None = None
    reply: str | None = None
    prompt: str | None = None
    call: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judge's comparison of two answers in one order.

    Attributes:
        first: The examinee whose answer was shown first.
        second: The examinee whose answer was shown second.
        winner: By position, not by name; None where there is no verdict.
        reply: The judge's text where it could not be read.
    """

    question_id: str
    judge: str
    first: str
    second: str
    winner: Winner | None
    state: State = "ok"
    reason: str | None = None
    reply: str | None = None
    prompt: str | None = None
    call: str | None = None

    @property
    def is_self_judgement(self) -> bool:
        """Whether the judge wrote one of the two answers. Such a verdict enters no standing."""
        return self.judge in (self.first, self.second)

    @property
    def points_of_first(self) -> float | None:
        """1 for a win of the first answer, ½ for a tie, 0 for a loss, None without a verdict."""
        return (
            None if self.winner is None else {"first": 1.0, "tie": 0.5, "second": 0.0}[self.winner]
        )


@dataclass(frozen=True, slots=True)
class Ranking:
    """One judge's order of the answers to one question, its own answer left out.

    Attributes:
        order: Best first; examinees that are tied stand together.
        unranked: Examinees that could not be placed, because their answer or every verdict
            on it failed.
    """

    question_id: str
    judge: str
    order: tuple[tuple[str, ...], ...]
    unranked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Probe:
    """What a judge made of a canary: a wrong answer, plain or with something added to it.

    Shown beside the right answer it got a verdict, and alone a mark.

    Attributes:
        canary: The question's id.
        style: `PLAIN`, `HARMLESS`, or the style of the attack.
        place: Where the wrong answer was shown beside the right one; None where it was marked.
        winner: Of the verdict; None where there is none.
        overall: Of the mark; None where there is none.
        reply: The judge's text where it could not be read.
    """

    judge: str
    canary: str
    style: str
    place: Literal["first", "second"] | None
    winner: Literal["right", "wrong", "tie"] | None = None
    overall: int | None = None
    state: State = "ok"
    reason: str | None = None
    reply: str | None = None
    prompt: str | None = None
    call: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """One agent's place, with the interval that says how sure one can be (see `design` §6).

    Attributes:
        rank: Competition rank (1, 2, 2, 4) by score.
        rank_low: Best rank that the interval allows.
        rank_high: Worst rank that the interval allows.
        tier: Agents that the intervals do not distinguish share a tier; 1 is the best.
        score: By the voting rule, scaled to 0..1.
        full_mark: Mean over the other judges of the percentage of full marks, 0..100; same as avg.
        avg: The examiner paper's AVG (Table 4).
        avg_weight: Its AVG_weight: every judge's column scaled so that its best is 100.
        win_rate: Mean win rate against the others, ties half, 0..1.
        questions: On how many questions this rests.
    """

    agent: str
    rank: int
    rank_low: int
    rank_high: int
    tier: int
    score: float
    score_low: float
    score_high: float
    full_mark: float | None
    avg: float | None
    avg_weight: float | None
    win_rate: float | None
    questions: int


Record = Question | LevelVote | Reference | Answer | Mark | Verdict | Ranking | Probe


def to_json(record: Record) -> dict[str, Json]:
    """A record as one JSON object. A mark's scores stand beside its other keys.

    >>> to_json(Ranking("q1", "j", (("a", "b"), ("c",))))["order"]
    [['a', 'b'], ['c']]
    """
    body: dict[str, Json] = {}
    for name in record.__dataclass_fields__:
        value: Any = getattr(record, name)
        if name == "scores":
            body.update(value)
        elif name == "order":
            body["order"] = [list(group) for group in value]
        else:
            body[name] = list(value) if isinstance(value, tuple) else value
    return body


def with_input(instruction: str, given: object) -> str:
    """The question that an instruction row asks: the instruction, and what it is about.

    Rows in Alpaca's layout keep the two apart (`instruction`, `input`), and many have no input. The
    words between them are those of Alpaca's own prompt.

    >>> with_input("Translate into French.", "")
    'Translate into French.'
    >>> print(with_input("Translate into French.", "The sky is blue."))
    ### Instruction:
    Translate into French.
    <BLANKLINE>
    ### Input:
    The sky is blue.
    """
    if not isinstance(given, str) or not given.strip():
        return instruction
    return f"### Instruction:\n{instruction}\n\n### Input:\n{given}"
