"""Which types tell something, and which only carry others."""

from __future__ import annotations

from typing import Any, cast

import pytest

from phaseprof.live.budget import Budget
from phaseprof.live.escalation import Escalation
from phaseprof.live.recorder import Recorder
from phaseprof.live.settings import Settings
from phaseprof.live.suspects import AT, Suspects
from phaseprof.live.suspicion import PLUMBING_TIER, type_tier
from phaseprof.recording import format as fmt


@pytest.mark.parametrize(
    ("name", "is_plumbing"),
    [
        ("count/torch.autograd.function.ClipBackward", False), ("count/torch.nn.modules.linear.Linear", True),
        ("count/inspect.Parameter", True), ("count/torch.nn.parameter.Parameter", False),
        ("count/_frozen_importlib_external.FileFinder", True), ("count/user.Episode", False), ("count/dict", True),
    ],
)  # fmt: skip
def test_types_that_tell_and_types_that_carry(name: str, is_plumbing: bool) -> None:
    assert (type_tier(name) >= PLUMBING_TIER) is is_plumbing


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


@pytest.mark.parametrize(("each", "is_followed"), [(500.0, False), (1500.0, True)])
def test_bytes_that_grow_by_less_than_can_be_followed_are_left_alone(each: float, is_followed: bool) -> None:
    """Following them walks the heap at each boundary, and shows buffers from four kilobytes on."""
    recorder = Recorder(Settings(budget=None), lambda: 0, lambda text: None)
    escalation = Escalation(Budget(None, lambda: 0), recorder.add, lambda: 0)
    for g in range(6):
        recorder.generation = g
        recorder.add(fmt.Metrics(0, g, {"untracked/bytes_bytes": 20_000.0 + each * g}, AT))

    Suspects(recorder, escalation, {}, Budget(None, lambda: 0)).look(5)

    assert ("untracked/bytes" in escalation.open) is is_followed
