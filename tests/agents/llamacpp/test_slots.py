import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.llamacpp.slots import Slots, shared_length

tokens = st.lists(st.integers(0, 2), max_size=6)


@given(tokens, tokens)
def test_the_shared_beginning_is_shared_and_no_longer(left: list[int], right: list[int]) -> None:
    n = shared_length(left, right)
    assert left[:n] == right[:n]
    assert n == min(len(left), len(right)) or left[n] != right[n]


def test_a_request_goes_where_its_beginning_lies() -> None:
    slots = Slots(3)
    with slots.take([1, 2, 3]) as first, slots.take([7, 8]) as second:
        assert first != second
    with slots.take([7, 8, 9]) as again:
        assert again == second
    with slots.take([1, 2]) as again:
        assert again == first


def test_an_unknown_beginning_takes_the_slot_used_longest_ago() -> None:
    slots = Slots(2)
    with slots.take([1]) as first:
        pass
    with slots.take([2]) as second:
        pass
    assert second != first
    with slots.take([3]) as third:
        assert third == first


def test_a_slot_is_never_given_twice() -> None:
    slots = Slots(1)
    with (
        slots.take([1]),
        pytest.raises(RuntimeError, match="more requests"),
        slots.take([1]),
    ):
        pass


def test_a_slot_comes_back_after_a_failure() -> None:
    slots = Slots(1)
    with pytest.raises(ZeroDivisionError), slots.take([1]):
        raise ZeroDivisionError
    with slots.take([1]) as slot:
        assert slot == 0
