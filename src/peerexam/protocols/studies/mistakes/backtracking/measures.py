"""What backtracking comes to: Table 6, its mixture by original accuracy, and Figure 2's curve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from peerexam.calls import Json
from peerexam.protocols.studies.base import StudyRecords, row_of
from peerexam.protocols.studies.mistakes.backtracking.study import Backtrack, Backtracking
from peerexam.protocols.studies.result import Measure, StudyResult
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.mistakes.accuracy_change import Change, change_from_counts, mean_of

ORIGINAL = (0.15, 0.5, 0.8, 0.9, 0.99)
"""Original accuracies for which the accuracy afterwards is told; 0.15 is the data set's."""

NOTES = (
    "Δaccuracy✓ is over traces whose answer was right before, Δaccuracy✗ over those whose answer "
    "was wrong; traces without a located mistake are left alone, and count as unchanged",
    "the agent goes on with traces that another model began, so an answer that was right may be "
    "lost for want of ability and not of a mistake",
    "traces whose calls failed are left out; those whose new answer never came count as wrong",
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of Table 6 with what is behind it.

    Attributes:
        agent: Who wrote on.
        locator: Who said where.
        task: On what.
        change: Both halves.
        outcomes: Traces by what became of them.
        located: Of how many of the traces the gold location was named.
        traces: How many there are.
    """

    agent: str
    locator: str
    task: str
    change: Change
    outcomes: dict[str, int]
    located: int
    traces: int

    def to_json(self) -> dict[str, Json]:
        """For the table `backtracking`."""
        return row_of(
            self,
            "agent locator task traces gold_located delta_correct n_correct delta_incorrect "
            "n_incorrect outcomes break_even afterwards",
            gold_located=self.located,
            delta_correct=self.change.correct.value,
            n_correct=self.change.correct.n,
            delta_incorrect=self.change.incorrect.value,
            n_incorrect=self.change.incorrect.n,
            break_even=self.change.break_even,
            afterwards=[_afterwards(self.change, share) for share in ORIGINAL],
        )


def _afterwards(change: Change, original: float) -> dict[str, Json]:
    found = change.mixture(original)
    return {"original": original, "value": found.value, "low": found.low, "high": found.high}


def backtracking_rows(rows: Sequence[Backtrack]) -> list[Row]:
    """One row an agent, locator and task, in the order in which they first occur."""
    groups: dict[tuple[str, str, str], list[Backtrack]] = {}
    for row in rows:
        groups.setdefault((row.agent, row.locator, row.trace.task), []).append(row)
    return [_row(*key, group) for key, group in groups.items()]


def _row(agent: str, locator: str, task: str, group: Sequence[Backtrack]) -> Row:
    known = [(row.trace.correct_answer, bool(row.correct)) for row in group if not row.failed]
    cells = Counter(known)
    correct = sum(before for before, _ in known)
    change = change_from_counts(
        cells[True, False], correct, cells[False, True], len(known) - correct
    )
    failed = [row.trace.correct_answer for row in group if row.failed]
    change = Change(
        replace(change.correct, left_out=sum(failed)),
        replace(change.incorrect, left_out=len(failed) - sum(failed)),
    )
    outcomes = Counter("error" if row.result is None else row.result.outcome for row in group)
    found = sum(row.located == "ok" and row.location == row.trace.mistake_index for row in group)
    return Row(agent, locator, task, change, dict(sorted(outcomes.items())), found, len(group))


def measures(rows: Sequence[Row]) -> Iterator[Measure]:
    """Of every agent and locator: the mean over tasks, then task by task."""
    pairs = list(dict.fromkeys((row.agent, row.locator) for row in rows))
    first = next((locator for _, locator in pairs), "")
    for agent, locator in pairs:
        of = [row for row in rows if (row.agent, row.locator) == (agent, locator)]
        if len({row.task for row in of}) > 1:
            changes = Change(
                mean_of([row.change.correct for row in of]),
                mean_of([row.change.incorrect for row in of]),
            )
            yield from _both(agent, locator, "", changes, headline=locator == first)
        for row in of:
            yield from _both(
                agent, locator, row.task, row.change, headline=len(of) == 1 and locator == first
            )


def _both(
    agent: str, locator: str, task: str, change: Change, *, headline: bool
) -> Iterator[Measure]:
    where = "" if task else ", mean over tasks"

    def measure(name: str, title: str, estimate: Estimate, headline: bool) -> Measure:
        return Measure(agent, name, f"{title}{where}", estimate, task, locator, headline=headline)

    yield measure("delta_correct", "Δaccuracy✓", change.correct, False)
    yield measure("delta_incorrect", "Δaccuracy✗", change.incorrect, headline)


def curve(rows: Sequence[Row]) -> list[dict[str, Json]]:
    """Figure 2: both changes by the accuracy of a simulated reward model, agent by agent."""
    found: list[dict[str, Json]] = []
    for row in rows:
        name, _, share = row.locator.partition(":")
        if name == "simulated":
            change = row.change
            found.append(
                {
                    "agent": row.agent,
                    "task": row.task,
                    "accuracy_rm": float(share),
                    "located": row.located / row.traces,
                    "delta_correct": _ends(change.correct),
                    "delta_incorrect": _ends(change.incorrect),
                }
            )
    return sorted(found, key=lambda one: (one["agent"], one["task"], one["accuracy_rm"]))


def _ends(one: Estimate) -> dict[str, Json]:
    return {"value": one.value, "low": one.low, "high": one.high, "n": one.n}


def backtracking_result(work: Backtracking, done: StudyRecords[Backtrack]) -> StudyResult:
    """The result of a study of backtracking."""
    rows = backtracking_rows(done.rows)
    failed = [row for row in done.rows if row.failed]
    failures: list[str] = []
    if failed:
        first = failed[0]
        said = first.reason if first.result is None else first.result.reason
        # Each agent takes a trace up by itself, from every location that some locator gave.
        lost, of = (len({(r.agent, r.trace.id) for r in rows}) for rows in (failed, done.rows))
        failures.append(
            f"calls failed on {lost} of {of} traces (each agent's counted), the first with {said}; "
            "without them Δaccuracy is nearer to 0, since a trace that is left alone has no call "
            "to fail"
        )
    failures += _short_of_samples(done.rows, work.samples)
    tables: dict[str, Json] = {"backtracking": [row.to_json() for row in rows]}
    if points := curve(rows):
        tables["curve"] = points
    return StudyResult.of(
        "backtracking",
        done,
        about={
            "traces": len(work.traces),
            "tasks": list(dict.fromkeys(trace.task for trace in work.traces)),
            "locations": [locator.name for locator in work.locators],
            "samples": work.samples,
            "seed": work.seed,
        },
        measures=list(measures(rows)),
        tables=tables,
        notes=[*NOTES, *_but_for_a_stop(done.rows)],
        failures=failures,
    )


def _but_for_a_stop(rows: Sequence[Backtrack]) -> Iterator[str]:
    """How many new answers are wrong for nothing but the full stop after them.

    By the rule of the data they are wrong (§2: exact match), yet an agent that ends its sentences
    loses every right answer so, and the changes then say nothing of backtracking.
    """
    # Locators that see a mistake at the same place share one new answer.
    known = {
        (row.agent, row.trace.id, row.location): row
        for row in rows
        if row.result is not None and row.result.outcome == "mended"
    }
    dotted = [
        row
        for row in known.values()
        if row.correct is False and _without_stop(row) == row.trace.target.strip()
    ]
    for agent, count in Counter(row.agent for row in dotted).items():
        of = sum(row.agent == agent for row in known.values())
        yield (
            f"{agent}: {count} of {of} new answers are the target but for a full stop after it, "
            "which by exact match makes them wrong"
        )


def _without_stop(row: Backtrack) -> str | None:
    answer = None if row.result is None else row.result.answer
    return None if answer is None else answer.strip().removesuffix(".").rstrip()


def _short_of_samples(rows: Sequence[Backtrack], samples: int) -> Iterator[str]:
    """That some new steps were chosen among fewer samples, since calls failed."""
    # Locators that see a mistake at the same place share their calls.
    short = {
        (row.agent, row.trace.id, row.location): row.result.lost
        for row in rows
        if row.result is not None and row.result.lost and not row.failed
    }
    if short:
        yield (
            f"of {len(short)} new steps {sum(short.values())} samples failed, so that each is one "
            f"of fewer than {samples}: the same command asks them again"
        )
