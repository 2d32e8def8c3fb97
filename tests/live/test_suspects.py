"""Which types tell something, and which only carry others."""

from __future__ import annotations

import pytest

from phaseprof.live.suspicion import PLUMBING_TIER, type_tier


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
