"""Which layout a file has, by the fields of its first row: what to say where it is another one."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from peerexam.errors import PeerexamError
from peerexam.tasks.rows import rows_of

Sign = tuple[frozenset[str], str, str]
"""Fields that a row has, the layout that has them, and the kind that reads it."""

_SIGNS: tuple[Sign, ...] = tuple(
    (frozenset(fields.split()), layout, kind)
    for fields, layout, kind in (
        ("games", "arena-hard's judgments", "arena-hard"),
        ("g1_winner", "FastChat's judgments of pairs", "fastchat-judgments"),
        ("question_id model judge score", "FastChat's judgments by score", "fastchat-judgments"),
        ("uid messages", "arena-hard's answers (v2.0)", "fastchat-answers"),
        ("question_id choices", "FastChat's or arena-hard's answers (v0.1)", "fastchat-answers"),
        ("question_id turns", "FastChat's questions", "fastchat-questions"),
        ("uid prompt", "arena-hard's questions (v2.0)", "fastchat-questions"),
        (
            "instruction generator_1 preference",
            "AlpacaEval's annotations",
            "alpaca-annotations",
        ),
        ("response1 response2 annotator1", "PandaLM's annotated pairs", "pandalm"),
        ("input output_1 output_2 label", "LLMBar's items", "llmbar"),
        ("evaluator method winner_order1", "LLMBar's verdicts", "llmbar"),
        ("judge_model response_a_model", "peereval's judgments", "peereval"),
        ("judge_model solver_left", "peereval's judgments", "peereval"),
        ("question_id model response", "peereval's answers", "peereval"),
        ("answer1_id answer2_id score", "PRD's ratings (name the folder above)", "prd"),
        ("model_a model_b winner", "battles", "arena-rank"),
        ("left right winner", "battles", "evalica"),
        ("instruction output generator", "AlpacaEval's outputs", "alpaca-outputs"),
    )
)
_GENERAL: tuple[Sign, ...] = tuple(
    (frozenset(fields.split()), layout, kind)
    for fields, layout, kind in (
        ("instruction", "instructions", "alpaca-eval"),
        ("question domain", "questions by domain", "lmexamqa"),
        ("question", "questions", "questions"),
        ("text", "questions", "questions"),
    )
)
"""Fields of rows of other layouts too: they say something where nothing else does."""

_MOST_SEEN = 12
_MOST_FILES = 50
_SUFFIXES = (".json", ".jsonl", ".csv", ".tsv", ".parquet", ".gz")


def guess(source: Path) -> tuple[str, str, Path] | None:
    """What a file or the first files of a folder hold, the kind that reads it, and from where.

    Returns:
        Layout, kind, and the path to name: a file's where the kind reads files alone. None where
        nothing known has such fields.
    """
    seen = [(path, _fields(path)) for path in _files(source)]
    for signs in (_SIGNS, _GENERAL):
        for path, fields in seen:
            for needed, layout, kind in signs:
                if needed <= fields:
                    return layout, kind, path if signs is _GENERAL else source
    return None


def columns(source: Path) -> str:
    """The fields of the first row that can be read, as words; empty where there is none."""
    found = next(filter(None, map(_fields, _files(source))), set())
    return ", ".join(sorted(found)[:_MOST_SEEN])


def _files(source: Path) -> list[Path]:
    if source.is_file():
        return [source]
    found = (path for path in sorted(source.rglob("*")) if path.is_file())
    return list(islice((path for path in found if path.suffix in _SUFFIXES), _MOST_FILES))


def _fields(path: Path) -> set[str]:
    try:
        row = next(rows_of(path), None)
    except (PeerexamError, OSError):
        return set()
    return set() if row is None else set(row.body)
