"""A run's files: what is written comes back, and what a kill left behind is repaired."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from peerexam.errors import RecordFileError, SetupError
from peerexam.records import Answer, Mark, Question, Ranking, Record, Verdict, to_json
from peerexam.runfolder import (
    RecordWriter,
    RunFolder,
    TornTailWarning,
    columns_of,
    read_jsonl,
    record_line,
)
from peerexam.runfolder.columns import Score

# Lone surrogates have their own test below: a high one before a low one is one character to JSON.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
names = st.text("abcß\u2028\x85", min_size=1, max_size=5)
optional = st.none() | texts
states = st.sampled_from(["ok", "unparsed", "refused", "truncated", "error"])

records: st.SearchStrategy[Record] = st.one_of(
    st.builds(
        Question,
        id=names,
        text=texts,
        domain=names,
        domain_path=st.lists(names, max_size=3).map(tuple),
        author=st.none() | names,
        group=st.sampled_from(["concise", "hard", "own"]),
        round=st.integers(1, 4),
        parent_id=st.none() | names,
        level=st.none() | st.sampled_from(["memorization", "analysis"]),
        examinee=st.none() | names,
        prompt=optional,
        call=optional,
    ),
    st.builds(Answer, names, names, texts, states, optional, optional, optional),
    st.builds(
        Mark,
        names,
        names,
        names,
        scores=st.dictionaries(st.sampled_from(["accuracy", "brevity", "Höflichkeit"]), st.just(2)),
        overall=st.none() | st.integers(1, 5),
        state=states,
        reply=optional,
    ),
    st.builds(
        Verdict,
        names,
        names,
        names,
        names,
        st.none() | st.sampled_from(["first", "second", "tie"]),
        states,
        optional,
        optional,
    ),
    st.builds(
        Ranking,
        names,
        names,
        st.lists(st.lists(names, min_size=1, max_size=2).map(tuple), max_size=3).map(tuple),
        st.lists(names, max_size=2).map(tuple),
    ),
)

KINDS: dict[type[Record], Any] = {
    Question: "questions",
    Answer: "answers",
    Mark: "marks",
    Verdict: "verdicts",
    Ranking: "rankings",
}


def answers(*texts: str) -> list[Answer]:
    return [Answer(f"q{number}", "one", text) for number, text in enumerate(texts, 1)]


def write_all(path: Path, all_records: list[Answer]) -> None:
    with RecordWriter(path) as writer:
        for record in all_records:
            writer.emit(record)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(records, max_size=6))
def test_records_come_back_as_they_were(tmp_path: Path, many: list[Record]) -> None:
    folder = RunFolder(tmp_path / "run")
    for kind, name in KINDS.items():
        with folder.writer(name) as writer:
            for record in many:
                if isinstance(record, kind):
                    writer.emit(record)
        assert list(getattr(folder, name)()) == [r for r in many if isinstance(r, kind)]


@given(records)
@example(Question("q", "t", "d", reference_agreement=1e-05))
@example(Answer("q", "a", "NaN of Infinity, \x00\x7f\u2028"))
def test_a_line_is_what_the_standard_library_writes(record: Record) -> None:
    expected = json.dumps(
        to_json(record), ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    assert record_line(record) == expected.encode() + b"\n"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    many=st.lists(texts, max_size=5),
    cut=st.integers(0, 400),
    tail=st.sampled_from([b"", b'{"question_id":"q', b"\0\0\0", b'{"a":1}', b"\xc3", b"{}\n{}\n"]),
)
@pytest.mark.filterwarnings("ignore::peerexam.runfolder.TornTailWarning")
def test_a_replay_over_any_remains_leaves_the_bytes_of_an_undisturbed_run(
    tmp_path: Path, many: list[str], cut: int, tail: bytes
) -> None:
    undisturbed = b"".join(record_line(answer) for answer in answers(*many))
    path = tmp_path / "answers.jsonl"
    path.write_bytes(undisturbed[:cut] + tail)
    write_all(path, answers(*many))
    assert path.read_bytes() == undisturbed


def test_a_replay_does_not_touch_what_it_has_not_reached(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    write_all(path, answers("a", "b", "c"))
    before = path.read_bytes()
    writer = RecordWriter(path)
    writer.emit(answers("a")[0])
    writer.flush()
    assert path.read_bytes() == before
    writer.close()
    writer.close()
    assert path.read_bytes() == before


def test_a_run_that_ends_earlier_cuts_the_old_lines_and_one_that_fails_keeps_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "answers.jsonl"
    write_all(path, answers("a", "b", "c"))
    whole = path.read_bytes()
    with pytest.raises(ValueError, match="JSON compliant"), RecordWriter(path) as writer:
        writer.emit(Mark("q", "e", "j", overall=float("nan")))  # type: ignore[arg-type]
    assert path.read_bytes() == whole
    write_all(path, answers("a", "b"))
    assert path.read_bytes() == b"".join(record_line(answer) for answer in answers("a", "b"))


def test_lines_written_for_longer_than_the_flush_time_are_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    writer = RecordWriter(path)
    writer.emit(answers("a")[0])
    assert path.read_bytes() == b""
    writer.flush()
    assert path.read_bytes() == record_line(answers("a")[0])
    writer.close()


def test_a_lone_surrogate_is_escaped_and_comes_back(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    with folder.writer("answers") as writer:
        writer.emit(Answer("q1", "one", "broken \ud83d emoji"))
    assert b"\\ud83d" in folder.records_path("answers").read_bytes()
    assert next(folder.answers()).text == "broken \ud83d emoji"


# --- reading what others, and kills, leave behind ---------------------------------------------


def test_unicode_line_separators_inside_a_record_do_not_end_it(tmp_path: Path) -> None:
    """Public case pub-17."""
    folder = RunFolder(tmp_path)
    text = "first\u2028second\u0085third\x0b\x0c\u2029\r"
    with folder.writer("answers") as writer:
        for answer in answers(text, "plain"):
            writer.emit(answer)
    raw = folder.records_path("answers").read_bytes()
    assert "\u2028".encode() in raw, "non-ASCII is kept literal"
    assert list(folder.answers()) == answers(text, "plain")
    with folder.writer("answers") as writer:
        for answer in answers(text, "plain"):
            writer.emit(answer)
    assert folder.records_path("answers").read_bytes() == raw


def test_a_torn_tail_is_left_out_with_a_warning_and_then_replaced(tmp_path: Path) -> None:
    """Public case pub-18: q1 is kept, the torn q2 is cut, q2 and q3 are written."""
    path = tmp_path / "scores.jsonl"
    first, second, third = (record_line(answer) for answer in answers("a", "b", "c"))
    path.write_bytes(first + second[:-12])
    with pytest.warns(TornTailWarning, match=r"scores\.jsonl:2: "):
        assert [body["question_id"] for _, body in read_jsonl(path)] == ["q1"]
    with pytest.warns(TornTailWarning, match=r"scores\.jsonl:2: "):
        writer = RecordWriter(path)
    assert path.read_bytes() == first
    for answer in answers("a", "b", "c"):
        writer.emit(answer)
    writer.close(truncate=True)
    assert path.read_bytes() == first + second + third
    assert [number for number, _ in read_jsonl(path)] == [1, 2, 3]


def test_a_torn_tail_longer_than_a_block_is_found(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    first, second = (record_line(answer) for answer in answers("a", "é" * 100_000))
    path.write_bytes(first + second[:-3])
    with pytest.warns(TornTailWarning, match=":2: "):
        RecordWriter(path).close()
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    "damage",
    [b'{"id":"q2","sc\n', b"\xff\xfe\n", b"[1]\n", b'{"x":NaN}\n', b"[" * 100_000 + b"\n"],
)
def test_damage_in_the_middle_stops_with_its_line_number(tmp_path: Path, damage: bytes) -> None:
    """Public case pub-18: a broken line elsewhere is never skipped in silence."""
    path = tmp_path / "answers.jsonl"
    path.write_bytes(b'{"id":"q1"}\n' + damage + b'{"id":"q3"}\n')
    found: list[tuple[int, dict[str, Any]]] = []
    with pytest.raises(RecordFileError, match=r"answers\.jsonl:2: ") as error:
        found.extend(read_jsonl(path))
    assert error.value.line == 2
    assert found == [(1, {"id": "q1"})]


@pytest.mark.parametrize("sum_up", [b"{},{}\n", b"{},9007199254740993,{}\n"])
def test_broken_lines_that_would_make_sense_together_are_still_broken(
    tmp_path: Path, sum_up: bytes
) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(b'{"a":1}\n{"a":[1\n2]}\n' + sum_up)
    with pytest.raises(RecordFileError, match=r"answers\.jsonl:2: "):
        list(read_jsonl(path))


_LINES = st.sampled_from(
    [
        *(b'{"a":1}', b'{"a":"\xe2\x80\xa8"}', b'{"a":"\\ud800"}', b" {} ", b"", b"\x0b"),
        *(b'{"a":[{}', b"{}]}", b"{},{}", b'{"a":9007199254740993}', b"9007199254740993"),
        *(b'{"a":-0.0,"a":2}', b'{"a":Infinity}', b'{"a":"\t"}', b'{"\xff":1}'),
        *(b"null", b"\xef\xbb\xbf{}"),
    ]
)


def alone(lines: list[bytes]) -> tuple[list[tuple[int, Any]], int | None]:
    """Objects by line, and the first line that holds none, as the standard library sees it."""
    found: list[tuple[int, Any]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            # A byte order mark may stand before the first line alone.
            body = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except ValueError:
            return found, number
        if not isinstance(body, dict) or inf in body.values():
            return found, number
        found.append((number, body))
    return found, None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_LINES, max_size=5))
def test_lines_read_together_are_what_each_of_them_is_alone(
    tmp_path: Path, lines: list[bytes]
) -> None:
    path = tmp_path / "own.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    expected, broken = alone(lines)
    found: list[tuple[int, dict[str, Any]]] = []
    stopped_at: int | None = None
    try:
        found.extend(read_jsonl(path))
    except RecordFileError as error:
        stopped_at = error.line
    assert (found, stopped_at) == (expected, broken)


def test_a_complete_last_record_without_newline_is_kept(tmp_path: Path) -> None:
    """Public case pub-18."""
    path = tmp_path / "answers.jsonl"
    one, two = (record_line(answer) for answer in answers("a", "b"))
    path.write_bytes(one + two.removesuffix(b"\n"))
    assert len(list(read_jsonl(path))) == 2
    RecordWriter(path).close()
    assert path.read_bytes() == one + two


def test_a_byte_order_mark_and_blank_lines_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a":1}\r\n\r\n{"a":2}')
    assert list(read_jsonl(path)) == [(1, {"a": 1}), (3, {"a": 2})]


@pytest.mark.parametrize(
    ("name", "line", "complaint"),
    [
        ("questions", {"id": "q", "text": "t"}, "'domain' must be text"),
        ("answers", {"question_id": 3, "examinee": "e", "text": ""}, "'question_id' must be text"),
        ("verdicts", {"question_id": "q", "judge": "j", "first": "a", "second": "b",
                      "winner": "A"}, "'winner' must be one of first, second, tie"),
        ("marks", {"question_id": "q", "examinee": "e", "judge": "j", "overall": 4.5},
         "'overall' must be a whole number"),
        ("rankings", {"question_id": "q", "judge": "j", "order": ["a"]}, "'order' must be a list"),
    ],
)  # fmt: skip
def test_a_record_without_its_keys_is_named_by_line_and_key(
    tmp_path: Path, name: str, line: dict[str, Any], complaint: str
) -> None:
    (tmp_path / f"{name}.jsonl").write_text("\n" + json.dumps(line) + "\n")
    with pytest.raises(RecordFileError, match=rf"{name}\.jsonl:2: {complaint}"):
        list(getattr(RunFolder(tmp_path), name)())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(records, max_size=6), st.booleans())
def test_columns_hold_what_the_records_hold(
    tmp_path: Path, many: list[Record], imported: bool
) -> None:
    """Also where lines lack the keys that may be missing, as other programs write them."""
    folder = RunFolder(tmp_path / "run")
    folder.create()
    for kind, name in KINDS.items():
        of_kind = [record for record in many if isinstance(record, kind)]
        lines = [json.loads(record_line(record)) for record in of_kind]
        if imported:
            lines = [{k: v for k, v in line.items() if v is not None} for line in lines]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder.path / f"{name}.jsonl").write_text(text)
        fields = [field for field in kind.__dataclass_fields__ if field != "scores"]
        rows = [
            row
            for block in columns_of(getattr(folder, name)(), *fields)
            for row in zip(*block, strict=True)
        ]
        assert rows == [tuple(getattr(record, field) for field in fields) for record in of_kind]


MARKS = st.builds(
    Mark,
    question_id=st.just("q"),
    examinee=st.just("e"),
    judge=st.just("j"),
    scores=st.dictionaries(st.sampled_from(["wit", "tact"]), st.none() | st.integers(0, 9)),
    overall=st.none() | st.integers(1, 5),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(MARKS, max_size=6))
def test_a_dimension_is_a_column_of_a_file_as_of_records(tmp_path: Path, many: list[Mark]) -> None:
    (tmp_path / "marks.jsonl").write_bytes(b"".join(map(record_line, many)))
    wanted = [(mark.overall, mark.scores.get("wit"), mark.scores.get("tact")) for mark in many]
    for source in (RunFolder(tmp_path).marks(), iter(many)):
        blocks = columns_of(source, "overall", Score("wit"), Score("tact"))
        assert [row for block in blocks for row in zip(*block, strict=True)] == wanted


def test_what_is_no_whole_number_is_no_score(tmp_path: Path) -> None:
    # As the records have it: such a key is no dimension.
    line = {"question_id": "q", "examinee": "e", "judge": "j", "overall": 3, "state": "ok",
            "reason": None, "reply": None, "prompt": None, "call": None, "wit": True, "tact": "2",
            "sum": 2.5}  # fmt: skip
    (tmp_path / "marks.jsonl").write_text(json.dumps(line) + "\n")
    names = ("wit", "tact", "sum")
    assert list(columns_of(RunFolder(tmp_path).marks(), *map(Score, names))) == [([None],) * 3]
    assert not set(names) & next(RunFolder(tmp_path).marks()).scores.keys()


def test_records_about_some_questions_are_read_and_lines_about_others_are_not(
    tmp_path: Path,
) -> None:
    folder = RunFolder(tmp_path)
    with folder.writer("answers") as writer:
        for number in range(3000):
            writer.emit(Answer(f"q{number % 50}", "one", f"text {number}" * 20))
    whole = [answer for answer in folder.answers() if answer.question_id in {"q3", "q41"}]
    with folder.records_path("answers").open("ab") as file:
        file.write(b'{"question_id":"q4","examinee":broken\n{"question_id":"q3"}\n')
    found = folder.answers().about({"q3", "q41"})
    assert [next(found) for _ in whole] == whole
    with pytest.raises(RecordFileError, match=r"answers\.jsonl:3002: .*'examinee' must be text"):
        next(found)
    with pytest.raises(RecordFileError, match=r":3001: "):
        list(folder.answers().about({"q4"}))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"winner": "A"}, "'winner' must be one of first, second, tie"),
        ({"winner": []}, "'winner' must be one of first, second, tie"),
        ({"state": 1}, "'state' must be one of ok"),
        ({"judge": None}, "'judge' must be text"),
        ({"reply": 3}, "'reply' must be text"),
    ],
)
def test_columns_name_a_bad_record_by_line_and_key(
    tmp_path: Path, change: dict[str, Any], complaint: str
) -> None:
    line = json.loads(record_line(Verdict("q", "j", "a", "b", "first")))
    path = tmp_path / "verdicts.jsonl"
    path.write_text(json.dumps(line) + "\n" + json.dumps({**line, **change}) + "\n")
    with pytest.raises(RecordFileError, match=rf"verdicts\.jsonl:2: {complaint}"):
        list(columns_of(RunFolder(tmp_path).verdicts(), "question_id"))


def test_unknown_keys_are_ignored_and_a_rubrics_own_dimensions_are_kept(tmp_path: Path) -> None:
    line = {"question_id": "q", "examinee": "e", "judge": "j", "overall": 3, "wit": 2,
            "comment": "good", "fair": True, "accuracy": None}  # fmt: skip
    (tmp_path / "marks.jsonl").write_text(json.dumps(line) + "\n")
    scores = {"wit": 2, "accuracy": None}
    assert list(RunFolder(tmp_path).marks()) == [Mark("q", "e", "j", scores, 3)]


def test_a_folder_without_records_holds_none(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "nothing")
    assert list(folder.verdicts()) == []
    assert not folder.path.exists(), "reading creates nothing"


# --- manifest and standings --------------------------------------------------------------------


def test_the_manifest_has_the_same_bytes_whatever_the_order_of_its_keys(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "deep" / "run")
    folder.write_manifest({"b": "ü\ud800", "a": {"d": 1, "c": None}})
    first = folder.manifest_path.read_bytes()
    folder.write_manifest({"a": {"c": None, "d": 1}, "b": "ü\ud800"})
    assert folder.manifest_path.read_bytes() == first
    assert first.endswith(b"}\n")
    assert first.index(b'"a"') < first.index(b'"b"')
    assert folder.read_manifest() == {"a": {"c": None, "d": 1}, "b": "ü\ud800"}
    assert [path.name for path in folder.path.iterdir()] == ["manifest.json"], "no draft is left"


def test_a_value_that_json_does_not_have_leaves_the_old_standings(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write_standings({"score": 1.0})
    with pytest.raises(ValueError, match="JSON compliant"):
        folder.write_standings({"score": float("nan")})
    assert folder.read_standings() == {"score": 1.0}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "is this|is missing"),
        (b"{", "is damaged"),
        (b"[]", "is damaged .it is no JSON object"),
        (b'{"schema": 99}', "newer than this peerexam"),
    ],
)
def test_a_manifest_that_cannot_be_used_says_what_to_do(
    tmp_path: Path, content: bytes | None, complaint: str
) -> None:
    folder = RunFolder(tmp_path)
    if content is not None:
        folder.manifest_path.write_bytes(content)
    with pytest.raises(SetupError, match=complaint):
        folder.read_manifest()
