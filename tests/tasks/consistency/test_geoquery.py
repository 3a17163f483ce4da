"""Questions, their sub-questions and alignments: our own small folder, then the public one."""

from __future__ import annotations

from pathlib import Path

import pytest

from peerexam.errors import RecordFileError, SetupError
from peerexam.tasks.consistency.funql import parse_funql
from peerexam.tasks.consistency.geoquery import GeoQuestion, distinct, load_geoquery
from peerexam.tasks.consistency.geoquery_alignments import aligned, load_alignments
from peerexam.tasks.consistency.geoquery_parts import parts_of

SHARED = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"
needs_shared = pytest.mark.skipif(
    not (SHARED / "geoquery").is_dir(), reason="the public data are not there"
)

QUESTIONS = ["which towns lie in ohio", "name the lakes of utah", "which towns lie in ohio"]
PROGRAMS = [
    "answer(city(loc_2(stateid('ohio'))))",
    "answer(lake(loc_2(stateid('utah'))))",
    "answer ( city ( loc_2 ( stateid ( 'ohio' ) ) ) )",
]


def geo_folder(path: Path, **files: str) -> Path:
    path.mkdir(exist_ok=True)
    (path / "geoquery.en").write_text("\n".join(QUESTIONS) + "\n")
    (path / "geoquery.funql").write_text("\n".join(PROGRAMS) + "\n")
    for name, text in files.items():
        (path / f"split880.{name}.ids").write_text(text)
    return path


def question(text: str, program: str) -> GeoQuestion:
    return GeoQuestion(0, text, parse_funql(program))


def test_line_n_belongs_to_line_n_and_splits_count_from_zero(tmp_path: Path) -> None:
    questions = load_geoquery(geo_folder(tmp_path, train="1\n", test="2\n0\n"))
    assert [each.split for each in questions] == ["test", "train", "test"]
    assert [each.id for each in questions] == ["geo000", "geo001", "geo002"]
    assert [each.row for each in distinct(questions)] == [0, 1]


def test_a_folder_without_splits_has_none(tmp_path: Path) -> None:
    assert {each.split for each in load_geoquery(geo_folder(tmp_path))} == {None}


def test_files_of_another_system_are_read_alike(tmp_path: Path) -> None:
    plain = load_geoquery(geo_folder(tmp_path / "plain", train="1\n", test="0\n"))
    folder = geo_folder(tmp_path / "marked", train="1\n", test="00\n")
    for path in folder.iterdir():
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert load_geoquery(folder) == plain


@pytest.mark.parametrize("line", ["9" * 5000, "-1", "²", "", "3", "0x1"])
def test_a_split_that_names_no_line_is_refused(tmp_path: Path, line: str) -> None:
    folder = geo_folder(tmp_path, train=f"{line}\n", test="0\n")
    with pytest.raises(RecordFileError, match="is no line"):
        load_geoquery(folder)


def test_what_is_wrong_with_a_folder_is_named(tmp_path: Path) -> None:
    folder = geo_folder(tmp_path, train="1\n", test="3\n")
    with pytest.raises(RecordFileError, match=r"'3' is no line"):
        load_geoquery(folder)
    (folder / "split880.test.ids").write_text("0\n")
    (folder / "geoquery.funql").write_text("answer(state(all))\n")
    with pytest.raises(SetupError, match=r"3 lines and geoquery\.funql 1"):
        load_geoquery(folder)
    (folder / "geoquery.funql").write_text("a(b)\na(b\na(b)\n")
    with pytest.raises(RecordFileError, match="never closed") as caught:
        load_geoquery(folder)
    assert ":2" in str(caught.value)
    with pytest.raises(SetupError, match="name the folder"):
        load_geoquery(tmp_path / "nowhere")


