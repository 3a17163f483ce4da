from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import RecordFileError, SetupError
from peerexam.tasks.taxonomy.domain_names import clean_name, problem_of, same_name
from peerexam.tasks.taxonomy.tree import Taxonomy, load_taxonomy

PHYSICS = {
    "Science": ("Science",),
    "Physics": ("Science", "Physics"),
    "Optics": ("Science", "Physics", "Optics"),
    "Arts": ("Arts",),
}

LAYOUTS = {
    "nested.yaml": "Science:\n  Physics: [Optics]\nArts:\n",
    "nested-lists.yml": "- Science:\n    - Physics:\n        - Optics\n- Arts\n",
    "objects.yaml": (
        "- name: Science\n  children:\n  - name: Physics\n    children: [Optics]\n- name: Arts\n"
    ),
    "nested.json": '{"Science": {"Physics": ["Optics"]}, "Arts": null}',
    "rooted.json": (
        '{"name": "All", "id": 0, "children": [{"name": "Science", "id": 1, "children": '
        '[{"name": "Physics", "id": 2, "children": [{"name": "Optics", "id": 3}]}]}, '
        '{"name": "Arts", "id": 4}]}'
    ),
    "parents.csv": "name,parent\nScience,\nPhysics,Science\nOptics,Physics\nArts,\n",
    "ids.csv": "id,parent,name\n1,,Science\n2,1,Physics\n3,2,Optics\n4,,Arts\n",
    "ids.tsv": "id\tparent\tname\n1\t\tScience\n2\t1\tPhysics\n3\t2\tOptics\n4\t\tArts\n",
    "slashes.csv": "path\nScience\nScience/Physics\nScience/Physics/Optics\nArts\n",
    "arrows.csv": "path,id\nScience,1\nScience > Physics,2\nScience>Physics>Optics,3\nArts,4\n",
    "list.txt": "Science\nScience > Physics\n\nScience > Physics > Optics\nArts\n",
}


def _load(folder: Path, name: str, text: str | bytes) -> Taxonomy:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return load_taxonomy(path)


def _homes(taxonomy: Taxonomy) -> dict[str, tuple[str, ...]]:
    return {one.name: one.paths[0] for one in taxonomy.categories}


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_gives_the_same_tree(tmp_path: Path, name: str) -> None:
    taxonomy = _load(tmp_path, name, LAYOUTS[name])
    assert _homes(taxonomy) == PHYSICS
    assert not taxonomy.notes


def test_ids_are_kept(tmp_path: Path) -> None:
    for name in ("rooted.json", "ids.csv", "arrows.csv"):
        ids = {one.name: one.id for one in _load(tmp_path, name, LAYOUTS[name]).categories}
        assert ids == {"Science": "1", "Physics": "2", "Optics": "3", "Arts": "4"}


def test_a_list_names_no_domain_but_what_its_lines_end_with(tmp_path: Path) -> None:
    taxonomy = _load(tmp_path, "list.txt", "Science > Physics > Optics\n")
    assert _homes(taxonomy) == {"Optics": ("Science", "Physics", "Optics")}


def test_a_category_below_several_parents_is_one_domain_with_its_first_place_as_home(
    tmp_path: Path,
) -> None:
    rows = "name,id,parent\nArts,1,\nMusic,2,1\nTravel,3,\nMusic,2,3\n"
    taxonomy = _load(tmp_path, "t.csv", rows)
    music = next(one for one in taxonomy.categories if one.name == "Music")
    assert music.paths == (("Arts", "Music"), ("Travel", "Music"))
    assert not taxonomy.notes


def test_a_name_that_comes_again_is_the_same_domain_and_noted(tmp_path: Path) -> None:
    taxonomy = _load(tmp_path, "t.txt", "Physics\nＰＨＹＳＩＣＳ \nphysics\n")
    assert _homes(taxonomy) == {"Physics": ("Physics",)}
    assert len([note for note in taxonomy.notes if "stands in line 1 already" in note]) == 2


def test_what_stands_below_a_dropped_name_stands_below_its_parent(tmp_path: Path) -> None:
    taxonomy = _load(tmp_path, "t.txt", f"Arts > {'x' * 10_000} > Dance\nArts > .. > Opera\n")
    assert _homes(taxonomy) == {"Dance": ("Arts", "Dance"), "Opera": ("Arts", "Opera")}
    assert ["10,000 characters" in taxonomy.notes[0], "no letter" in taxonomy.notes[1]] == [
        True
    ] * 2


