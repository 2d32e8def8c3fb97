"""A program that has used up its descriptors gets its report, and keeps those it has."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

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
    with room:
        with room:
            assert not room._held
        assert not room._held
        for end in kept:
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(end)

    assert len(room._held) == 2
    with room:
        room._is_wanted = False


def test_a_descriptor_that_the_program_has_taken_is_left_to_it() -> None:
    room = Room()
    room.keep()
    end = room._held[0][0]
    os.close(end)
    own = os.open(os.devnull, os.O_RDONLY)
    os.dup2(own, end)

    with room:
        room._is_wanted = False

    os.fstat(end)
    os.close(own)
    if end != own:
        os.close(end)
