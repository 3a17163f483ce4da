from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.examiners.questions.identifiers import follow_up_id, question_id, slug
from peerexam.records import Domain, Question

SAFE = re.compile(r"[A-Za-z0-9_-]{1,300}")


def test_plain_names_stay_readable() -> None:
    assert question_id("gpt-4o-mini", Domain("World History"), 7) == "q-gpt-4o-mini-World_History-7"


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "a\x00b\nc", "x" * 10_000, "", "物理", "..", "CON", "\ud800", "a/b"],
)
def test_hostile_names_give_safe_ids(name: str) -> None:
    assert SAFE.fullmatch(question_id(name, Domain(name), 1))
    parent = Question(name, "Why?", "x", author=name)
    assert SAFE.fullmatch(follow_up_id(parent, name + "2", name))


def test_names_that_look_alike_when_made_safe_stay_apart() -> None:
    names = ["a b", "a_b", "a/b", "a-b", "a.b", "A b", "a  b", " a b", "a b "]
    assert len({slug(name) for name in names}) == len(names)


def test_author_and_domain_cannot_be_confused() -> None:
    one = question_id("a-b", Domain("c"), 1)
    assert one != question_id("a", Domain("b-c"), 1)


def test_namesakes_in_different_places_of_the_taxonomy_stay_apart() -> None:
    one = question_id("a", Domain("Other", ("Arts", "Other")), 1)
    assert one != question_id("a", Domain("Other", ("Sports", "Other")), 1)


@given(
    st.tuples(st.text(max_size=50), st.text(max_size=50)),
    st.tuples(st.text(max_size=50), st.text(max_size=50)),
)
def test_different_names_give_different_ids(one: tuple[str, str], two: tuple[str, str]) -> None:
    ids = [question_id(author, Domain(domain), 1) for author, domain in (one, two)]
    assert all(SAFE.fullmatch(each) for each in ids)
    assert (ids[0] == ids[1]) == (one == two)


def test_follow_ups_of_one_question_stay_apart_by_examinee_examiner_and_round() -> None:
    parent = Question("q-a-x-1", "Why?", "x", author="a")
    second = Question("q-a-x-1-f2-bob", "How?", "x", author="a", round=2, examinee="bob")
    ids = {
        follow_up_id(parent, "a", "bob"),
        follow_up_id(parent, "a", "carol"),
        follow_up_id(parent, "d", "bob"),
        follow_up_id(second, "a", "bob"),
    }
    assert ids == {
        "q-a-x-1-f2-bob",
        "q-a-x-1-f2-carol",
        "q-a-x-1-f2-by_d-bob",
        "q-a-x-1-f2-bob-f3",
    }