def test_norway_and_numbers_stay_names(tmp_path: Path) -> None:
    taxonomy = _load(tmp_path, "t.yaml", "- No\n- 911\n- 2020-01-01\n- 1e3\n- ~\n- 0x10\n")
    assert list(_homes(taxonomy)) == ["No", "911", "2020-01-01", "1e3", "0x10"]


def test_hostile_names_are_cleaned_or_dropped_with_a_note_for_each(tmp_path: Path) -> None:
    names = ["../../etc", "=1+1", "A\u202eB", "C\x00D", "\ud800E", "  ", "..", "x" * 10_000]
    taxonomy = _load(tmp_path, "t.json", json.dumps(names))
    assert list(_homes(taxonomy)) == ["../../etc", "=1+1", "AB", "CD", "E"]
    assert len(taxonomy.notes) == 6
    assert all(note.isprintable() and len(note) < 200 for note in taxonomy.notes)


def test_a_path_column_takes_no_way_up(tmp_path: Path) -> None:
    taxonomy = _load(tmp_path, "t.csv", "path\n../../etc/passwd\n")
    assert _homes(taxonomy) == {"passwd": ("etc", "passwd")}


def test_windows_line_ends_and_a_byte_order_mark_are_no_part_of_a_name(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbfScience\r\nArts\r\n"
    assert list(_homes(_load(tmp_path, "t.txt", text))) == ["Science", "Arts"]


BOMB = "a: &a [x, y, z, u, v, w, p, q, r]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefg", "bcdefgh", strict=True)
)

REFUSED: dict[str, tuple[str, str | bytes, str]] = {
    "aliases that unfold to millions": ("t.yaml", BOMB, r"t\.yaml:1: .*unfold"),
    "an alias within itself": ("t.yaml", "a: &a\n  b: *a\n", r"t\.yaml:1: .*holds itself"),
    "a cycle of parents": ("t.csv", "name,parent\nA,B\nB,C\nC,A\n", r"t\.csv:4: .*own ancestor"),
    "its own parent": ("t.csv", "name,parent\nA,a\n", r"t\.csv:2: .*own ancestor"),
    "an unknown parent": ("t.csv", "name,id,parent\nA,1,\nB,2,7\n", r"t\.csv:3: no row .*'7'"),
    "two names for an id": ("t.csv", "name,id\nA,1\nB,1\n", r"t\.csv:3: the id '1' is 'A'"),
    "no head": ("t.csv", "Science\nArts\n", r"t\.csv:1: .*columns"),
    "an open quote": ("t.csv", 'name\n"Science\n', r"t\.csv:\d: CSV"),
    "a tab in YAML": ("t.yaml", "a:\n\t- b\n", r"t\.yaml:2: YAML"),
    "a control character in YAML": ("t.yaml", "- a\n- b\x07\n", r"t\.yaml:2: a control"),
    "a tag in YAML": ("t.yaml", "- [[a]]\n", r"t\.yaml:1: a list within a list"),
    "broken JSON": ("t.json", '["a",\n "b"', r"t\.json:2: JSON"),
    "JSON without an end": ("t.json", "[" * 100_000, r"t\.json:1: (nested|JSON)"),
    "YAML without an end": ("t.yaml", "[" * 1_500, r"t\.yaml:1: "),
    "a hundred levels": ("t.txt", " > ".join("a" * 100), r"t\.txt:1: more than 50 levels"),
    "Latin-1": ("t.txt", b"a\n\xe9\n", r"t\.txt:2: not UTF-8"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused_with_its_line(tmp_path: Path, case: str) -> None:
    name, text, message = REFUSED[case]
    with pytest.raises(RecordFileError, match=message):
        _load(tmp_path, name, text)


def test_parents_that_multiply_are_refused_before_they_fill_the_memory(tmp_path: Path) -> None:
    rows = ["name,parent", "a0,", "b0,"]
    rows += [
        f"{one}{level},{above}{level - 1}"
        for level in range(1, 40)
        for one in "ab"
        for above in "ab"
    ]
    with pytest.raises(RecordFileError, match="unfolds to, more than"):
        _load(tmp_path, "t.csv", "\n".join(rows))


@pytest.mark.parametrize("text", ["", "\n\n", "..\n??\n"])
def test_a_file_without_a_domain_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SetupError, match="holds no domain"):
        _load(tmp_path, "t.txt", text)


@pytest.mark.parametrize("name", ["google-trend", "/dev/zero", "a\0b", "."])
def test_what_is_no_taxonomy_and_no_file_is_refused(name: str) -> None:
    with pytest.raises(SetupError, match=r"google-trends|cannot be read"):
        load_taxonomy(name)


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def _expected(names: list[str]) -> list[str]:
    """First spelling of every name that can be one."""
    kept: dict[str, str] = {}
    for name in map(clean_name, names):
        if problem_of(name) is None:
            kept.setdefault(same_name(name), name)
    return list(kept.values())


@given(st.lists(NAMES, max_size=8), st.sampled_from([".json", ".yaml", ".csv"]))
def test_any_list_of_names_comes_out_clean_and_without_doubles(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], suffix: str
) -> None:
    folder = tmp_path_factory.mktemp("names")
    if suffix == ".json":
        text = json.dumps(names)
    elif suffix == ".yaml":
        text = yaml.safe_dump(names)
    else:
        buffer = io.StringIO(newline="")
        csv.writer(buffer).writerows([["name"], *([name] for name in names)])
        text = buffer.getvalue()
    expected = _expected(names)
    if not expected:
        with pytest.raises(SetupError, match="holds no domain"):
            _load(folder, f"t{suffix}", text)
        return
    assert [one.name for one in _load(folder, f"t{suffix}", text).categories] == expected


