"""The page of a question map, and the drawing on it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.report.figures.scatter import COLOURS, SIDE, scatter
from peerexam.report.question_bias import conclusion, map_page


def point(x: float, y: float, author: str = "a", domain: str = "d", text: str = "What?") -> Any:
    return {"x": x, "y": y, "set": "s", "id": "q", "author": author, "domain": domain, "text": text}


def estimate(value: float | None, low: float | None = None, high: float | None = None) -> Any:
    reason = None if value is not None else "too few"
    return {"value": value, "low": low, "high": high, "p": None, "n": 4, "reason": reason}


def body(value: float | None, low: float | None, p: float | None, points: list[Any]) -> Any:
    told = {
        "accuracy": estimate(value, low, 0.9),
        "chance": 0.5,
        "null": None if p is None else {"mean": 0.5, "low": 0.4, "high": 0.6, "p": p},
        "held_out": "domains",
        "questions": 40,
        "left_out": {"asked twice by one author": 2},
        "by_class": {"<b>ann</b>": estimate(value, low, 0.9)},
    }
    return {
        "name": "run",
        "encoder": "minilm",
        "seed": 0,
        "authors": told,
        "domains": told | {"accuracy": estimate(None)},
        "sets": [
            {
                "name": "run",
                "questions": 50,
                "drawn": 40,
                "domains": 4,
                "distance": estimate(0.8, 0.7, 0.9),
                "uniformity": estimate(-3.0, -3.1, -2.9),
            }
        ],
        "maps": [
            {"by": "authors", "reason": None if points else "too few points", "points": points}
        ],
    }


@pytest.mark.parametrize(
    ("value", "low", "p", "words"),
    [
        (0.75, 0.6, 0.005, "p = 0.005): the author is detectable from the questions."),
        (0.75, 0.4, 0.005, "they are too few to say whether that holds in other domains."),
        (0.55, 0.4, 0.4, "not significant: the author is not detectable."),
        # The interval is not the other side of the test: where they part, it is said.
        (
            0.58,
            0.52,
            0.08,
            "not significant against the permutation baseline, though the interval, which takes "
            "the trained classifier as given, excludes chance.",
        ),
        (0.75, 0.6, None, "chance is 50 %)."),
        (None, None, None, "is not known: too few."),
    ],
)
def test_the_headline_says_what_the_number_allows(
    value: float | None, low: float | None, p: float | None, words: str
) -> None:
    assert conclusion(body(value, low, p, [])).endswith(words)


def test_texts_are_shown_and_never_run() -> None:
    evil = '"><script>alert(1)</script>'
    page = map_page(body(0.7, 0.6, 0.01, [point(0, 0, text=evil), point(1, 2)])).decode()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "&lt;b&gt;ann&lt;/b&gt;" in page
    assert "script-src" in page
    assert "drawn of 50" in page


def test_without_points_the_page_says_why() -> None:
    assert "No map: too few points" in map_page(body(0.7, 0.6, 0.01, [])).decode()


def test_more_classes_than_colours_share_the_last() -> None:
    drawn = scatter([point(i, 0, author=f"a{i:02}") for i in range(12)], "author", "domain")
    assert [dot.kind for dot in drawn.dots] == [*range(COLOURS), *[COLOURS - 1] * 4]
    assert len(drawn.legend) == 12


def test_domains_are_named_in_the_middle_of_their_points() -> None:
    spots = [point(0, 0), point(2, 0), point(10, 4, domain="e" * 40)]
    one, other = scatter(spots, "author", "domain").places
    # By hand: x from 0 to 10 goes over 24 to 616, so 59.2 a unit; the median of 0 and 2 is 1.
    assert (one.text, one.x, one.count) == ("d", 83.2, 2)
    assert (other.x, len(other.text)) == (616.0, 28)


@given(
    st.lists(
        st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.sampled_from("abc")), min_size=1
    )
)
def test_every_point_lies_on_the_drawing(points: list[tuple[float, float, str]]) -> None:
    drawn = scatter([point(x, y, author=a) for x, y, a in points], "author", "domain")
    for dot in drawn.dots:
        found = re.match(r"M(-?[\d.]+) (-?[\d.]+)m", dot.path)
        assert found is not None
        assert all(0 <= float(one) <= SIDE for one in found.groups())
