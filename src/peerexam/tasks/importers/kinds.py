"""The layouts of other tools that can be imported, by name; what reads one is loaded when used.

Strings only, so that the command line's help may list them at no cost.
"""

from __future__ import annotations

KINDS: dict[str, tuple[str, str]] = {
    "questions": (
        "importers.importing:read_questions",
        "questions in JSONL, JSON, YAML or one a line",
    ),
    "lmexamqa": (
        "importers.layouts.lmexamqa:read_lmexamqa",
        "questions by domain as in LMExamQA, or a data set that peerexam exported",
    ),
    "fastchat-questions": (
        "importers.layouts.fastchat:read_fastchat_questions",
        "FastChat's question.jsonl (MT-bench, Vicuna bench)",
    ),
    "alpaca-eval": (
        "importers.layouts.alpaca:read_alpaca_eval",
        "the instructions of an AlpacaEval set",
    ),
    "fastchat-answers": (
        "importers.layouts.fastchat:read_fastchat_answers",
        "FastChat's model_answer/*.jsonl, with question.jsonl where it is there",
    ),
    "alpaca-outputs": (
        "importers.layouts.alpaca:read_alpaca_outputs",
        "AlpacaEval's outputs.json of one or several generators",
    ),
    "alpaca-annotations": (
        "importers.layouts.annotations:read_alpaca_annotations",
        "AlpacaEval's annotations.json: two outputs and a preference",
    ),
    "pandalm": (
        "importers.layouts.annotations:read_pandalm",
        "PandaLM's rows: two responses and annotator1, annotator2, …",
    ),
    "arena-rank": (
        "importers.layouts.battles:read_arena_rank",
        "rows model_a, model_b, winner (JSONL, JSON, CSV, Parquet)",
    ),
    "evalica": (
        "importers.layouts.battles:read_evalica",
        "rows left, right, winner (CSV, JSONL, JSON, Parquet)",
    ),
    "fastchat-judgments": (
        "importers.layouts.fastchat_judgments:read_fastchat_judgments",
        "FastChat's model_judgment/*_pair.jsonl (both games) and *_single.jsonl (marks)",
    ),
    "arena-hard": (
        "importers.layouts.arena_hard:read_arena_hard",
        "arena-hard-auto's model_judgment/JUDGE/MODEL.jsonl (v0.1 and v2.0)",
    ),
    "llmbar": (
        "importers.layouts.llmbar:read_llmbar",
        "LLMBar's items and the verdicts of its evaluators in both orders",
    ),
    "peereval": (
        "importers.layouts.peereval:read_peereval",
        "peereval's answers and judgments",
    ),
    "prd": (
        "importers.layouts.prd:read_prd",
        "PRD's peer verdicts",
    ),
}
"""Kind of layout to the function that reads it (`module:function` of this package), and to what it
is. To add one, write its function, from a folder or file to `Imported`, and name it here."""


def kinds_text() -> str:
    """One line a kind, for help and errors.

    >>> kinds_text().splitlines()[-1].split()
    ['prd', "PRD's", 'peer', 'verdicts']
    """
    width = max(map(len, KINDS))
    return "\n".join(f"  {name:<{width}}  {about}" for name, (_, about) in KINDS.items())