@given(st.binary(max_size=200), st.sampled_from([".json", ".yaml", ".csv", ".txt", ".tsv"]))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, suffix: str
) -> None:
    try:
        taxonomy = _load(tmp_path_factory.mktemp("bytes"), f"t{suffix}", data)
    except SetupError:
        return
    assert len(taxonomy) == len({same_name(one.name) for one in taxonomy.categories})


ONE_LINE = json.dumps(
    {
        "name": "All",
        "children": [
            {"name": "Science", "children": [{"name": "Physics"}, {"name": ".."}]},
            {"name": "Arts", "children": ["physics", {"Odd key": ["--"]}]},
        ],
    }
)


def test_what_is_noted_of_json_in_one_line_has_its_path(tmp_path: Path) -> None:
    taxonomy = _load(tmp_path, "t.json", ONE_LINE)
    dropped, twice, below = taxonomy.notes
    assert dropped.startswith("t.json:1, children[0].children[1].name: '..' ")
    assert twice.startswith("t.json:1, children[1].children[0]: ")
    assert "stands in line 1, children[0].children[0].name already" in twice
    assert below.startswith("t.json:1, children[1].children[1]['Odd key'][0]: '--' ")
    # The paths lead to the values: followed through the file as Python reads it.
    body = json.loads(ONE_LINE)
    assert body["children"][0]["children"][1]["name"] == ".."
    assert body["children"][1]["children"][1]["Odd key"][0] == "--"


def test_paths_through_lists_and_mappings_lead_to_the_name(tmp_path: Path) -> None:
    taxonomy = _load(tmp_path, "t.json", '["Arts",\n "--"]')
    assert taxonomy.notes[0].startswith("t.json:2, [1]: '--' ")
    nested = _load(tmp_path, "t.json", '{"Arts": {"\\n": "Dance",\n "--": null}}')
    assert nested.notes[0].startswith("t.json:1, Arts['\\n']: ")
    assert nested.notes[1].startswith("t.json:2, Arts['--']: ")
    with pytest.raises(RecordFileError, match=r"t\.json:1: a list within a list .*\(\[0\]\)"):
        _load(tmp_path, "t.json", '[["x"]]')
    ids = '[{"name": "A", "id": 1}, {"name": "B", "id": 1}]'
    with pytest.raises(RecordFileError, match=r"in line 1, \[0\]\.name; give 'B' \(\[1\]\.name\)"):
        _load(tmp_path, "t.json", ids)
    # A table and YAML have lines, and need no path.
    assert _load(tmp_path, "t.yaml", "- Arts\n- '--'\n").notes[0].startswith("t.yaml:2: ")


def test_a_long_path_is_cut_and_a_hostile_key_is_shown_printably(tmp_path: Path) -> None:
    inner: object = ["--"]
    for at in range(30):
        inner = {f"level number {at}\u202e\n{'x' * 100}": inner}
    (note, *_) = _load(tmp_path, "t.json", json.dumps(inner)).notes[-1:]
    assert note.startswith("t.json:1, …")
    assert note.isprintable()
    assert len(note) < 200
