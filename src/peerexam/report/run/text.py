"""The standings as text for the terminal, as Markdown, and as CSV. Nothing is printed here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peerexam.calls import Json
from peerexam.report.grid import grid
from peerexam.report.inert import Cell, csv_text, markdown_text, printable
from peerexam.report.numbers import MISSING, probability, signed, span
from peerexam.report.run.conclusion import Standings, basis, cautions, has_standings, headline
from peerexam.report.run.judges import Measure, judge_rows, leading_estimate, one_model
from peerexam.report.run.standings import standing_rows
from peerexam.runfolder import RunFolder

COLUMNS = (
    "group", "rank", "rank_low", "rank_high", "tier", "agent", "score", "score_low", "score_high",
    "full_mark", "avg", "avg_weight", "win_rate", "questions", "variant_of",
)  # fmt: skip
"""Of the CSV file, named as in `standings.json`."""

_HEADS = ("rank", "agent", "tier", "score", "interval", "full mark %", "win rate %", "questions")
_JUDGE_HEADS = (
    "judge", "by", "fit", "swap %", "first place", "longer", "invalid %", "attacks %",
    "self-preference", "why",
)  # fmt: skip
_JUDGE_NUMBERS = ("swap %", "first place", "longer", "invalid %", "attacks %")
_OTHER_ESTIMATES = {"win_rate": "(by peers)", "rank_bias": "(in ranks, by peers)"}
"""What stands in for third parties where there are none."""

_ATTACKS = _JUDGE_HEADS.index("attacks %")


def standings_text(standings: Standings, width: int | None = None) -> str:
    """Standings for a terminal, and beneath them the judges with what speaks against them.

    Args:
        standings: `standings.json` as it was read.
        width: Columns that the tables may take; None lets them be as wide as they are.

    Returns:
        Lines of plain text, control characters made visible, without a newline at the end. A
        paragraph is one line.
    """
    parts = [printable(headline(standings)), printable(basis(standings))]
    if standings.get("status") == "partial":
        why = standings.get("status_reason") or "the run did not finish"
        # What says that there are no standings stands first.
        parts.insert(int(not has_standings(standings)), printable(f"PARTIAL: {why}"))
    rows = [
        (
            f"{row.rank} ({row.ranks})",
            _named(row.agent, row.variant_of),
            row.tier,
            row.score,
            row.interval,
            row.full_mark,
            row.win_rate,
            row.questions,
        )
        for row in standing_rows(standings)
    ]
    if rows:
        parts.append(grid(_HEADS, rows, {2, 3, 5, 6, 7}, width=width, keys=(1,)))
    judges = _judge_lines(standings)
    if judges:
        heads, lines = _only_if_probed(judges, standings)
        numbers = {at for at, head in enumerate(heads) if head in _JUDGE_NUMBERS}
        parts.append(grid(heads, lines, numbers, width=width))
        parts += [printable(text) for text in one_model(standings)]
    parts += [printable(text) for text in cautions(standings)]
    return "\n\n".join(parts)


def leaderboard_markdown(standings: Standings) -> str:
    """The standings as a Markdown table under their headline."""
    heads = ("Rank", "Agent", "Tier", "Score", "Interval", "Full mark, %", "Win rate, %")
    lines = [f"# {markdown_text(str(standings.get('exam') or 'exam'))}", ""]
    if standings.get("status") == "partial":
        why = markdown_text(standings.get("status_reason") or "the run did not finish")
        lines += [f"**Partial:** {why}", ""]
    lines += [markdown_text(headline(standings)), "", markdown_text(basis(standings)), ""]
    lines += [f"| {' | '.join(heads)} |", "| --- | --- | ---: | ---: | --- | ---: | ---: |"]
    for row in standing_rows(standings):
        name = markdown_text(row.agent)
        if row.variant_of:
            name += f" (variant of {markdown_text(row.variant_of)})"
        cells = (
            f"{row.rank} ({row.ranks})", name, row.tier, row.score, row.interval,
            row.full_mark, row.win_rate,
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    lines += [text for caution in cautions(standings) for text in ("", markdown_text(caution))]
    return "\n".join(lines) + "\n"


def leaderboard_csv(standings: Standings) -> str:
    """The standings as CSV, numbers unrounded; text cells cannot become formulas."""
    rows: list[list[Cell]] = [
        [row.get(name) for name in COLUMNS] for row in standings.get("standings", [])
    ]
    return csv_text(COLUMNS, rows)


def write_leaderboard(folder: Path, out: Path | None = None) -> tuple[Path, Path]:
    """Write `leaderboard.md` and `leaderboard.csv`.

    Args:
        folder: The run's folder.
        out: Where to; the run's folder by default.

    Returns:
        Both files.

    Raises:
        SetupError: The folder has no readable standings.
    """
    standings = RunFolder(folder).read_standings()
    target = folder if out is None else out
    target.mkdir(parents=True, exist_ok=True)
    texts = {
        "leaderboard.md": leaderboard_markdown(standings),
        "leaderboard.csv": leaderboard_csv(standings),
    }
    for name, text in texts.items():
        # A lone surrogate in a name must not stop a table; "?" stands for it.
        (target / name).write_bytes(text.encode("utf-8", "replace"))
    return target / "leaderboard.md", target / "leaderboard.csv"


def to_json(folder: Path) -> str:
    """The text of a run's `standings.json`, as it is.

    Raises:
        SetupError: There is none, or it is damaged.
    """
    run = RunFolder(folder)
    run.read_standings()
    return run.standings_path.read_text("utf-8")


def _judge_lines(standings: Standings) -> list[tuple[str, ...]]:
    favours = {
        judge["agent"]: _own_favour(judge.get("self_preference"))
        for judge in standings.get("judges", [])
    }
    return [
        (
            printable(row.agent),
            row.by,
            "fit" if row.is_fit else "UNFIT",
            _value(row.swap_consistency),
            _value(row.first_preference),
            _value(row.longer_preference),
            _value(row.invalid_rate),
            MISSING if row.attack_success is None else _value(row.attack_success),
            favours[row.agent],
            printable("; ".join(row.why)) or MISSING,
        )
        for row in judge_rows(standings)
    ]


def _only_if_probed(
    lines: list[tuple[str, ...]], standings: Standings
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and lines, without the column of attacks in a run whose judges were not probed."""
    if any(judge.get("attack_success") for judge in standings.get("judges", [])):
        return _JUDGE_HEADS, lines
    heads, *rest = (line[:_ATTACKS] + line[_ATTACKS + 1 :] for line in (_JUDGE_HEADS, *lines))
    return heads, rest


def _own_favour(preference: Mapping[str, Json] | None) -> str:
    """The estimate that leads, with its interval and its p-value after Holm's correction."""
    key = leading_estimate(preference)
    if preference is None or key is None:
        return MISSING
    estimate: dict[str, Any] = preference[key]
    number = _ranks if key == "rank_bias" else _points
    parts = [number(estimate["value"])]
    low, high = estimate.get("low"), estimate.get("high")
    if low is not None and high is not None:
        parts.append(span(number(low), number(high)))
    if estimate.get("p_holm") is not None:
        parts.append(f"Holm p {probability(estimate['p_holm'])}")
    if key != "third_party":
        parts.append(_OTHER_ESTIMATES[key])
    return " ".join(parts)


def _points(share: float) -> str:
    return signed(100 * share, 0)


def _ranks(ranks: float) -> str:
    return signed(ranks, 2)


def _value(measure: Measure) -> str:
    return measure.value


def _named(agent: str, variant_of: str | None) -> str:
    return printable(f"{agent} (variant of {variant_of})" if variant_of else agent)
