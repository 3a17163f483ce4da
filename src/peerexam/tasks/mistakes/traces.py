"""Reasoning traces with the place of their first mistake, in the layout of BIG-Bench Mistake.

Tyen et al., "LLMs cannot find reasoning errors, but can correct them!", §2. One JSONL file a task,
named after it (`word_sorting.jsonl`), one trace a line::

    {"input": "…", "steps": ["…", …], "target": "…", "answer": "…" or null,
     "mistake_index": 3 or null}

Places count from 0 here and in the files; in the paper and in prompts they count from 1
("Thought 4" is `mistake_index` 3). Only the first mistake is known: the steps after it are
unlabelled, not wrong.

"Correct" means two things, and no name here says it without the other half: a correct *answer*
(`correct_answer`), and a trace with no *mistake* (`mistake_index is None`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import RecordFileError, SetupError
from peerexam.runfolder.jsonl import parse_line

TASKS = (
    "word_sorting",
    "tracking_shuffled_objects",
    "logical_deduction",
    "multistep_arithmetic",
    "dyck_languages",
)
"""The five of the data set, in the paper's order."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One chain of thought.

    Attributes:
        task: The file's name without its ending.
        id: `task:line`, the line counted from 1.
        input: The question, with its options where it is multiple choice.
        steps: One or more thoughts, without their numbers; generation stops after the last.
        target: The right answer.
        answer: What the trace ends on; None where it never says one, and often empty.
        mistake_index: The first step that is wrong, from 0; None where none is.
    """

    task: str
    id: str
    input: str
    steps: tuple[str, ...]
    target: str
    answer: str | None
    mistake_index: int | None

    @property
    def correct_answer(self) -> bool:
        """Whether the final answer is right (correct_ans of §2.1).

        Exact match but for the space around it: two answers are `" (C)"` and `" (A)"`. Nothing
        else is forgiven, so `"))"` is not `") )"`, as in the paper's counts.
        """
        return (self.answer or "").strip() == self.target.strip()


def load_traces(path: Path, tasks: Sequence[str] | None = None) -> list[Trace]:
    """Read one task's file or a folder of them, tasks in the paper's order, others after them.

    Args:
        path: A `.jsonl` file, or a folder that holds some.
        tasks: Which tasks to read; None reads all that there are.

    Raises:
        SetupError: There is no such file, task or trace.
        RecordFileError: A line is no trace.
    """
    files = _files(path)
    for name in tasks or ():
        if name not in files:
            raise SetupError(f"{path} holds no task '{name}': it holds {', '.join(files)}")
    chosen = files if tasks is None else {name: files[name] for name in files if name in tasks}
    return [trace for name, file in chosen.items() for trace in _read(file, name)]


def by_task(traces: Sequence[Trace]) -> dict[str, list[Trace]]:
    """Traces by their task, in the order in which tasks first occur."""
    found: dict[str, list[Trace]] = {}
    for trace in traces:
        found.setdefault(trace.task, []).append(trace)
    return found


def _files(path: Path) -> dict[str, Path]:
    """Files by task."""
    if path.is_dir():
        found = {file.stem: file for file in sorted(path.glob("*.jsonl"))}
        if not found:
            raise SetupError(f"{path}: there is no .jsonl file here; name the folder of the traces")
    elif path.is_file():
        found = {path.stem: path}
    else:
        raise SetupError(f"there is no file or folder {path}")
    known = [name for name in TASKS if name in found]
    return {name: found[name] for name in [*known, *(n for n in found if n not in TASKS)]}


def _read(path: Path, task: str) -> Iterator[Trace]:
    number = 0
    try:
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise SetupError(f"{path}: {error.strerror}") from error
    found = 0
    # The public files end without a newline, so a last line is read like any other; one that was
    # cut off is an error here, since a data set with a trace less gives other figures.
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield _trace(parse_line(line), task, number)
        except ValueError as error:
            raise RecordFileError(f"{error}: this is no trace", path, number) from error
        found += 1
    if not found:
        raise SetupError(f"{path} holds no trace")


def _trace(body: Mapping[str, Json], task: str, number: int) -> Trace:
    steps = body.get("steps")
    if not isinstance(steps, list) or not steps:
        raise ValueError("steps must be a list of one text or more")
    return Trace(
        task=task,
        id=f"{task}:{number}",
        input=_text(body, "input"),
        steps=tuple(_checked(step, f"step {place}") for place, step in enumerate(steps)),
        target=_text(body, "target"),
        answer=None if body.get("answer") is None else _text(body, "answer"),
        mistake_index=_place(body, len(steps)),
    )


def _text(body: Mapping[str, Json], key: str) -> str:
    if key not in body:
        raise ValueError(f"{key} is missing")
    return _checked(body[key], key)


def _checked(value: Json, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{what} must be text, found {value!r:.60}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} holds half a character (a lone surrogate)") from None
    return value


def _place(body: Mapping[str, Json], steps: int) -> int | None:
    if "mistake_index" not in body:
        raise ValueError("mistake_index is missing; write null where there is no mistake")
    place = body["mistake_index"]
    if place is None:
        return None
    if isinstance(place, bool) or not isinstance(place, int):
        raise ValueError(f"mistake_index must be a whole number or null, found {place!r:.60}")
    if not 0 <= place < steps:
        raise ValueError(f"mistake_index {place} is outside the {steps} steps, which count from 0")
    return place
