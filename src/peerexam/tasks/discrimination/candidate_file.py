"""Candidates from a file, in place of those that an agent would write.

Read are rows of `{question or id, candidates: [text, …]}`, rows of one candidate each
(`{item or id or question, text}`, `agent` optional, as in a study's own `candidates.jsonl`), and
GSM8K's `example_model_solutions.jsonl`, which has one solution by each of four models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import RecordFileError, SetupError
from peerexam.tasks.benchmarks.base import Item
from peerexam.tasks.benchmarks.rows import file_rows

EVERY_AGENT = ""
"""Whose candidates are those that name no agent."""

Given = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Agent to item's id to candidates."""


def read_candidates(path: Path, items: Sequence[Item]) -> Given:
    """The candidates of a file, by agent and item.

    Raises:
        RecordFileError: A row names no item, or holds no candidate.
        SetupError: Items have different numbers of candidates, or fewer than two.
    """
    by_id = {item.id: item for item in items}
    by_question: dict[str, list[Item]] = {}
    for item in items:
        by_question.setdefault(_folded(item.question), []).append(item)
    found: dict[str, dict[str, list[str]]] = {}
    for line, row in file_rows(path):
        texts = _texts(row)
        if not texts:
            raise RecordFileError("expected 'candidates', a list of texts, or 'text'", path, line)
        agent = row.get("agent")
        held = found.setdefault(agent if isinstance(agent, str) else EVERY_AGENT, {})
        for item in _items(row, by_id, by_question, path, line):
            held.setdefault(item.id, []).extend(texts)
    _check(found, path)
    return {
        agent: {id_: tuple(texts) for id_, texts in held.items()} for agent, held in found.items()
    }


def _items(
    row: Mapping[str, Json],
    by_id: Mapping[str, Item],
    by_question: Mapping[str, Sequence[Item]],
    path: Path,
    line: int,
) -> Sequence[Item]:
    named = row.get("item", row.get("id"))
    if isinstance(named, str) and named in by_id:
        return [by_id[named]]
    question = row.get("question")
    known = by_question.get(_folded(question), ()) if isinstance(question, str) else ()
    if not known:
        what = named if named is not None else question
        raise RecordFileError(f"no question of the task is {str(what)[:80]!r}", path, line)
    return known


def _texts(row: Mapping[str, Json]) -> list[str]:
    listed = row.get("candidates")
    if isinstance(listed, list) and listed and all(isinstance(one, str) for one in listed):
        return listed
    if isinstance(row.get("text"), str):
        return [row["text"]]
    solutions = [one["solution"] for one in row.values() if _is_solution(one)]
    return solutions


def _is_solution(value: Json) -> bool:
    return isinstance(value, dict) and isinstance(value.get("solution"), str)


def _check(found: Mapping[str, Mapping[str, Sequence[str]]], path: Path) -> None:
    counts = {len(texts) for held in found.values() for texts in held.values()}
    if not counts:
        raise SetupError(f"{path} holds no candidate")
    if len(counts) > 1:
        raise SetupError(
            f"{path}: items have {min(counts)} to {max(counts)} candidates; all need equally many"
        )
    if counts == {1}:
        raise SetupError(f"{path}: there is nothing to choose from one candidate")


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
