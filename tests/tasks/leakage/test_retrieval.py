from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.tasks.leakage.corpora import Passage
from peerexam.tasks.leakage.retrieval import Found, Search
from peerexam.tasks.metrics.overlap import Compared, words_of

bm25s: Any = pytest.importorskip("bm25s")
pytest.importorskip("rouge_score")

LETTERS = st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=12)


def _search(
    questions: list[list[str]], texts: list[str], hits: int = 10, shard: int = 1000
) -> list[Found]:
    search = Search(questions, hits, shard)
    for line, text in enumerate(texts, start=1):
        search.add(Passage(text, Path("c.txt"), line))
    return search.finish()


@given(
    st.lists(LETTERS, min_size=1, max_size=4),
    st.lists(LETTERS, min_size=1, max_size=25),
    st.integers(1, 30),
)
def test_shards_find_what_one_index_of_bm25s_over_everything_finds(
    questions: list[list[str]], documents: list[list[str]], shard: int
) -> None:
    # The reference is bm25s itself, unsharded, with its own scores.
    index = bm25s.BM25(method="lucene")
    index.index(documents, show_progress=False)
    texts = [" ".join(words) for words in documents]
    found = _search(questions, texts, hits=len(documents), shard=shard)
    for question, one in zip(questions, found, strict=True):
        known = [word for word in question if any(word in words for words in documents)]
        scores = index.get_scores(known) if known else [0.0] * len(documents)
        places = [hit.line - 1 for hit in one.hits]
        assert set(places) == {at for at, score in enumerate(scores) if score > 0}
        ordered = [float(scores[at]) for at in places]
        assert ordered == pytest.approx(sorted(ordered, reverse=True), abs=1e-4)


@given(st.lists(LETTERS, min_size=1, max_size=4), st.lists(LETTERS, min_size=1, max_size=15))
def test_a_question_is_contained_where_its_words_stand_in_a_row(
    questions: list[list[str]], documents: list[list[str]]
) -> None:
    found = _search(questions, [" ".join(words) for words in documents], hits=3, shard=4)
    for question, one in zip(questions, found, strict=True):
        size = len(question)
        holders = [
            line
            for line, words in enumerate(documents, start=1)
            if any(words[at : at + size] == question for at in range(len(words) - size + 1))
        ]
        assert one.contained == len(holders)
        assert (one.contained_at or (None, None))[1] == (holders[0] if holders else None)


@given(LETTERS, st.lists(LETTERS, min_size=1, max_size=15))
def test_the_nearest_is_the_nearest_of_all_where_every_document_is_a_hit(
    question: list[str], documents: list[list[str]]
) -> None:
    (found,) = _search([question], [" ".join(words) for words in documents], hits=15, shard=4)
    best = max(Compared(question).rouge_l(words) for words in documents)
    assert (found.nearest.rouge_l if found.nearest else 0.0) == best


def test_the_first_hit_need_not_be_the_nearest() -> None:
    texts = ["quark quark quark", "what is a in it", "a b c d e f", "g h i j k l"]
    (found,) = _search([words_of("What is a quark?")], texts)
    assert found.nearest is not None
    # By hand: "what is a" of 4 and 5 words, F 2·(3/4)(3/5)/(3/4 + 3/5); "quark" of 4 and 3.
    assert found.nearest.line == 2
    assert found.nearest.rouge_l == pytest.approx(2 / 3)
    by_line = {hit.line: hit.rouge_l for hit in found.hits}
    assert by_line[1] == pytest.approx(2 / 7)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("光の速さは？", "真空での光の速さは毎秒約三十万キロメートル。"),
        ("Почему небо голубое?", "Почему небо голубое, а закат красный?"),
        ("आकाश नीला क्यों है?", "बताओ, आकाश नीला क्यों है"),
        ("Is „Straße“ a word?", "is STRASSE a word"),
    ],
)
def test_questions_in_any_script_are_found_word_for_word(question: str, text: str) -> None:
    (found,) = _search([words_of(question)], ["something else", text])
    assert (found.contained, found.contained_at) == (1, (Path("c.txt"), 2))


def test_a_question_without_words_and_a_corpus_without_texts_find_nothing() -> None:
    wordless, other = _search([[], ["a"]], ["b c", "?!"])
    assert (wordless, other) == (Found(), Found())
    assert _search([["a"]], []) == [Found()]
