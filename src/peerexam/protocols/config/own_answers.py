"""Whose answers are a judge's own, beside those under its own name."""

from __future__ import annotations

from itertools import combinations

from peerexam.agents.spec import parse_model
from peerexam.protocols.config.checks import PLAYS_DIRECTLY, endpoint, identity
from peerexam.protocols.config.models import AgentConfig, ExamConfig


def own_answers(config: ExamConfig) -> dict[str, frozenset[str]]:
    """Judge to the other examinees that it may not judge.

    By `judging.own_answers`: `agent` are those with the same model and settings under another
    name (what counts is the configured model, not what it is called), `model` all with the same
    model, whatever their settings. Simulated participants differ by name.
    """
    judges, examinees = config.agents_in("judge"), config.agents_in("examinee")
    found = {
        judge.name: frozenset(
            examinee.name
            for examinee in examinees
            if examinee.name != judge.name and _same(judge, examinee, config)
        )
        for judge in judges
    }
    return {name: names for name, names in found.items() if names}


def pairs_without_judge(config: ExamConfig) -> list[tuple[str, str]]:
    """Pairs of examinees that no judge may compare, since each judge wrote one of the answers.

    Their order in the standings would rest on what each did against others alone.
    """
    judges = config.agents_in("judge")
    if config.judging.panel != "all":  # then a question's examiner alone judges it
        setting = {agent.name for agent in config.agents_in("examiner")}
        judges = tuple(judge for judge in judges if judge.name in setting)
    own = own_answers(config)
    barred = [{judge.name, *own.get(judge.name, ())} for judge in judges]
    names = [agent.name for agent in config.agents_in("examinee")]
    return [
        pair for pair in combinations(names, 2) if all(not one.isdisjoint(pair) for one in barred)
    ]


def _same(judge: AgentConfig, examinee: AgentConfig, config: ExamConfig) -> bool:
    one, other = parse_model(judge.model), parse_model(examinee.model)
    if PLAYS_DIRECTLY in (one[0], other[0]):
        return False
    if config.judging.own_answers == "agent":
        return identity(judge) == identity(examinee)
    return one[:2] == other[:2] and endpoint(judge) == endpoint(examinee)
