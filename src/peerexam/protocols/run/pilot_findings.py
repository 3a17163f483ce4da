"""What a pilot found, in words: the prompt's tail, the reply, and what to change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from peerexam.agents.layers.transcript import Exchange
from peerexam.calls import State
from peerexam.examiners.answering import is_cut
from peerexam.protocols.config.models import AgentConfig, ExamConfig, RoleName
from peerexam.protocols.config.token_limits import Reply, token_limit

Asked = Literal["questions", "answer", "mark", "verdict"]
"""What a role was asked for."""

_REPLY_TO: dict[Asked, Reply] = {
    "questions": "questions",
    "answer": "answers",
    "mark": "judging",
    "verdict": "judging",
}
_PROMPTS: dict[Asked, str] = {"mark": "mark", "verdict": "compare"}
_TAIL = 400
_LONGEST_REPLY = 800
_SHORT_REPLY = 160
_SHOWN_WHOLE = 4
"""Failures that are shown with prompt and reply; of further ones a line each."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one thing that an agent was asked for.

    Attributes:
        agent: Who was asked.
        role: As what.
        asked: For what.
        state: Of the record; `unparsed` for questions that could not be read.
        reason: Why it is not `ok`; of an answer also that it was cut.
        exchanges: The calls; none where no model was asked.
    """

    agent: str
    role: RoleName
    asked: Asked
    state: State = "ok"
    reason: str | None = None
    exchanges: Sequence[Exchange] = ()

    @property
    def is_cut(self) -> bool:
        """Whether the reply was cut at the length limit, usable or not."""
        return is_cut(self.state, self.reason)

    @property
    def who(self) -> str:
        """Who was asked for what."""
        return f"{self.agent} as {self.role}, asked for {_ARTICLES[self.asked]}"


_ARTICLES: dict[Asked, str] = {
    "questions": "questions",
    "answer": "an answer",
    "mark": "a mark",
    "verdict": "a verdict",
}


def in_full(config: ExamConfig, trials: Sequence[Trial]) -> list[str]:
    """Failures with the prompt's tail, the reply, and what to change; several lines each."""
    shown = [_whole(config, trial) for trial in trials[:_SHOWN_WHOLE]]
    return shown + [in_a_line(config, trial) for trial in trials[_SHOWN_WHOLE:]]


def _whole(config: ExamConfig, trial: Trial) -> str:
    lines = [f"{trial.who}: {_what_is_wrong(trial)}"]
    if trial.exchanges:
        first, *again = trial.exchanges
        lines += ["  the prompt ends:", *_quoted(_tail(first.request.messages[-1].content))]
        lines += ["  the reply:", *_quoted(_reply(first))]
        if again and _reply(again[-1]) != _reply(first):
            lines += ["  the last reply, asked again:", *_quoted(_reply(again[-1]))]
    return "\n".join([*lines, f"  what to change: {what_to_change(config, trial)}"])


def in_a_line(config: ExamConfig, trial: Trial) -> str:
    """A failure in one line, its reply clipped."""
    said = ""
    if trial.exchanges and trial.exchanges[-1].completion is not None:
        reply = " ".join(_reply(trial.exchanges[-1]).split())
        more = "…" if len(reply) > _SHORT_REPLY else ""
        said = f"; the reply: {reply[:_SHORT_REPLY]}{more}"
    change = what_to_change(config, trial)
    return f"{trial.who}: {_what_is_wrong(trial)}{said}; to fix it, {change}"


def cut_line(config: ExamConfig, trials: Iterable[Trial]) -> str | None:
    """Whose answers were cut at the length limit, and what to change; None where none was."""
    cut = [trial for trial in trials if trial.asked == "answer" and trial.is_cut]
    if not cut:
        return None
    limits = {trial.agent: _limit(config, trial) for trial in cut}
    who = ", ".join(f"{name} (at {limit:,} tokens)" for name, limit in limits.items())
    return (
        f"answers were cut at the length limit: {who}; a cut answer is judged as it stands: "
        f"{_raise(config, cut[0])}"
    )


def what_to_change(config: ExamConfig, trial: Trial) -> str:
    """The setting, or whatever else helps."""
    if trial.is_cut:
        return _raise(config, trial)
    if trial.state == "error":
        return "fix the agent (its model, endpoint, key or limits), or take the role from it"
    if trial.state in ("refused", "filtered"):
        return "name other domains or questions, or take the role from the agent"
    if trial.state == "empty":
        return (
            "see what the model says by itself (peerexam agents --check MODEL), or take the role "
            "from the agent"
        )
    return _unreadable(config, trial)


def _unreadable(config: ExamConfig, trial: Trial) -> str:
    if trial.asked == "questions":
        return (
            f"name a prompt of your own (prompts: {{questions_{config.questions.style}: FILE}}) or "
            "questions of your own (questions: {file: FILE}), or take the role from the agent"
        )
    return (
        "give the role judge to a model that keeps to the form that it is asked for, let weights "
        "in this process judge by likelihood (judge: {by: likelihood}), or name a prompt of your "
        f"own (prompts: {{{_PROMPTS.get(trial.asked, 'compare')}: FILE}})"
    )


def _raise(config: ExamConfig, trial: Trial) -> str:
    section = _REPLY_TO[trial.asked]
    agent = _agent(config, trial)
    own = agent.max_tokens is not None
    setting = f"agents.{agent.name}.max_tokens" if own else f"{section}.max_tokens"
    return f"raise {setting} (now {_limit(config, trial):,})"


def _limit(config: ExamConfig, trial: Trial) -> int:
    return token_limit(config, _agent(config, trial), _REPLY_TO[trial.asked])


def _agent(config: ExamConfig, trial: Trial) -> AgentConfig:
    return next(agent for agent in config.agents if agent.name == trial.agent)


def _what_is_wrong(trial: Trial) -> str:
    if trial.asked == "questions" and trial.state == "unparsed":
        return trial.reason or "no question could be read"
    return f"{trial.state}: {trial.reason}" if trial.reason else trial.state


def _reply(exchange: Exchange) -> str:
    completion = exchange.completion
    if completion is None:
        return "(none: the call failed)"
    if completion.text.strip():
        return completion.text
    thought = (
        f", {len(completion.thinking):,} characters of thinking" if completion.thinking else ""
    )
    why = f", finish reason {completion.finish_reason}" if completion.finish_reason else ""
    return f"(empty{why}{thought})"


def _tail(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _TAIL else f"…{text[-_TAIL:]}"


def _quoted(text: str) -> list[str]:
    text = text.strip()
    clipped = text if len(text) <= _LONGEST_REPLY else f"{text[:_LONGEST_REPLY]}…"
    return [f"  | {line}" for line in clipped.splitlines()]
