from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from peerexam.errors import SetupError
from peerexam.report.run.html import write_report

SHARED = Path(__file__).resolve().parents[3].parent / "shared"

HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='hacked()'> is 2<3 & \"x\"?"
HOSTILE_NAME = 'm" onmouseover="alert(3)'


class Page(HTMLParser):
    """A page taken apart: its elements, and the text outside script and style."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.blocks: dict[str, list[str]] = {"script": [], "style": []}
        self._inside: str | None = None
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag if tag in self.blocks else self._inside

    def handle_endtag(self, tag: str) -> None:
        self._inside = None if tag == self._inside else self._inside

    def handle_data(self, data: str) -> None:
        (self.blocks[self._inside] if self._inside else self.texts).append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def data(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.blocks["script"][0])
        return body


def page_of(folder: Path, **options: Any) -> Page:
    return Page(write_report(folder, **options).read_text("utf-8"))


def assert_inert(page: Page) -> None:
    scripts = [attrs for tag, attrs in page.elements if tag == "script"]
    assert [attrs.get("type") for attrs in scripts] == ["application/json", None]
    assert all(not name.startswith("on") for _, attrs in page.elements for name in attrs)
    assert "img" not in {tag for tag, _ in page.elements}


def test_the_report_lands_in_the_folder_or_where_it_is_told(
    make_run: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_run()
    assert write_report(folder) == folder / "report.html"
    other = tmp_path / "new" / "page.html"
    assert write_report(folder, other) == other
    assert other.read_bytes() == (folder / "report.html").read_bytes()


def test_the_same_run_gives_the_same_bytes(make_run: Callable[..., Path]) -> None:
    one, other = make_run(name="one"), make_run(name="other")
    assert write_report(one).read_bytes() == write_report(other).read_bytes()


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="manifest"):
        write_report(tmp_path)


def test_the_headline_says_what_one_may_conclude(make_run: Callable[..., Path]) -> None:
    text = page_of(make_run()).text
    assert "alder is ahead of birch, birch-warm and cedar" in text
    assert "no significant difference between birch, birch-warm and cedar." in text


def test_every_section_is_there_with_its_numbers(make_run: Callable[..., Path]) -> None:
    page = page_of(make_run())
    ids = {attrs.get("id") for _, attrs in page.elements}
    assert {
        "standings", "rests-on", "win-rates", "full-marks", "judges", "self-preference",
        "home-advantage", "depth", "questions", "run",
    } <= ids  # fmt: skip
    for shown in (
        "0.810", "[0.740, 0.870]", "variant of birch", "swap consistency 0.19 is under 0.5",
        "+22.0 [+12.0, +32.0]", "−0.44", "no peer judged without an interest", "9 of 12",
        "3 of 9", "AVG_weight", "1 / 48", "2 near-duplicate questions were dropped", "ab" * 32,
    ):  # fmt: skip
        assert shown in page.text


def test_self_preference_is_read_by_its_sign(make_run: Callable[..., Path]) -> None:
    # Fixture: alder has +22 points by third parties, away from 0. birch's intervals hold 0. The
    # estimates beside the leading one have no reading of their own.
    text = page_of(make_run()).text
    assert text.count("in its own favour") == 1
    assert text.count("not significant") >= 1
    assert "against itself" not in text


def test_a_holm_p_above_the_level_is_not_called_a_preference(
    make_run: Callable[..., Path],
) -> None:
    def change(_: dict[str, Any], standings: dict[str, Any]) -> None:
        for estimate in standings["judges"][0]["self_preference"].values():
            estimate["p_holm"] = 0.2

    assert "in its own favour" not in page_of(make_run(change=change)).text


def test_every_state_that_the_run_counts_has_its_column(make_run: Callable[..., Path]) -> None:
    # Fixture: 60 verdicts planned, 48 there, so 12 not done; rankings know a state of their own.
    text = page_of(make_run()).text
    assert "verdicts 60 47 0 1 0 0 0 0 – 12" in text
    assert "rankings 12 9 – – – – 1 – 2 0" in text


def test_matrices_stand_in_the_order_of_the_standings(make_run: Callable[..., Path]) -> None:
    # birch-warm is third in the standings and last in the matrix of the file.
    text = page_of(make_run()).text
    # (30 + 50 + 60) / 3 and (25 + 50 + 65) / 3: each model's average (examiner paper, Figure 4).
    birch, warm = "birch 30 12 · 50 12 60 12 46.7", "birch-warm 25 12 50 12 · 65 12 46.7"
    assert f"{birch} {warm} cedar" in text


def test_intervals_are_drawn_for_every_agent(make_run: Callable[..., Path]) -> None:
    page = page_of(make_run())
    labels = [attrs.get("aria-label") or "" for tag, attrs in page.elements if tag == "svg"]
    assert "alder: 0.810, interval [0.740, 0.870]" in labels


def test_a_partial_run_is_marked_loudly(make_run: Callable[..., Path]) -> None:
    def change(manifest: dict[str, Any], standings: dict[str, Any]) -> None:
        manifest["status"] = standings["status"] = "partial"
        manifest["status_reason"] = "the budget of 3 USD was reached"

    page = page_of(make_run(change=change))
    banners = [attrs for _, attrs in page.elements if attrs.get("class") == "banner"]
    assert len(banners) == 1
    assert "This run did not finish: the budget of 3 USD was reached" in page.text
    assert "(partial)" in page.text


def test_a_complete_run_has_no_banner(make_run: Callable[..., Path]) -> None:
    page = page_of(make_run())
    assert all(attrs.get("class") != "banner" for _, attrs in page.elements)


def test_a_run_without_standings_can_still_be_read(make_run: Callable[..., Path]) -> None:
    folder = make_run()
    (folder / "standings.json").unlink()
    page = page_of(folder)
    assert "There are no standings, so nothing may be concluded." in page.text
    assert len(page.data["questions"]) == 13


def test_missing_estimates_and_matrices_are_dashes(make_run: Callable[..., Path]) -> None:
    def change(_: dict[str, Any], standings: dict[str, Any]) -> None:
        for row in standings["standings"]:
            row.update(full_mark=None, avg=None, avg_weight=None, win_rate=None)
        for judge in standings["judges"]:
            judge.update(self_preference=None, swap_consistency=None, intervals={})
        standings.update(depth=[], home_advantage=[], agreement=[])

    page = page_of(make_run(change=change))
    ids = {attrs.get("id") for _, attrs in page.elements}
    assert not {"self-preference", "home-advantage", "depth"} & ids
    assert "None" not in page.text
    assert "nan" not in page.text.lower().split()


def test_hostile_texts_are_shown_literally_everywhere(make_run: Callable[..., Path]) -> None:
    texts = {"question": HOSTILE, "answer": HOSTILE, "reply": HOSTILE, "domain": HOSTILE}

    def change(manifest: dict[str, Any], standings: dict[str, Any]) -> None:
        manifest["notes"] = [HOSTILE]
        manifest["exam"] = HOSTILE
        standings["judges"][0]["why_unfit"] = [HOSTILE]
        standings["voting"]["judges_left_out"][0]["why"] = HOSTILE

    names = (HOSTILE_NAME, "</script><b>", "cedar", "birch")
    page = page_of(make_run(agents=names, texts=texts, change=change))
    assert_inert(page)
    assert page.text.count(HOSTILE) >= 5
    assert HOSTILE_NAME in page.text
    assert HOSTILE_NAME in page.data["names"]
    question = page.data["questions"][0]
    assert question["text"] == question["domain"] == HOSTILE
    assert question["answers"][0][2] == HOSTILE
    label = next(attrs["aria-label"] for tag, attrs in page.elements if tag == "svg" and attrs.get(
        "aria-label"))  # fmt: skip
    assert label is not None
    assert label.startswith(HOSTILE_NAME)


@pytest.mark.shared
def test_the_published_injection_case_is_shown_and_never_run(
    make_run: Callable[..., Path],
) -> None:
    path = SHARED / "cases.jsonl"
    if not path.exists():
        pytest.skip("the folder of public data is absent")
    cases = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    case = next(case for case in cases if case["id"] == "pub-27")["input"]
    answer, name = case["answer"], case["model_name"]
    texts = dict.fromkeys(("question", "answer", "reply", "domain"), answer + "</script>")
    page = page_of(make_run(agents=(name, "birch", "cedar", "warm"), texts=texts))
    assert_inert(page)
    assert name in page.text
    assert answer + "</script>" in page.text
    assert page.data["questions"][0]["answers"][0][2] == answer + "</script>"


def test_lone_surrogates_in_model_text_do_not_stop_the_report(
    make_run: Callable[..., Path],
) -> None:
    page = page_of(make_run(texts={"answer": "half \ud83d a pair", "domain": "do\ud800main"}))
    assert page.data["questions"][0]["answers"][0][2] == "half \ud83d a pair"
    assert "do\ufffdmain" in page.text


def test_the_page_names_nothing_outside_itself(make_run: Callable[..., Path]) -> None:
    page = page_of(make_run())
    for _, attrs in page.elements:
        for key in ("src", "href", "action", "srcset", "data"):
            assert re.match(r"(#|data:,)", attrs.get(key) or "#")


def test_every_data_column_and_row_has_a_header(make_run: Callable[..., Path]) -> None:
    page = page_of(make_run())
    scopes = [attrs.get("scope") for tag, attrs in page.elements if tag == "th"]
    assert scopes
    assert set(scopes) == {"row", "col"}
    tables = sum(tag == "table" for tag, _ in page.elements)
    assert tables == sum(tag == "caption" for tag, _ in page.elements)


def test_a_big_run_shows_a_seeded_sample_and_says_so(make_run: Callable[..., Path]) -> None:
    folder = make_run(count=40)
    page = page_of(folder, question_limit=10)
    shown = [question["id"] for question in page.data["questions"]]
    assert 8 <= len(shown) <= 10
    assert f"Here are {len(shown)} of 41 questions, drawn at random" in page.text
    again = page_of(folder, question_limit=10)
    assert [question["id"] for question in again.data["questions"]] == shown


def test_another_seed_draws_another_sample(make_run: Callable[..., Path]) -> None:
    def change(manifest: dict[str, Any], _: dict[str, Any]) -> None:
        manifest["seed"] = 8

    one = page_of(make_run(count=40, name="one"), question_limit=10)
    other = page_of(make_run(count=40, name="other", change=change), question_limit=10)
    assert one.data["questions"] != other.data["questions"]


def test_captions_say_what_their_counts_are_of(make_run: Callable[..., Path]) -> None:
    def change(_: dict[str, Any], standings: dict[str, Any]) -> None:
        judges = [one["agent"] for one in standings["judges"]][:2]
        row = {"judges": judges, "kendall_tau": 0.5, "n": 36, "reason": None}
        standings["agreement"] = [{**row, "of": "marks"}, {**row, "of": "rankings", "n": 12}]

    text = page_of(make_run(change=change)).text
    assert "how many comparisons, a question by one judge being one" in text
    assert "on how many questions" not in text
    assert "36 answers" in text
    assert "12 questions" in text
