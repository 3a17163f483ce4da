"""FunQL programs; figures of the public data from its README (recomputed there)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.tasks.consistency.funql import (
    FunqlError,
    Term,
    body,
    canonical,
    holds,
    parse_funql,
    read_program,
    same_program,
)

CONSTANTS = st.one_of(
    st.sampled_from(["all", "_", "0"]).map(Term),
    st.text("abcz .-", min_size=1, max_size=12)
    .map(str.strip)
    .filter(bool)
    .map(lambda name: Term(name, quoted=True)),
)
TERMS = st.recursive(
    CONSTANTS,
    lambda inner: st.builds(
        Term,
        st.sampled_from(["state", "loc_1", "intersection", "exclude", "answer"]),
        st.lists(inner, min_size=1, max_size=3).map(tuple),
    ),
    max_leaves=12,
)


@given(TERMS)
def test_a_program_that_is_written_and_parsed_is_the_same(term: Term) -> None:
    assert parse_funql(str(term)) == term
    spaced = str(term).replace("(", " ( ").replace(")", " ) ").replace(",", " , ")
    assert parse_funql(spaced) == term
    assert canonical(canonical(term)) == canonical(term)


@given(TERMS, TERMS)
def test_a_program_holds_its_parts_and_none_that_is_larger(one: Term, other: Term) -> None:
    assert all(holds(one, part) for part in one.terms())
    wider = Term("answer", (one, other))
    assert holds(wider, one)
    assert holds(wider, other)
    assert not holds(one, wider)


def test_the_order_of_an_intersection_makes_no_difference() -> None:
    one = parse_funql("answer(intersection(state(all), loc_1(city(all))))")
    other = parse_funql("answer(intersection(loc_1(city(all)), state(all)))")
    assert same_program(one, other)
    assert holds(one, parse_funql("intersection(loc_1(city(all)), state(all))"))
    assert not same_program(parse_funql("exclude(a, b(c))"), parse_funql("exclude(b(c), a)"))


def test_quotes_and_case_make_no_difference_to_a_constant() -> None:
    written = ["stateid('texas')", 'stateid("Texas")', "StateID( texas )", "stateid(‘texas’)"]
    assert len({parse_funql(text) for text in written}) == 1
    assert str(parse_funql("cityid( 'new york' ,_ )")) == "cityid('new york', _)"


@pytest.mark.parametrize(
    "text", ["", "answer(", "answer(state(all)", "answer()", "state(all))", "a b", "f(,a)", "("]
)
def test_what_is_no_program_is_refused(text: str) -> None:
    with pytest.raises(FunqlError):
        parse_funql(text)


def test_a_program_nested_too_deep_is_refused_and_not_a_crash() -> None:
    with pytest.raises(FunqlError, match="deep"):
        parse_funql("a(" * 5000 + "b" + ")" * 5000)


@pytest.mark.parametrize(
    "reply",
    [
        "answer(state(all))",
        "Program: answer ( state ( all ) ) .",
        "Here it is:\n```\nanswer(state(all))\n```",
        "`answer(state(all))`",
        "answer(state(all))\nQuestion: which rivers are long\nProgram: answer(river(all))",
    ],
)
def test_the_program_of_a_reply_is_read(reply: str) -> None:
    assert read_program(reply) == parse_funql("answer(state(all))")


@pytest.mark.parametrize("reply", ["texas", "I do not know.", "answer(state(all)", "all"])
def test_a_word_alone_is_no_program(reply: str) -> None:
    assert isinstance(read_program(reply), str)


def test_answer_round_a_program_is_taken_off_once() -> None:
    assert body(parse_funql("answer(state(all))")) == parse_funql("state(all)")
    assert body(parse_funql("state(all)")) == parse_funql("state(all)")


SHARED = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "geoquery"


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not there")
def test_the_public_programs_have_the_figures_of_their_readme() -> None:
    lines = (SHARED / "geoquery.funql").read_text().splitlines()
    programs = [parse_funql(line) for line in lines]
    assert [str(program) for program in programs] == lines
    assert len(programs) == 880
    assert len({term.name for program in programs for term in program.operators()}) == 50
    depths = sorted(program.depth for program in programs)
    assert (depths[0], depths[-2], depths[-1]) == (3, 11, 17)
    subtrees = [len(list(program.operators())) for program in programs]
    assert sum(subtrees) == 4285
    assert round(sum(subtrees) / 880, 3) == 4.869
    assert sum(subtrees) - 880 == 3405
    assert len(set(programs)) == 644
