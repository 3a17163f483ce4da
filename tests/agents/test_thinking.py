from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.hosted.openai.reply import read_reply
from peerexam.agents.thinking import split_thinking


@pytest.mark.parametrize(
    ("reply", "thinking", "text"),
    [
        ("Four.", None, "Four."),
        ("<think>a</think>Four.", "a", "Four."),
        ("\n<think>\na\n</think>\n\n Four.", "a", "Four."),
        ("<thinking>a</thinking>Four.", "a", "Four."),
        ("[THINK]a[/THINK]Four.", "a", "Four."),
        ("<think>a</think><think>b</think>Four.", "a\n\nb", "Four."),
        ("a</think>\nFour.", "a", "Four."),
        ("The tag <think> opens and </think> closes.", None, None),
        ("  kept as it came ", None, None),
    ],
)
def test_leading_blocks_are_thinking_and_the_rest_is_the_answer(
    reply: str, thinking: str | None, text: str | None
) -> None:
    found = split_thinking(reply)
    assert found == (thinking, reply if text is None else text, False)


def test_a_block_that_is_never_closed_leaves_no_answer() -> None:
    assert split_thinking("<think>Draft: Response 1. Let me") == (
        "Draft: Response 1. Let me",
        "",
        True,
    )


@given(st.text(), st.text())
def test_what_stands_in_a_closed_block_never_reaches_the_answer(thought: str, answer: str) -> None:
    thought = thought.replace("</", "").replace("<think", "")
    found = split_thinking(f"<think>{thought}</think>A: {answer}")
    assert found.text == f"A: {answer}"
    assert found.thinking == thought.strip()


@given(st.text().filter(lambda text: "think" not in text.lower() and "reasoning" not in text))
def test_a_reply_without_thinking_is_not_touched(text: str) -> None:
    assert split_thinking(text) == (None, text, False)


@pytest.mark.parametrize(
    "text",
    [
        "Write this:\n```html\n</think>\n```\nThen save.",
        "~~~\n</think>\n~~~\nand [/THINK] inside `</think>`? No.".replace(" [/THINK]", ""),
        "Close it with `</think>`.",
        "<b>bold</b> and <details>more</details>",
    ],
)
def test_marks_in_code_and_quotes_are_the_answers_own(text: str) -> None:
    assert split_thinking(text) == (None, text, False)


def test_a_lone_closing_mark_is_text_where_the_thinking_came_apart() -> None:
    text = "Close it with </think> and save."
    assert split_thinking(text, apart=True) == (None, text, False)
    body = {"message": {"content": text, "reasoning_content": "hm"}, "finish_reason": "stop"}
    assert read_reply({"choices": [body]}, 0.0).text == text


@pytest.mark.parametrize(
    "reply",
    [
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>"
        "Four.<|return|>",
        "analysisAssume 2.assistantfinalFour.",
        "<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>Four.<|END_RESPONSE|>",
        "<seed:think>a</seed:think>Four.",
        "◁think▷a◁/think▷Four.",
        "<|begin_of_thought|>a<|end_of_thought|><|begin_of_solution|>Four.<|end_of_solution|>",
        "<think>the tag `</think>` ends it</think>Four.",
    ],
)
def test_thinking_of_every_markup_is_taken_off_an_answer(reply: str) -> None:
    found = split_thinking(reply)
    assert found.text == "Four."
    assert found.thinking
