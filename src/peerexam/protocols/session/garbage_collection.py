"""The garbage collector, told what a run is like.

With hundreds of calls in flight everything that belongs to one lives for as long as the call takes,
so by default the collector looks at it all, again and again, and finds nothing: that came to as
much processor time as all layers round a call. What a call makes is freed when it ends, without the
collector.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_YOUNG = 50_000
_running = 0
_before = (700, 10, 10)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for garbage rarely, and not among what was there before; as it was, afterwards.

    Runs may overlap, as in several threads: the last to end puts things back.
    """
    global _running, _before
    if not _running:
        _before = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(max(_YOUNG, _before[0]) if _before[0] else 0, *_before[1:])
    _running += 1
    try:
        yield
    finally:
        _running -= 1
        if not _running:
            gc.set_threshold(*_before)
            gc.unfreeze()
