from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from peerexam.examiners.questions.duplicate_index import DuplicateIndex, repetitions
from peerexam.examiners.questions.duplicates import near_duplicate

# Few words, so that whole questions, parts and triples come again and again.
WORD = st.sampled_from(["why", "is", "the", "sky", "sea", "blue", "7", "8", "今", "C++"])
QUESTION = st.lists(WORD, max_size=14).map(" ".join)
THRESHOLD = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 1.0])


def by_brute_force(texts: list[str], threshold: float) -> list[int | None]:
    found = []
    for at, text in enumerate(texts):
        repeated = near_duplicate(text, texts[:at], threshold)
        found.append(None if repeated is None else texts.index(repeated))
    return found


@given(st.lists(QUESTION, max_size=25), THRESHOLD)
@example(["a b c d e", "a b c d e f g h i j k l m n o p"], 0.8)  # contained in a longer one
@example(["a b c d e f g h i j k l m n o p", "a b c d e"], 0.8)  # and the other way round
@example(["", "", "?"], 0.8)
def test_the_index_finds_what_comparing_with_every_earlier_question_finds(
    texts: list[str], threshold: float
) -> None:
    assert list(repetitions(texts, threshold)) == by_brute_force(texts, threshold)


@given(st.lists(QUESTION, min_size=1, max_size=12), st.data())
def test_a_question_with_some_words_changed_is_found_as_by_brute_force(
    texts: list[str], data: st.DataObject
) -> None:
    changed = []
    for text in texts:
        words = text.split()
        for _ in range(data.draw(st.integers(0, 2))):
            if words:
                words[data.draw(st.integers(0, len(words) - 1))] = data.draw(WORD)
        changed.append(" ".join(words))
    threshold = data.draw(THRESHOLD)
    assert list(repetitions([*texts, *changed], threshold)) == by_brute_force(
        [*texts, *changed], threshold
    )


def test_questions_are_compared_with_what_was_added_alone() -> None:
    index = DuplicateIndex(0.8)
    assert index.first_like("Why is chalk white?") is None
    assert index.add("Why is chalk white?") == 0
    assert index.first_like("why is CHALK white") == 0
    assert index.first_like("Which acid dissolves chalk?") is None
    assert len(index) == 1


def test_thousands_of_questions_that_all_open_alike_are_told_apart() -> None:
    texts = [
        f"What is the main reason why the {a} of the {b} depends on its {c}?"
        for a in map("alpha{:02}".format, range(20))
        for b in map("beta{:02}".format, range(20, 40))
        for c in map("gamma{:02}".format, range(40, 45))
    ]
    # Each names other numbers, so that no two of them are one; asked again, each is.
    assert list(repetitions([*texts, *texts[:50]], 0.8)) == [None] * len(texts) + list(range(50))
