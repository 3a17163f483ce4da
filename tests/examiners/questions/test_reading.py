from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.examiners.questions.reading import is_question, read_follow_up, read_questions
from peerexam.examiners.reading.parsing import Unreadable

TWO = ("Why is chalk white?", "Which acid dissolves chalk?")


@pytest.mark.parametrize(
    "reply",
    [
        "1. Why is chalk white?\n2. Which acid dissolves chalk?",
        "1) Why is chalk white?\n\n2) Which acid dissolves chalk?",
        "**1.** Why is chalk white?\n**2.** Which acid dissolves chalk?",
        "**1. Why is chalk white?**\n**2. Which acid dissolves chalk?**",
        "1: Why is chalk white?\n2: Which acid dissolves chalk?",
        "Q1: Why is chalk white?\nQ2: Which acid dissolves chalk?",
        "Question 1. Why is chalk white?\nQuestion 2. Which acid dissolves chalk?",
        "  - 1. Why is chalk white?\n  - 2. Which acid dissolves chalk?",
        "(1) Why is chalk white?\n(2) Which acid dissolves chalk?",
        "1. Why is\nchalk white?\n2. Which acid\ndissolves chalk?",
        "Of course! 2 questions on chalk:\n1. Why is chalk white?\n2. Which acid dissolves chalk?\n"
        "Good luck!",
        "1. Why is chalk white? Answer: lime.\n2. Which acid dissolves chalk?\nAnswer: most.",
        "1. Why is chalk white?\n2. Which acid dissolves chalk?\n\n"
        "Answers:\n1. What it is made of?",
        "- Why is chalk white?\n- Which acid dissolves chalk?",
        "Why is chalk white?\nWhich acid dissolves chalk?",
        '["Why is chalk white?", "Which acid dissolves chalk?"]',
        '{"questions": [{"question": "Why is chalk white?"}, "Which acid dissolves chalk?"]}',
        "<think>1. What about lime?</think>1. Why is chalk white?\n2. Which acid dissolves chalk?",
        '1. "Why is chalk white?"\n2. "Which acid dissolves chalk?"',
    ],
)
def test_lists_of_questions_are_read_without_what_surrounds_them(reply: str) -> None:
    assert read_questions(reply) == TWO


def test_numbers_inside_a_question_open_no_item() -> None:
    reply = "1. What changed between part 1. and part 2. of the code?\n2. Is 3.5 more than 3. here?"
    assert read_questions(reply) == (
        "What changed between part 1. and part 2. of the code?",
        "Is 3.5 more than 3. here?",
    )


def test_a_line_that_begins_with_a_decimal_number_opens_no_item() -> None:
    assert read_questions("1. Which is larger,\n3.5 or 3.45, and why?") == (
        "Which is larger, 3.5 or 3.45, and why?",
    )


def test_the_cut_to_the_wanted_number_comes_after_the_chatter_is_gone() -> None:
    reply = "Here you are:\n1. Notes\n2. Why is chalk white?\n3. Which acid dissolves chalk?"
    assert read_questions(reply, 2) == TWO


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I cannot write questions.",
        "Which domain did you mean?",
        "1. Paris\n2. Rome",
        "1.\n2.",
        "[]",
        "[1, 2]",
        '{"a": 1}',
        "<think>1. Why is chalk white?",
    ],
)
def test_a_reply_without_a_list_of_questions_is_unreadable(reply: str) -> None:
    assert isinstance(read_questions(reply), Unreadable)


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Explain how a lever works.", True),
        ("In what year did the war end", True),
        ("日本の首都はどこですか", True),
        ("What is pH?", True),
        ("Soil chemistry", False),
        ("The capital of France is Paris.", False),
        ("????????????", False),
        ("What?", False),
    ],
)
def test_questions_are_told_from_other_lines(text: str, asks: bool) -> None:
    assert is_question(text) is asks


@pytest.mark.parametrize(
    "reply",
    [
        "follow question: Why does lime harden?",
        "Follow-up question: Why does lime harden?",
        "**Follow-up Question:** [Why does lime harden?]",
        "Sure!\n\nFollowing question:\nWhy does lime harden?",
        "Why does lime harden?",
        "follow question: Why does lime harden? Answer: it takes up carbon dioxide.",
    ],
)
def test_a_follow_up_is_read_in_the_forms_that_models_use(reply: str) -> None:
    assert read_follow_up(reply) == "Why does lime harden?"


@pytest.mark.parametrize(
    "reply",
    ["", "follow question:", "follow question: none", "It depends.\nDoes it?", "<think>Why"],
)
def test_a_reply_without_a_follow_up_is_unreadable(reply: str) -> None:
    assert isinstance(read_follow_up(reply), Unreadable)


