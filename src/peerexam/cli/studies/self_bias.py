"""`self-bias`: do models favour themselves as test setter, as judge, or as both?"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence

from peerexam.cli import COMPLETE
from peerexam.cli.arguments import seed
from peerexam.cli.output import columns, note, plain, say, say_json
from peerexam.cli.studies.base import names_in
from peerexam.errors import SetupError
from peerexam.report.grid import grid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from peerexam.calls import Json
    from peerexam.protocols.studies.result import Measure, StudyResult

_HEAD = ("as", "model", "third parties", "95 % interval", "p", "Holm",
         "Eq. 1", "95 % interval", "p", "Holm", "segments")  # fmt: skip
_LEAD = ("judge", "by third parties", "interval", "p", "Holm", "pairs of answers")
_EFFECTS = ("of", "model", "effect", "95 % interval", "p", "Holm", "shrinkage est.", "MDE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("folder", metavar="DIR", help="a run, or a CSV of scores")
    parser.add_argument(
        "--orientation",
        choices=("higher", "lower"),
        default="higher",
        help="which scores are better (default: higher)",
    )
    parser.add_argument(
        "--evaluator", metavar="NAME", help="one judge for the role of test set (default: all)"
    )
    parser.add_argument(
        "--same",
        action="append",
        default=[],
        metavar="A,B",
        help="agents that are one model, so no third parties of each other; may be repeated",
    )
    parser.add_argument("--rounds", type=int, default=10_000, help="of bootstrap and permutation")
    parser.add_argument("--seed", type=seed, default=0)
    parser.add_argument("--out", metavar="DIR", help="also write result.json there")


def perform(arguments: argparse.Namespace) -> int:
    """Print self-bias by role, the variance decomposition, and the diversity of sources.

    Raises:
        SetupError: There is nothing to measure.
    """
    from pathlib import Path

    from peerexam.protocols.studies.result import write_result
    from peerexam.protocols.studies.self_bias.study import study_self_bias

    result = study_self_bias(
        Path(arguments.folder),
        orientation=arguments.orientation,
        rounds=arguments.rounds,
        seed=arguments.seed,
        evaluator=arguments.evaluator,
        same=[_group(text) for text in arguments.same],
    )
    written = write_result(Path(arguments.out), result) if arguments.out else None
    if arguments.json:
        say_json({**result.to_json(), "result": None if written is None else str(written)})
        return COMPLETE
    say("\n".join(_text(result)))
    for text in result.notes:
        note(f"- {plain(text)}")
    if written is not None:
        say(f"\nresult: {written}")
    return COMPLETE


def _group(text: str) -> list[str]:
    names = list(names_in(text))
    if len(names) < 2:
        raise SetupError(f"--same takes the names of agents that are one model, as in a,b: {text}")
    return names


def _text(result: StudyResult) -> Iterator[str]:
    lead = [*_lead_rows(result.measures)]
    if lead:
        yield "self-preference, as in the standings (win rate; positive favours itself)"
        yield _table([_LEAD, *lead])
        yield ""
        yield "other estimates: by role, and by the paper's Eq. 1"
    yield "self-bias in ranks (negative: ranks itself better than its peers do)"
    yield _table([_HEAD, *_bias_rows(result.measures, "self_bias", 2)])
    yield ""
    yield "the same in win rate (positive: gives itself more wins than its peers do)"
    yield _table([_HEAD, *_bias_rows(result.measures, "self_bias_win_rate", 3)])
    for name, part in result.tables["decomposition"].items():
        yield ""
        yield from _decomposition(name, part)
    if result.tables["sources"]:
        yield ""
        yield from _sources(result.tables["sources"])


def _lead_rows(measures: Sequence[Measure]) -> Iterator[tuple[str, ...]]:
    for one in measures:
        if one.name == "self_preference_third_party":
            yield (plain(one.agent), *_cells(one, 3), _count(one))


def _bias_rows(measures: Sequence[Measure], name: str, digits: int) -> Iterator[tuple[str, ...]]:
    from peerexam.protocols.studies.self_bias.study import ROLES

    at = {(one.condition, one.agent, one.name): one for one in measures}
    agents = dict.fromkeys(one.agent for one in measures)
    for role in ROLES:
        for agent in agents:
            printed = at.get((role, agent, name))
            third = at.get((role, agent, f"{name}_third_party"))
            if printed is None or third is None:
                continue
            yield (
                role or "scores",
                plain(agent),
                *_cells(third, digits),
                *_cells(printed, digits),
                _count(printed),
            )


def _cells(one: Measure, digits: int) -> tuple[str, str, str, str]:
    estimate = one.estimate
    if estimate.value is None:
        return ("none", plain(estimate.reason or ""), "", "")
    return (
        _signed(estimate.value, digits),
        _interval(estimate.low, estimate.high, digits),
        _p(estimate.p),
        _p(estimate.p_holm),
    )


def _count(one: Measure) -> str:
    left = f" ({one.estimate.left_out} left out)" if one.estimate.left_out else ""
    return f"{one.estimate.n}{left}"


def _decomposition(name: str, part: Mapping[str, Json]) -> Iterator[str]:
    counted = f"{part['questions']} questions, {part['scores']} results"
    yield f"what {plain(name)} are made of ({counted})"
    shares = part["variance_shares"]
    yield "  " + ", ".join(f"{key} {_share(one)}" for key, one in shares.items())
    words = {"home": "home advantage", "self": "self-preference effect"}
    rows = [
        (words[family], plain(one["of"][0]), *_effect(one))
        for family in words
        for one in part["effects"].get(family, [])
    ]
    rows += [
        (words[key], "mean of all", *_effect(part[f"mean_{key}"]))
        for key in words
        if part[f"mean_{key}"] is not None
    ]
    if rows:
        yield _table([_EFFECTS, *rows])
        yield "  MDE: minimum detectable effect (80 % power)"


def _share(one: Mapping[str, Json]) -> str:
    if one["value"] is None:
        return "unknown"
    if one["low"] is None or one["high"] is None:
        return f"{one['value']:.1%} (no interval)"
    return f"{one['value']:.1%} [{one['low']:.1%}, {one['high']:.1%}]"


def _effect(one: Mapping[str, Json]) -> tuple[str, ...]:
    if one["value"] is None:
        return ("none", plain(one["reason"] or ""), "", "", "", "")
    shrunken, least = one["shrunken"], one["smallest_findable"]
    return (
        _signed(one["value"], 3),
        _interval(one["low"], one["high"], 3),
        _p(one["p"]),
        _p(one["p_holm"]),
        "" if shrunken is None else _signed(shrunken, 3),
        "" if least is None else f"{least:.3f}",
    )


def _sources(rows: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    yield "how diverse each author's sources are"
    head = ("author", "sources", "words", "types ÷ tokens", "of equally many", "chrF@K", "K")
    table = [head]
    for one in rows:
        chrf = one["chrf_at_k"]
        alike = (
            plain(chrf["reason"] or "") if chrf["value"] is None else f"{100 * chrf['value']:.1f}"
        )
        table.append((
            plain(one["author"]), str(one["sources"]), str(one["words"]),
            _ratio(one["type_token_ratio"]), _ratio(one["type_token_ratio_equal_words"]),
            alike, str(one["k"]),
        ))  # fmt: skip
    yield _table(table)


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    return grid(rows[0], rows[1:], width=columns())


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}"


def _interval(low: float | None, high: float | None, digits: int) -> str:
    return "" if low is None or high is None else f"[{low:+.{digits}f}, {high:+.{digits}f}]"


def _p(value: float | None) -> str:
    from peerexam.report.numbers import probability

    return "" if value is None else probability(value)


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
