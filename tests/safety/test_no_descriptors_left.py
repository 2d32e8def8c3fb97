"""A program that has used up its descriptors gets its report, and keeps those it has."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import weakref

import pytest

from phaseprof.live.spare import Room

resource = pytest.importorskip("resource")

LEAK = """
    import resource, time
    import phaseprof as pp
    resource.setrlimit(resource.RLIMIT_NOFILE, (60, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    held = []
    for number in range(15):
        time.sleep(0.02)
        with pp.generation(number), pp.profile_phase("collect"):
            try:
                held += [open("/dev/null") for _ in range(3)]
            except OSError:
                pass
    pp.get_profiler().print_summary()
    print("ended as it would have")
"""


def test_what_leaks_descriptors_is_named_when_none_is_left() -> None:
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(LEAK)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PHASEPROF_RUN": ""})

    assert (done.returncode, done.stderr) == (0, "")
    assert "LEAK (descriptors) in collect" in done.stdout
    assert done.stdout.endswith("ended as it would have\n")


def test_descriptors_are_free_while_there_is_room_and_kept_afterwards() -> None:
    room = Room()
    room.keep()
    kept = {end for end, _ in room._held}

    @room
    def inner() -> None:
        assert not room._held

    @room
    def outer() -> None:
        inner()
        assert not room._held
        for end in kept:
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(end)

    outer()

    assert len(room._held) == 2
    let_go_of(room)


def test_a_call_that_ended_without_a_word_stands_in_nobodys_way() -> None:
    """What a signal handler raises may come before the first step of what would take the descriptors again."""
    room = Room()
    room.keep()
    use = Room.Use()
    room._use = weakref.ref(use)
    room._let_go()
    del use

    room(lambda: None)()

    assert len(room._held) == 2
    let_go_of(room)


def test_a_descriptor_that_the_program_has_taken_is_left_to_it() -> None:
    room = Room()
    room.keep()
    end = room._held[0][0]
    os.close(end)
    own = os.open(os.devnull, os.O_RDONLY)
    os.dup2(own, end)

    let_go_of(room)

    os.fstat(end)
    os.close(own)
    if end != own:
        os.close(end)


def let_go_of(room: Room) -> None:
    room._is_wanted = False
    room(lambda: None)()
    assert not room._held
