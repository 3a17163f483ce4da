"""What an exam will ask and cost, worked out without asking anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from peerexam.agents.pricing.prices import Quote
from peerexam.calls import Json
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.config.prices import quotes
from peerexam.protocols.planning.advice import advice
from peerexam.protocols.planning.annotation_counts import AnnotationCounts, in_order_of_file
from peerexam.protocols.planning.call_counts import CallCounts, Part, Task, Work
from peerexam.protocols.planning.ranges import Range, total
from peerexam.tasks.questions.file import load_questions
from peerexam.tasks.questions.sealed import is_sealed


@dataclass(frozen=True, slots=True)
class Line:
    """What one agent does in one role.

    Attributes:
        cost: US dollars; None where its price is unknown.
    """

    agent: str
    role: Part
    task: Task
    calls: Range
    prompt_tokens: Range
    completion_tokens: Range
    cost: Range | None


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole of it.

    Attributes:
        lines: By agent and task, in the order of the file.
        questions: Of the first round.
        assumptions: What the figures rest on.
        prices: By agent; None is unknown.
        hints: Advice on how else the exam might be run.
    """

    lines: tuple[Line, ...]
    questions: int
    assumptions: tuple[str, ...]
    prices: Mapping[str, Quote | None] = field(default_factory=dict)
    hints: tuple[str, ...] = ()

    @property
    def calls(self) -> Range:
        """All calls."""
        return total([line.calls for line in self.lines])

    @property
    def tokens(self) -> Range:
        """Prompt and completion tokens together."""
        return total([line.prompt_tokens + line.completion_tokens for line in self.lines])

    @property
    def cost(self) -> Range:
        """US dollars of the agents whose price is known; see `unpriced`."""
        return total([line.cost for line in self.lines if line.cost is not None])

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Agents with calls to make whose price is unknown."""
        names = [line.agent for line in self.lines if line.cost is None and line.calls.most]
        return tuple(dict.fromkeys(names))

    def to_json(self) -> dict[str, Json]:
        """As plain JSON; an unknown cost is null, and `unknown_for` names whose it is."""
        return {
            "questions": self.questions,
            "calls": _counted(self.calls),
            "tokens": _counted(self.tokens),
            "cost_usd": {**_dollars(self.cost), "unknown_for": list(self.unpriced)},
            "prices": {
                name: None if quote is None else quote.to_json()
                for name, quote in self.prices.items()
            },
            "lines": [_line_json(line) for line in self.lines],
            "assumptions": list(self.assumptions),
            "hints": list(self.hints),
        }


def plan(config: ExamConfig, own_questions: Sequence[str] | None = None) -> Plan:
    """Plan an exam.

    Args:
        config: The exam.
        own_questions: Texts of the user's own questions, where they are at hand; otherwise the
            config's file of them is read, if it names one.

    Raises:
        SetupError: The file of questions cannot be read.
    """
    file = config.questions.file
    held = load_questions(file) if own_questions is None and file is not None else None
    if held is not None:
        own_questions = [question.text for question in held]
    authors = [question.author for question in held or ()]
    counts = CallCounts(config, own_questions, authors)
    notes = AnnotationCounts(config, counts, held)
    prices = quotes(config)
    sealed = held is not None and file is not None and is_sealed(file)
    annotating = [] if sealed else [*notes.work()]
    lines = tuple(
        _priced(work, prices[work.agent.name])
        for work in in_order_of_file(config, [*counts.work(), *annotating])
    )
    return Plan(
        lines,
        counts.questions,
        (*counts.assumptions(), *(notes.assumptions() if annotating else ())),
        prices,
        tuple(advice(config, counts)),
    )


def _priced(work: Work, quote: Quote | None) -> Line:
    cost = cost_of(quote, work.calls, work.prompt_tokens, work.completion_tokens)
    return Line(
        work.agent.name,
        work.role,
        work.task,
        work.calls,
        work.prompt_tokens,
        work.completion_tokens,
        cost,
    )


def cost_of(
    quote: Quote | None, calls: Range, prompt_tokens: Range, completion_tokens: Range
) -> Range | None:
    """What calls cost in US dollars; None where the price is unknown.

    Args:
        quote: The agent's price.
        calls: How many.
        prompt_tokens: Of all of them together.
        completion_tokens: Of all of them together.
    """
    if quote is None:
        return None
    # Some tariffs rise with the prompt; none of it is counted as cached.
    mean = prompt_tokens.most / calls.most if calls.most else 0
    rate = quote.tariff.rate(round(mean))
    tokens = prompt_tokens * (rate.input / 1e6) + completion_tokens * (rate.output / 1e6)
    return tokens + calls * rate.request


def _counted(span: Range) -> dict[str, Json]:
    return {
        "least": round(span.least),
        "expected": round(span.expected),
        "most": round(span.most),
    }


def _dollars(span: Range) -> dict[str, Json]:
    return {
        "least": round(span.least, 6),
        "expected": round(span.expected, 6),
        "most": round(span.most, 6),
    }


def _line_json(line: Line) -> dict[str, Json]:
    return {
        "agent": line.agent,
        "role": line.role,
        "task": line.task,
        "calls": _counted(line.calls),
        "prompt_tokens": _counted(line.prompt_tokens),
        "completion_tokens": _counted(line.completion_tokens),
        "cost_usd": None if line.cost is None else _dollars(line.cost),
    }
