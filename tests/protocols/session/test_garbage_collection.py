from __future__ import annotations

import gc

from peerexam.protocols.session.garbage_collection import rare_collections


def test_the_collector_is_as_it_was_afterwards_even_where_runs_overlap() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    first, second = rare_collections(), rare_collections()
    first.__enter__()
    assert gc.get_threshold()[0] > before[0]
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold()[0] > before[0], "the second goes on"
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before
    # Python 3.12 begins with some objects frozen, and thawing knows no part.
    assert gc.get_freeze_count() in (0, frozen)


def test_a_collector_that_is_off_stays_off() -> None:
    before = gc.get_threshold()
    gc.set_threshold(0, *before[1:])
    try:
        with rare_collections():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)
