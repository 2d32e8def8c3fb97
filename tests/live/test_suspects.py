"""From series to investigations: what one look at the end makes worth asking about."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from phaseprof.live.budget import Budget
from phaseprof.live.escalation import Escalation
from phaseprof.live.suspects import Suspects
from phaseprof.live.suspicion import PLUMBING_TIER, type_tier
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun

LAST = 9


def look(
    figures: dict[str, float], *, in_use: float = 0.0, blocks: float = 0.0, containers: dict[int, int] | None = None
) -> set[str]:
    """Return what is asked about after one look, beside counters that rise by so much in each of ten generations."""
    model = ProcessRun()
    for g in range(LAST + 1):
        counters = {"malloc_in_use_bytes": 1e8 + in_use * g, "python_blocks": 6e5 + blocks * g}
        model.add(fmt.Metrics(g, g, counters))
    model.add(fmt.Metrics(LAST, LAST, figures))
    escalation = Escalation(Budget(0.02, lambda: 0), model.add, lambda: 0)
    suspects = Suspects(SimpleNamespace(model=model), escalation, {}, lambda: 0)  # type: ignore[arg-type]

    listed = {identity: ("builtins.dict", length, 8 * length) for identity, length in (containers or {}).items()}
    suspects.containers.see(listed, LAST)
    suspects.look_at_levels(LAST, listed)

    return set(escalation.open)


@pytest.mark.parametrize(("metric", "key"), [("arrays_bytes", "arrays"), ("storages/cpu_bytes", "storages")])
def test_what_comes_to_the_growth_is_asked_about(metric: str, key: str) -> None:
    assert look({metric: 7e6}, in_use=1e6) == {key}


@pytest.mark.parametrize(("level", "in_use"), [(1e6, 1e6), (7e7, 1e6), (7e6, 0.0), (7e6, -1e6)])
def test_what_does_not_is_left_alone(level: float, in_use: float) -> None:
    assert look({"arrays_bytes": level}, in_use=in_use) == set()


def test_containers_of_as_many_items_as_blocks_were_added() -> None:
    found = look({}, blocks=1000.0, containers={1: 7000, 2: 100, 3: 90_000, 4: 6500})

    assert found == {"container/dict@1", "container/dict@4"}


def test_containers_that_an_earlier_look_knew_are_judged_by_their_growth() -> None:
    model = ProcessRun()
    for g in range(LAST + 1):
        model.add(fmt.Metrics(g, g, {"python_blocks": 6e5 + 1000 * g}))
    escalation = Escalation(Budget(0.02, lambda: 0), model.add, lambda: 0)
    suspects = Suspects(SimpleNamespace(model=model), escalation, {}, lambda: 0)  # type: ignore[arg-type]
    listed = {1: ("builtins.dict", 7000, 9)}
    suspects.containers.see(listed, LAST - 1)
    suspects.containers.see({**listed, 2: ("builtins.dict", 7001, 9)}, LAST)

    suspects.look_at_levels(LAST, {**listed, 2: ("builtins.dict", 7001, 9)})

    assert set(escalation.open) == {"container/dict@2"}


@pytest.mark.parametrize(
    ("values", "rises", "rises_again"),
    [
        ([100.0 + g for g in range(10)], True, True),
        ([100.0, 110, 120, 130, 140, 150, 100, 110, 120, 130], False, True),
        ([100.0, 110, 120, 130, 140, 150, 160, 170, 180, 100], False, False),
        ([100.0] * 10, False, False),
    ],
)
def test_what_rises_again_since_it_fell(values: list[float], rises: bool, rises_again: bool) -> None:
    model = ProcessRun()
    for g, value in enumerate(values):
        model.add(fmt.Metrics(g, g, {"malloc_in_use_bytes": value * 1e6}))
    suspects = Suspects(SimpleNamespace(model=model), Escalation(Budget(0.02, int), model.add, int), {}, int)  # type: ignore[arg-type]

    assert (suspects.is_rising(), suspects.rises_again()) == (rises, rises_again)


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
