"""How many tokens a reply may have: as configured, else by where the agent runs.

A hosted model ends by itself, and one that thinks spends thousands of tokens before its answer: a
limit there is a guard and costs nothing where it is not reached. Weights in this process ramble
until they are cut, so theirs are short; they are never given more than fits into their context.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from peerexam.agents.registry import runs_here
from peerexam.agents.spec import parse_model
from peerexam.protocols.config.models import AgentConfig, ExamConfig

Reply = Literal["questions", "levels", "references", "answers", "follow_ups", "judging"]
"""What is asked for, by the section of the config that sets its limit."""

HOSTED = 16_384
"""Of any reply of an agent that does not run here."""

HERE: Mapping[Reply, int] = {
    "questions": 1024,
    "levels": 64,
    "references": 512,
    "answers": 512,
    "follow_ups": 200,
    "judging": 512,
}
"""Of the replies of weights in this process."""

PAPER = 200
"""Of an answer in the examiner paper (appendix C.2), as the preset `paper` has it."""


def token_limit(config: ExamConfig, agent: AgentConfig, reply: Reply) -> int:
    """The limit on one reply of an agent: its own, else the config's, else the default."""
    own = agent.max_tokens or _in_its_name(agent)
    return own or role_limit(config, agent, reply)


def role_limit(config: ExamConfig, agent: AgentConfig, reply: Reply) -> int:
    """The limit that a role asks for, whatever the agent's own."""
    given = _configured(config)[reply]
    if given is not None:
        return given
    if reply == "answers" and config.answers.preset == "paper":
        return PAPER
    return HERE[reply] if runs_here(parse_model(agent.model)[0]) else HOSTED


def _configured(config: ExamConfig) -> Mapping[Reply, int | None]:
    questions = config.questions
    return {
        "questions": questions.max_tokens,
        "levels": questions.levels.max_tokens,
        "references": questions.references.max_tokens,
        "answers": config.answers.max_tokens,
        "follow_ups": config.follow_ups.max_tokens,
        "judging": config.judging.max_tokens,
    }


def _in_its_name(agent: AgentConfig) -> int | None:
    """As in `openai/m?max_tokens=400`; what is no number is refused where the agent is built."""
    value = {**parse_model(agent.model)[3], **agent.options}.get("max_tokens")
    return value if isinstance(value, int) and not isinstance(value, bool) else None