WORDS = st.lists(
    st.sampled_from(["soil", "2.", "acid", "(3)", "pH", "1990:", "fig.", "rate"]), min_size=2
).map(lambda words: "Why does " + " ".join(words) + "?")
MARKERS = st.sampled_from(["{}. ", "{}) ", "**{}.** ", "{}: ", "Q{}: ", "  {}. ", "- {}. "])


@given(st.lists(WORDS, min_size=1, max_size=8), MARKERS)
def test_any_numbered_list_is_read_back_whole(questions: list[str], marker: str) -> None:
    reply = "\n".join(marker.format(at) + text for at, text in enumerate(questions, 1))
    assert read_questions(f"Here they are:\n\n{reply}\n\nGood luck!") == tuple(questions)


@given(st.text())
def test_reading_questions_never_raises(reply: str) -> None:
    found = read_questions(reply)
    assert isinstance(found, Unreadable) or found
    assert isinstance(read_follow_up(reply), str | Unreadable)


CODE = "```python\ndef f(n):\n    # 2. double it\n    return n * 2\n```"


@pytest.mark.parametrize(
    ("reply", "questions"),
    [
        (
            f"1. What does this return for n=3?\n{CODE}\n2. Given the code\n{CODE}\nwhat is f(4)?",
            (
                f"What does this return for n=3?\n{CODE}",
                f"Given the code\n{CODE}\nwhat is f(4)?",
            ),
        ),
        (
            f"1. Consider the function below:\n\n{CODE}\n\nWhat is f(1)?\n\n2. Why is it so?",
            (f"Consider the function below:\n{CODE}\nWhat is f(1)?", "Why is it so?"),
        ),
        (
            "1. What is shown?\n   ~~~\n   a\n     b\n   ~~~",
            ("What is shown?\n~~~\na\n  b\n~~~",),
        ),
        (f"1. What is shown?\n{CODE}\n\nGood luck!", (f"What is shown?\n{CODE}",)),
        (
            "1. What is 7 * 8 and __init__ in `a * b * c`?",
            ("What is 7 * 8 and __init__ in `a * b * c`?",),
        ),
        ("1. Why is that?\n2. What is shown?\n```\ncut", ("Why is that?",)),
    ],
)
def test_code_belongs_to_its_question_as_it_stands(reply: str, questions: tuple[str, ...]) -> None:
    assert read_questions(reply) == questions


@pytest.mark.parametrize(
    "questions",
    [
        (
            "Erkläre die Entstehung von Neutronensternen.",
            "Vergleiche zwei Deutungen der Quantenmechanik.",
            "Nenne drei Ursachen der Französischen Revolution.",
        ),
        ("Décris le cycle de l'eau.", "Compare les deux théories."),
        ("Explica la fotosíntesis en las plantas.", "Nombra tres ríos de España."),
        ("Spiegaci le cause della guerra.", "Opisz budowę komórki roślinnej."),
        ("Wyjaśnij, dlaczego niebo jest niebieskie", "Hãy giải thích vì sao trời xanh."),
        ("光合成について説明してください。", "三つの原因を挙げなさい。"),
    ],
)
def test_the_place_in_the_list_makes_a_question_in_any_language(questions: tuple[str, ...]) -> None:
    reply = "\n".join(f"{n}. {text}" for n, text in enumerate(questions, 1))
    assert read_questions(reply) == questions
    answers = "\n".join(f"{n}. Das ist die Antwort darauf." for n in range(1, 4))
    assert read_questions(f"{reply}\n\nHier die Musterantworten:\n{answers}") == questions


def test_a_follow_up_is_a_question_by_its_label_in_any_language() -> None:
    found = read_follow_up("follow question: Erkläre, warum Kalk aushärtet.")
    assert found == "Erkläre, warum Kalk aushärtet."


def test_an_item_goes_on_until_something_is_asked() -> None:
    story = "A train leaves at 5. It goes at 60 km/h."
    assert read_questions(f"1. {story}\nHow far does it go?\n2. How fast is sound?") == (
        f"{story} How far does it go?",
        "How fast is sound?",
    )
    assert read_questions(f"1. {story}\nCalculate how far it goes in 2 hours.") == (
        f"{story} Calculate how far it goes in 2 hours.",
    )
    quoted = "1. Consider the line:\n\n> To be or not to be\n\nWho wrote it?\n2. How fast is sound?"
    assert read_questions(quoted) == (
        "Consider the line: > To be or not to be Who wrote it?",
        "How fast is sound?",
    )


def test_what_follows_the_last_item_after_a_blank_line_is_no_part_of_it() -> None:
    reply = "1. Explain how plants make sugar.\n\nWould you like more of these?"
    assert read_questions(reply) == ("Explain how plants make sugar.",)
