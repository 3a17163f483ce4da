"""Annotation files in the layout of the examiner paper's appendix C.1."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import RecordFileError, SetupError
from peerexam.tasks.trust.annotations import read_annotations
from peerexam.tasks.trust.cells import Order, parse_ranking, parse_rating

HEAD = (
    "Question,GPT4 Answer,GPT4 answer correctness,Answer 1,answer_1 rating,answer 2,"
    "Answer 2 Rating,answer 3,answer 3 rating,Answer Ranking"
)
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "annotations.csv"


def written(tmp_path: Path, *rows: str, head: str = HEAD) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def orders(answers: int) -> st.SearchStrategy[Order]:
    """Every order of so many answers, ties and all."""

    def cut(numbers: list[int]) -> st.SearchStrategy[Order]:
        return st.lists(st.booleans(), min_size=len(numbers) - 1, max_size=len(numbers) - 1).map(
            lambda tied: _grouped(numbers, tied)
        )

    return st.permutations(range(1, answers + 1)).flatmap(cut)


def _grouped(numbers: list[int], tied: list[bool]) -> Order:
    groups = [[numbers[0]]]
    for number, with_last in zip(numbers[1:], tied, strict=True):
        if with_last:
            groups[-1].append(number)
        else:
            groups.append([number])
    return tuple(tuple(group) for group in groups)


@given(st.integers(2, 6).flatmap(orders), st.sampled_from(["", " "]))
def test_every_order_is_read_as_it_is_written(order: Order, space: str) -> None:
    text = f"{space}>{space}".join(f"{space}={space}".join(map(str, group)) for group in order)
    assert parse_ranking(text, sum(map(len, order))) == order


@given(st.text("123>= NUL", max_size=10))
def test_a_ranking_names_every_answer_once_or_is_refused(text: str) -> None:
    try:
        order = parse_ranking(text, 3)
    except ValueError:
        return
    assert order is None or sorted(n for group in order for n in group) == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2>2", "twice"),
        ("1>2>4", "an answer 4, and there are 3"),
        ("1>2", "leaves out answer 3"),
        ("1>>2>3", "no ranking"),
        ("1<2<3", "no ranking"),
        ("answer 1", "no ranking"),
        ("٢>1>3", "no ranking"),
    ],
)
def test_a_ranking_that_is_none_is_refused_with_the_line(
    tmp_path: Path, text: str, said: str
) -> None:
    path = written(tmp_path, f"Why?,ref,,a,1,b,2,c,3,{text}")
    with pytest.raises(RecordFileError, match=said) as caught:
        read_annotations(path)
    assert caught.value.line == 2


@pytest.mark.parametrize("text", ["6", "0", "4,4", "3,3,3,4,5", "good", "1-2-3", "nan"])
def test_a_rating_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"score|rating|dimension"):
        parse_rating(text)


def test_a_rating_is_one_score_or_four_dimensions_and_the_overall_score() -> None:
    assert parse_rating(" 4.5 ") == (4.5, {})
    overall, scores = parse_rating("3/2/1/2/4") or (0.0, {})
    assert overall == 4
    assert scores == {"accuracy": 3, "coherence": 2, "factuality": 1, "comprehensiveness": 2}
    assert parse_rating("NULL") is None


def test_ratings_and_rankings_become_labels(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '"Why, then?",so,yes,a,5,b,"3,3,3,3,4",c,null,2>3=1',
        "How?,NULL,0,x,NULL,y,,z,2,",
    )
    labels = read_annotations(path)
    why, how = labels.questions
    assert why.text == "Why, then?"
    assert labels.references == {why.id: "so"}
    assert [(r.examinee, r.overall) for r in labels.ratings] == [
        ("answer 1", 5.0),
        ("answer 2", 4.0),
        ("answer 3", 2.0),
    ]
    assert [(p.a, p.b, p.points) for p in labels.preferences] == [
        ("answer 1", "answer 2", 0.0),
        ("answer 1", "answer 3", 0.5),
        ("answer 2", "answer 3", 1.0),
    ]
    said = " ".join(labels.notes)
    assert "3 answers have no rating" in said
    assert "1 rows have no ranking" in said
    assert "1 questions have no reference answer" in said
    assert "1 reference answers were found wrong" in said
    assert how.id not in labels.references


def test_several_annotators_judge_the_same_question(tmp_path: Path) -> None:
    head = "question,answer 1,answer 1 rating,answer 2,answer 2 rating,ranking,annotator"
    path = written(tmp_path, "Why?,a,5,b,1,1>2,ann", "Why?,a,4,b,2,1=2,bo", head=head)
    labels = read_annotations(path)
    assert len(labels.questions) == 1
    assert [r.annotator for r in labels.ratings] == ["ann", "ann", "bo", "bo"]
    with pytest.raises(RecordFileError, match="line 2"):
        read_annotations(
            written(tmp_path, "Why?,a,5,b,1,1>2,ann", "Why?,a,5,b,1,1>2,ann", head=head)
        )
    with pytest.raises(RecordFileError, match="differs"):
        read_annotations(
            written(tmp_path, "Why?,a,5,b,1,1>2,ann", "Why?,a,5,c,1,1>2,bo", head=head)
        )


def test_models_may_be_named(tmp_path: Path) -> None:
    head = "question,answer 1,answer 1 model,rating 1,answer 2,answer 2 model,rating 2"
    labels = read_annotations(written(tmp_path, "Why?,a,m-1,5,b,m-2,1", head=head))
    assert [a.examinee for a in labels.answers] == ["m-1", "m-2"]
    assert [r.overall for r in labels.ratings] == [5, 1]
    with pytest.raises(RecordFileError, match="same model"):
        read_annotations(written(tmp_path, "Why?,a,m-1,5,b,m-1,1", head=head))


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("prompt text,answer 1,answer 2", "no column 'question'"),
        ("question,answer 1", "answer 2"),
        ("question,answer 1,answer 3", "answer 2"),
    ],
)
def test_a_file_of_another_layout_is_refused(tmp_path: Path, head: str, said: str) -> None:
    with pytest.raises(SetupError, match=said):
        read_annotations(written(tmp_path, "a,b,c", head=head))


def test_a_file_that_is_no_text_or_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no file"):
        read_annotations(tmp_path / "none.csv")
    (tmp_path / "people.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SetupError, match="UTF-8"):
        read_annotations(tmp_path / "people.csv")
    with pytest.raises(SetupError, match="no row"):
        read_annotations(written(tmp_path))


def test_the_example_is_read() -> None:
    labels = read_annotations(EXAMPLE)
    assert (len(labels.questions), len(labels.ratings), len(labels.preferences)) == (9, 33, 33)


def test_one_question_may_have_several_pairs_of_answers(tmp_path: Path) -> None:
    head = "question,answer 1,answer 2,ranking,annotator"
    rows = ("Why?,a,b,1>2,ann", "Why?,c,d,2>1,ann", "Why?,a,c,1=2,ann")
    by_bo = ("Why?,c,d,1>2,bo", "Why?,b,a,1>2,bo", "Why?,c,a,2>1,bo")  # some the other way round
    labels = read_annotations(written(tmp_path, *rows, *by_bo, head=head))
    assert len(labels.questions) == 1
    assert sorted(a.text for a in labels.answers) == ["a", "b", "c", "d"]
    text = {a.examinee: a.text for a in labels.answers}
    said = [(p.annotator, text[p.a], text[p.b], p.points) for p in labels.preferences]
    assert said == [
        ("ann", "a", "b", 1.0),
        ("ann", "c", "d", 0.0),
        ("ann", "a", "c", 0.5),
        ("bo", "c", "d", 1.0),
        ("bo", "b", "a", 1.0),
        ("bo", "c", "a", 0.0),
    ]
    with pytest.raises(RecordFileError, match="line 3"):
        read_annotations(written(tmp_path, *rows, "Why?,c,d,1>2,ann", head=head))


def test_pairs_of_named_models_share_a_question(tmp_path: Path) -> None:
    head = "question,answer 1,model 1,answer 2,model 2,ranking"
    rows = ("Why?,a,m,b,n,1>2", "Why?,a,m,c,o,2>1", "Why?,b,n,c,o,1=2")
    labels = read_annotations(written(tmp_path, *rows, head=head))
    assert [(p.a, p.b) for p in labels.preferences] == [("m", "n"), ("m", "o"), ("n", "o")]
    with pytest.raises(RecordFileError, match="differs"):
        read_annotations(written(tmp_path, *rows, "Why?,x,m,e,p,1>2", head=head))


def test_recorded_verdicts_of_one_order_or_both_are_read(tmp_path: Path) -> None:
    head = (
        "question,answer 1,answer 2,ranking,verdict GPT-4,verdict my judge,verdict my judge swapped"
    )
    path = written(tmp_path, "Why?,a,b,1>2,1>2,1=2,2>1", "How?,c,d,1>2,NULL,,", head=head)
    labels = read_annotations(path)
    assert [(v.judge, v.first, v.second, v.winner) for v in labels.verdicts] == [
        ("GPT-4", "answer 1", "answer 2", "first"),
        ("my judge", "answer 1", "answer 2", "tie"),
        ("my judge", "answer 2", "answer 1", "first"),
    ]
    rows = ("Why?,a,b,1>2,1>2,,,ann", "Why?,a,b,1>2,2>1,,,bo")
    contradicting = written(tmp_path, *rows, head=f"{head},annotator")
    with pytest.raises(RecordFileError, match="differs from that of an earlier row"):
        read_annotations(contradicting)
    three = written(
        tmp_path, "Why?,a,b,c,1>2>3", head="question,answer 1,answer 2,answer 3,verdict J"
    )
    with pytest.raises(RecordFileError, match="on two answers"):
        read_annotations(three)
