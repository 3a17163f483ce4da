import math
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from peerexam.agents.hf.generation import (  # noqa: E402  (it needs torch)
    Drawing,
    Generated,
    Row,
    Writing,
    generate,
    padded,
    within,
)

logits = st.lists(st.floats(-20, 20), min_size=1, max_size=40)


@given(logits, st.floats(0.01, 0.999))
def test_a_nucleus_is_the_smallest_set_of_likeliest_tokens_that_reaches_p(
    values: list[float], top_p: float
) -> None:
    kept = within(torch.tensor(values, dtype=torch.float64), top_p, 0)
    inside = [index for index, value in enumerate(kept.tolist()) if math.isfinite(value)]
    # By hand: weights in pure Python.
    weights = [math.exp(value - max(values)) for value in values]
    probabilities = [weight / sum(weights) for weight in weights]
    chosen = [probabilities[index] for index in inside]
    outside = [one for index, one in enumerate(probabilities) if index not in inside]
    assert inside
    assert sum(chosen) >= top_p - 1e-9
    assert sum(chosen) - min(chosen) < top_p + 1e-9
    assert not outside or max(outside) <= min(chosen) + 1e-12


@given(logits, st.integers(1, 50))
def test_top_k_keeps_the_k_likeliest(values: list[float], top_k: int) -> None:
    kept = within(torch.tensor(values, dtype=torch.float64), 1.0, top_k).tolist()
    inside = [value for value in kept if math.isfinite(value)]
    assert sorted(inside, reverse=True) == sorted(values, reverse=True)[:top_k]


def test_a_nucleus_wider_than_the_first_look_is_found_all_the_same() -> None:
    flat = torch.zeros(5000)
    assert int(within(flat, 0.9, 0).isfinite().sum()) == pytest.approx(4500, abs=1)


def test_rows_are_filled_up_on_the_side_that_is_asked_for() -> None:
    tokens, mask = padded([[5, 6, 7], [8]], 0, left=True)
    assert tokens.tolist() == [[5, 6, 7], [0, 0, 8]]
    assert mask.tolist() == [[1, 1, 1], [0, 0, 1]]
    tokens, mask = padded([[5, 6, 7], [8]], 0, left=False)
    assert tokens.tolist() == [[5, 6, 7], [8, 0, 0]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]


def loaded(folder: Path) -> Any:
    from peerexam.agents.hf.loading import LoadSettings, load
    from peerexam.agents.hf.source import find_source

    return load(find_source(str(folder), None), LoadSettings("cpu", "float32"))


def write(model: Any, writings: list[Writing]) -> list[Generated]:
    written: dict[int, Generated] = {}

    def row(index: int, writing: Writing) -> Row:
        def fail(error: Exception) -> None:
            raise error

        return Row(writing, threading.Event(), lambda done: written.update({index: done}), fail)

    generate(model, [row(index, writing) for index, writing in enumerate(writings)])
    return [written[index] for index in range(len(writings))]


@pytest.mark.parametrize(
    ("temperature", "top_p", "top_k"),
    [
        (0.7, 0.8, 0),
        pytest.param(1.0, 1.0, 0, marks=pytest.mark.slow),
        pytest.param(2, 1, 4, marks=pytest.mark.slow),
    ],
)
def test_tokens_are_drawn_as_often_as_the_model_says(
    base_model: Path, temperature: float, top_p: float, top_k: int
) -> None:
    model = loaded(base_model)
    prompt = model.tokenizer.tokenize("The sea is", start=True, control=False)
    with torch.inference_mode():
        last = model.model(torch.tensor([prompt])).logits[0, -1].double() / temperature
    expected = within(last, top_p, top_k).softmax(-1)
    draws = 1500
    drawn = write(
        model,
        [
            Writing(prompt, 1, Drawing(temperature, top_p, top_k, seed), wants_logprobs=True)
            for seed in range(draws)
        ],
    )
    # The end of a text leaves no token behind; tokens that are parts of characters look alike.
    spell = model.tokenizer.spell
    counts = Counter(one.logprobs[0].token if one.logprobs else spell(2) for one in drawn)
    shares: dict[str, float] = {}
    for token, probability in enumerate(expected.tolist()):
        shares[spell(token)] = shares.get(spell(token), 0.0) + probability
    assert set(counts) <= {text for text, share in shares.items() if share}
    for text, share in shares.items():
        # Five standard errors of a binomial share, and one draw.
        slack = 5 * math.sqrt(share * (1 - share) / draws) + 1 / draws
        assert counts[text] / draws == pytest.approx(share, abs=slack)


def test_a_row_that_ends_is_handed_on_while_the_others_go_on(base_model: Path) -> None:
    model = loaded(base_model)
    prompt = model.tokenizer.tokenize("The sea is", start=True, control=False)
    order: list[int] = []

    def row(tokens: int) -> Row:
        return Row(
            Writing(prompt, tokens), threading.Event(), lambda done: order.append(tokens), print
        )

    generate(model, [row(9), row(2), row(5)])
    assert order == [2, 5, 9]


def test_a_row_that_nobody_waits_for_ends_its_batch_early(base_model: Path) -> None:
    model = loaded(base_model)
    prompt = model.tokenizer.tokenize("The sea is", start=True, control=False)
    nobody = threading.Event()
    finished: list[Generated] = []
    leaver = Row(Writing(prompt, 200), nobody, finished.append, print)

    def leave(done: Generated) -> None:
        finished.append(done)
        nobody.set()

    generate(model, [leaver, Row(Writing(prompt, 2), threading.Event(), leave, print)])
    assert [done.tokens for done in finished] == [2]
    assert len(leaver.tokens) < 5