def test_the_papers_example_is_fanned_out_as_in_the_paper() -> None:
    asked = question("what state has the largest city", "answer(state(loc_1(largest(city(all)))))")
    # Self-knowledge, "Semantic parsing experimental set-up"; its questions end in " ?".
    assert [(part.text, str(part.program)) for part in parts_of(asked)] == [
        ("state has the largest city", "state(loc_1(largest(city(all))))"),
        ("has the largest city", "loc_1(largest(city(all)))"),
        ("largest city", "largest(city(all))"),
        ("city", "city(all)"),
    ]


def test_a_part_with_a_stranger_in_it_is_no_sub_question() -> None:
    # "longest" belongs to the outermost operator, and stands within the words of `river(…)`.
    asked = question(
        "name the river that is longest in ohio", "answer(longest(river(loc_2(stateid('ohio')))))"
    )
    texts = {part.text for part in parts_of(asked)}
    assert "river that is longest in ohio" in texts
    assert {str(part.program) for part in parts_of(asked)} == {
        "longest(river(loc_2(stateid('ohio'))))",
        "loc_2(stateid('ohio'))",
        "stateid('ohio')",
    }


def test_names_of_several_words_and_the_country_are_found() -> None:
    asked = question(
        "how many rivers are in new york", "answer(count(river(loc_2(stateid('new york')))))"
    )
    assert "in new york" in {part.text for part in parts_of(asked)}
    country = question("name states in the united states", "answer(state(loc_2(countryid('usa'))))")
    parts = {str(part.program): part.text for part in parts_of(country)}
    assert parts["countryid('usa')"] == "united states"
    assert parts["state(loc_2(countryid('usa')))"] == "states in the united states"


HEAD = ",ID,NL,MR,MONOTONIC,ALIGNMENT\n"


def test_an_alignment_is_looked_up_by_question_and_program(tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    path.write_text(
        HEAD + "0,7,which towns lie in state_name,answer(city(loc_2(stateid(state_name)))),1,"
        "\"('which', 'answer'), ('towns', 'city'), ('lie', 'loc_2'), ('in', 'ε'), "
        "('state_name', 'stateid(state_name)')\"\n"
        # Brackets that do not close, and code in place of an alignment: passed over, never run.
        "1,8,which towns,answer(city(all),1,\"('which', 'answer')\"\n"
        "2,9,boom,answer(city(all)),1,\"__import__('os').getcwd()\"\n"
    )
    rows = load_alignments(path)
    program = parse_funql("answer(city(loc_2(stateid('new mexico'))))")
    found = aligned(rows, "which towns lie in new mexico", program)
    assert found == (["answer", "city", "loc_2", None, "stateid", "stateid"], True)
    assert aligned(rows, "which towns are in new mexico", program) is None
    asked = GeoQuestion(0, "which towns lie in new mexico", program)
    assert "lie in new mexico" in {part.text for part in parts_of(asked, rows)}


def test_an_alignment_nested_too_deeply_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    for cell in ("(" * 300, "-" * 100_000 + "1", "('a'" + ".b" * 5, "9" * 5000):
        path.write_text(f'{HEAD}0,1,which towns,answer(city(all)),1,"{cell}"\n')
        assert load_alignments(path) == {}


def test_another_csv_is_no_alignment(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(SetupError, match="no column NL"):
        load_alignments(path)


@pytest.mark.shared
@needs_shared
def test_the_public_folder_has_the_figures_of_its_readme() -> None:
    questions = load_geoquery(SHARED / "geoquery")
    assert len(questions) == 880
    assert [sum(q.split == split for q in questions) for split in ("train", "test")] == [600, 280]
    assert len({q.text for q in questions}) == 873
    rows = load_alignments(SHARED / "geoquery_span_alignment" / "EN_anon_cleaned.csv")
    for alignments in (rows, None):
        parts = {q.row: parts_of(q, alignments) for q in questions}
        assert all(parts.values())
        # Of 3,405 proper sub-programs; the others have no words of their own.
        assert sum(map(len, parts.values())) > 3000
        for q in questions:
            inside = list(q.program.operators())[1:]
            assert all(part.program in inside for part in parts[q.row])
            assert all(f" {part.text} " in f" {q.text} " for part in parts[q.row])
