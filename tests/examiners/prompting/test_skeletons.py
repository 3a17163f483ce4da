"""Prompts put together from their template's words are what the template itself gives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import DictLoader
from jinja2.sandbox import SandboxedEnvironment

from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.prompting.rubric import Rubric
from peerexam.examiners.prompting.skeletons import filled, lets_through, skeleton

TEXTS = ("question", "answer", "response_1", "response_2", "key", "problem")


@given(
    st.sampled_from(["mark", "compare", "answer", "reask_mark", "reask_compare"]),
    st.booleans(),
    st.lists(
        st.tuples(st.booleans(), st.booleans(), st.tuples(*[st.text() for _ in TEXTS])),
        min_size=2,
        max_size=3,
    ),
)
def test_a_prompt_is_the_same_however_often_its_template_was_filled_in_before(
    name: str, chat: bool, asked: list[tuple[bool, bool, tuple[str, ...]]]
) -> None:
    """The reference is a library that renders for the first time, and jinja2 itself."""
    library, rubric = PromptLibrary(), Rubric()
    source = PromptLibrary()._environment.loader
    assert isinstance(source, DictLoader)
    environment = SandboxedEnvironment(loader=source, trim_blocks=True, lstrip_blocks=True)
    for ties, as_json, texts in asked:
        fields = {"rubric": rubric, "ties": ties, "as_json": as_json}
        fields |= dict(zip(TEXTS, texts, strict=True))
        expected = environment.get_template(name if chat else f"{name}.completion").render(**fields)
        rendered = library.render(name, chat, **fields)
        assert rendered.text == (expected.strip() if chat else expected)
        assert rendered == PromptLibrary().render(name, chat, **fields)


@pytest.mark.parametrize(
    "source",
    [
        "{{ text | upper }}",
        "{{ text ~ '!' }}",
        "{% if text %}{{ text }}{% endif %}",
        "{% for text in 'ab' %}{{ text }}{% endfor %}",
        "{% for other in 'ab' %}{{ text }}{% endfor %}",
        "{% set other = text %}{{ other }}",
        "{% set text = 'b' %}{{ text }}",
        "{% set other %}{{ text }}{% endset %}{{ other | length }}",
        "{% filter upper %}{{ text }}{% endfilter %}",
        "{% macro m() %}{{ text }}{% endmacro %}{{ m() | length }}",
        "{% block b %}{{ text }}{% endblock %}{{ self.b() | length }}",
        "{% if yes %}{% include 'a' %}{% endif %}",
        "{% extends 'a' %}",
    ],
)
def test_a_template_that_does_more_with_a_text_than_print_it_is_told(source: str) -> None:
    assert not lets_through(SandboxedEnvironment(), source, {"text"})


@given(st.text(), st.booleans())
def test_texts_stand_in_the_branches_that_the_switches_choose(text: str, yes: bool) -> None:
    environment = SandboxedEnvironment()
    source = "a{% if yes %} {{ text }}{{ text }}{% elif other %}b{% else %}{{ text }}c{% endif %}"
    fields = {"text": text, "yes": yes, "other": False}
    assert lets_through(environment, source, {"text"})
    bones = skeleton(environment.from_string(source), {**fields, "text": "something else"})
    assert filled(bones, fields) == environment.from_string(source).render(**fields)


def test_a_users_template_that_looks_into_a_text_is_gone_through_every_time(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("prompts") / "own.j2"
    path.write_text("{{ problem | upper }}{% if problem == 'b' %}!{% endif %}")
    library = PromptLibrary({"reask_mark": path})
    said = [library.render("reask_mark", True, problem=word).text for word in "abab"]
    assert said == ["A", "B!", "A", "B!"]
