"""Which types tell something, and which only carry others."""

from __future__ import annotations

from typing import Any, cast

import pytest

from phaseprof.live.budget import Budget
from phaseprof.live.recorder import Recorder
from phaseprof.live.settings import Settings
from phaseprof.live.suspects import AT, Suspects
from phaseprof.recording import format as fmt


@pytest.mark.parametrize(("generation_ns", "is_urgent"), [(10_000_000, True), (1_000_000_000, False)])
def test_what_a_generation_must_rise_by_follows_from_how_long_it_takes(generation_ns: int, is_urgent: bool) -> None:
    """Five kilobytes a generation are half a megabyte a second, or nothing."""
    now = [0]
    recorder = Recorder(Settings(), lambda: now[0], lambda text: None)
    suspects = Suspects(recorder, cast("Any", None), {}, Budget(0.02, lambda: now[0]))
    for g in range(12):
        now[0] += generation_ns
        recorder.generation = g
        recorder.add(fmt.Metrics(now[0], g, {"malloc_in_use_bytes": 1e8 + 5000.0 * g}, AT))

    assert suspects.is_urgent() is is_urgent
