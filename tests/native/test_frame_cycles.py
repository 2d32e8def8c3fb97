"""No look keeps the program's frames: a frame that holds itself would, with the locals of every caller."""

from __future__ import annotations

import gc
import sys
import weakref

from phaseprof.native.places import read_places, resolve
from phaseprof.probes.locals import is_understood


class Thing:
    pass


def test_what_a_caller_holds_dies_after_the_first_look() -> None:
    def look(thing: Thing) -> None:
        is_understood.cache_clear()
        table = read_places()
        resolve(table.place[:2000].tolist())
        assert is_understood() or sys.version_info >= (3, 12)  # which asks for each variable

    gc.collect()
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        thing = Thing()
        seen = weakref.ref(thing)
        look(thing)
        del thing

        assert seen() is None
    finally:
        if was_collecting:
            gc.enable()
