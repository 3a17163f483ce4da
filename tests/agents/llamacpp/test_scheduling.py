import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerexam.agents.llamacpp.scheduling import Kind, Turns


class Watch:
    """Jobs that note which kinds run beside each other."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: list[Kind] = []
        self.mixed = False
        self.most = 0
        self.order: list[str] = []

    def job(self, kind: Kind, name: str) -> str:
        with self.lock:
            self.running.append(kind)
            self.order.append(name)
            self.mixed |= len(set(self.running)) > 1
            self.most = max(self.most, len(self.running))
        time.sleep(0.001)
        with self.lock:
            self.running.remove(kind)
        return name


@pytest.fixture
def single() -> Iterator[Turns]:
    turns = Turns(1)
    yield turns
    turns.close()


@settings(max_examples=20)
@given(
    st.lists(st.sampled_from(["generate", "score"]), max_size=24),
    st.integers(1, 4),
    st.sampled_from([0.0, 60.0]),
)
def test_every_job_is_done_and_kinds_never_mix(
    kinds: list[Kind], slots: int, seconds: float
) -> None:
    watch = Watch()
    turns = Turns(slots, seconds)
    futures = [
        turns.submit(kind, lambda kind=kind, n=n: watch.job(kind, str(n)))  # type: ignore[misc]
        for n, kind in enumerate(kinds)
    ]
    assert [future.result(timeout=20) for future in futures] == [str(n) for n in range(len(kinds))]
    turns.close()
    assert not watch.mixed
    assert watch.most <= slots


def test_a_kind_goes_on_until_its_turn_is_over_and_the_other_waits() -> None:
    now = [0.0]
    turns = Turns(1, turn=10.0, clock=lambda: now[0])
    gate, watch = threading.Event(), Watch()
    first = turns.submit("generate", lambda: gate.wait(20))
    turns.submit("score", lambda: watch.job("score", "score"))
    turns.submit("generate", lambda: (watch.job("generate", "second"), now.__setitem__(0, 11.0)))
    last = turns.submit("generate", lambda: watch.job("generate", "third"))
    gate.set()
    assert first.result(timeout=20)
    last.result(timeout=20)
    turns.close()
    assert watch.order == ["second", "score", "third"]


def test_a_failing_job_raises_for_its_own_caller_alone(single: Turns) -> None:
    bad = single.submit("score", lambda: 1 // 0)
    good = single.submit("generate", lambda: "good")
    with pytest.raises(ZeroDivisionError):
        bad.result(timeout=20)
    assert good.result(timeout=20) == "good"


def test_a_cancelled_job_is_not_begun() -> None:
    turns = Turns(1)
    gate, watch = threading.Event(), Watch()
    turns.submit("generate", lambda: gate.wait(20))
    cancelled = turns.submit("generate", lambda: watch.job("generate", "cancelled"))
    kept = turns.submit("generate", lambda: watch.job("generate", "kept"))
    assert cancelled.cancel()
    gate.set()
    assert kept.result(timeout=20) == "kept"
    turns.close()
    assert watch.order == ["kept"]


def test_closing_drops_what_has_not_begun() -> None:
    turns = Turns(1)
    gate = threading.Event()
    running = turns.submit("generate", lambda: gate.wait(20))
    waiting = turns.submit("score", lambda: None)
    closer = threading.Thread(target=turns.close)
    closer.start()
    gate.set()
    closer.join(timeout=20)
    assert running.result()
    assert waiting.cancelled() or waiting.done()
