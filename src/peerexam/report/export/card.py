"""The data set's card: a YAML head that the hub reads, and a body that people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from peerexam.calls import Json
from peerexam.report.export.columns import Sheet
from peerexam.report.export.question_figures import MOST_DOMAINS, QuestionFigures
from peerexam.report.inert import markdown_text
from peerexam.report.run.basis import STATES, agent_rows

SPLIT = "test"
"""The one split: an exam is for examining."""

_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
)


def size_category(rows: int) -> str:
    """The hub's word for how large a data set is.

    >>> size_category(12), size_category(1_000), size_category(10**9)
    ('n<1K', '1K<n<10K', 'n>10M')
    """
    return next((name for limit, name in _SIZES if rows < limit), "n>10M")


def card_text(
    manifest: Mapping[str, Json],
    sheets: Sequence[Sheet],
    questions_hash: str,
    canary: str,
    *,
    parquet: bool,
    language: str,
    figures: QuestionFigures,
) -> str:
    """The card of a data set.

    Args:
        manifest: Of the run, or of the data set.
        sheets: What was exported.
        questions_hash: Of the sealed questions.
        canary: Their GUID.
        parquet: Whether Parquet files stand beside the JSONL files; the hub then reads those.
        language: Of the questions.
        figures: The questions in numbers.
    """
    environment = Environment(
        loader=PackageLoader("peerexam.report"),
        autoescape=False,  # the card is Markdown: its texts go through the filter below
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["md"] = lambda value: markdown_text(str(value))
    return environment.get_template("card.md.j2").render(
        head=yaml.safe_dump(
            card_head(str(manifest.get("exam") or "exam"), sheets, parquet, language),
            sort_keys=False,
            allow_unicode=True,
        ),
        manifest=manifest,
        agents=agent_rows(manifest),
        sheets=sheets,
        states=STATES,
        prompts=[
            (sheet.kind, prompt, n) for sheet in sheets for prompt, n in sheet.prompts.items()
        ],
        questions_hash=questions_hash,
        canary=canary,
        split=SPLIT,
        parquet=parquet,
        figures=figures,
        shortfalls=manifest.get("shortfalls") or [],
        repeated=manifest.get("repeated") or {},
        generated=manifest.get("generated"),
        most_domains=MOST_DOMAINS,
        is_answered=any(sheet.kind == "answers" for sheet in sheets),
        kinds=[sheet.kind for sheet in sheets],
    )


def card_head(exam: str, sheets: Sequence[Sheet], parquet: bool, language: str) -> dict[str, Json]:
    """The head as plain values. A kind without rows has no config: there is nothing to load."""
    filled = [sheet for sheet in sheets if sheet.rows]
    suffix = "parquet" if parquet else "jsonl"
    return {
        "pretty_name": exam,
        "license": "other",
        "license_name": "terms-of-the-models-behind-it",
        "language": [language],
        "task_categories": ["question-answering", "text-generation"],
        "size_categories": [size_category(max((sheet.rows for sheet in filled), default=0))],
        "tags": ["synthetic", "llm-as-a-judge", "peer-examination", "peerexam"],
        "configs": [
            {
                "config_name": sheet.kind,
                "data_files": [{"split": SPLIT, "path": f"data/{sheet.kind}.{suffix}"}],
                **({"default": True} if sheet.kind == "questions" else {}),
            }
            for sheet in filled
        ],
        "dataset_info": [_info(sheet) for sheet in filled],
    }


def _info(sheet: Sheet) -> dict[str, Json]:
    return {
        "config_name": sheet.kind,
        "features": [column.feature for column in sheet.columns],
        "splits": [{"name": SPLIT, "num_bytes": sheet.size, "num_examples": sheet.rows}],
    }
