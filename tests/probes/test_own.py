from __future__ import annotations

import gc
import mmap
import sys
import weakref

import numpy as np
import pytest

from phaseprof.native.extension import extension, passes_in_python
from phaseprof.probes import own


class Root:
    """Stands for a profiler: its module is renamed below, as a class of ours would have it."""


class Users:
    pass


Root.__module__ = "phaseprof.live.root"


def test_types_of_the_package_are_own_and_lookalikes_are_not():
    lookalike = type("X", (), {"__module__": "phaseprofessor"})
    named = type("phaseprof", (), {"__module__": "builtins"})

    assert own.is_own_type(Root)
    assert not own.is_own_type(Users)
    assert not own.is_own_type(lookalike)
    assert not own.is_own_type(named)


def test_containers_and_buffers_below_a_root_are_own():
    root = Root()
    root.series = {"rss": [[1, 2], np.zeros(3)]}
    own.register(root)

    ids = own.own_ids()

    assert {id(root), id(root.series), id(root.series["rss"]), id(root.series["rss"][1])} <= ids


def test_what_lies_behind_a_users_object_is_not_own():
    root, users = Root(), Users()
    users.items = [1, 2, 3]
    root.watched = [users]
    own.register(root)

    assert id(users.items) not in own.own_ids()
    assert id(users) not in own.own_ids()


def test_a_root_is_held_weakly():
    root = Root()
    gone = weakref.ref(root)
    own.register(root)
    own.own_ids()

    del root

    assert gone() is None


def test_frames_of_tests_are_not_own():
    assert not own.is_own_frame(sys._getframe())


def test_asking_leaves_no_list_behind():
    root = Root()
    root.lines = [[i] for i in range(1000)]
    own.register(root)
    own.own_ids()
    gc.collect()
    before = len(gc.get_objects())

    own.own_ids()

    assert len(gc.get_objects()) - before < 10


@pytest.mark.skipif(extension() is None, reason="the extension was not built")
def test_the_extension_finds_what_the_walk_in_python_finds():
    root, users = Root(), Users()
    before = own.own_tally().get(mmap.mmap, 0)  # a profiler that is open has a reserve of memory
    root.again = [root, {"users": [users]}, (1, "text", ()), {1}, frozenset({(2, 3)})]
    of_objects = np.array([users, []], dtype=object)
    root.buffers = [np.zeros(3), bytearray(5), memoryview(b"abc"), mmap.mmap(-1, 8), of_objects]
    own.register(root)

    ids, tally = own.own_ids(), own.own_tally()

    with passes_in_python():
        assert ids == own.own_ids()
        assert tally == own.own_tally()
    assert id(root.again[1]["users"]) in ids
    assert tally[mmap.mmap] == before + 1
    assert id(root.buffers[4][1]) not in ids
