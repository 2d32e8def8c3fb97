"""What waits for the collector at the last look, where memory goes up for long."""

from __future__ import annotations

import pytest
from scripted_runs import LAST, MIB, born, record

from phaseprof.analysis.findings import find_leaks
from phaseprof.analysis.garbage import what_piles_up
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding


def teeth(
    *, n: int = 26, every: int = 16, step: float = MIB, freed: float = 9 * MIB, full: int = -1, at: int | None = None,
    n_waiting: int = 88, collected_at: int = 0, n_rings: int = 28, waited: float | None = None,
    waits: list[tuple[str, int, int]] | None = None, early: int = 99,
) -> tuple[Finding, ...]:  # fmt: skip
    """Memory in use that falls after ``every`` generations, and a look at the last of ``n``."""
    process = ProcessRun()
    for g in range(n):
        level = step * (g % every - (early if g >= early else 0))
        figures = {"malloc_in_use_bytes": 1e8 + level, "after_full_collection": float(g == full)}
        figures["available_bytes"] = 1e9
        if g == n // 2 and waited is not None:
            figures["waiting_bytes"] = waited
        process.add(fmt.Metrics(g, g, figures))
    process.add(born("malloc_in_use_bytes", 1, collect=step))
    when = n - 1 if at is None else at
    waits = waits or [("list", 60, int(0.9 * freed)), ("app.Rollout", 28, int(0.1 * freed))]
    process.add(fmt.Places(
        n, when, when, 0, [], waiting=waits if freed else [], waiting_rings=n_rings, waiting_objects=n_waiting,
        waiting_bytes=int(freed), collected_at=collected_at,
    ))  # fmt: skip
    return find_leaks(process)


def test_what_waits_is_named_with_its_phase() -> None:
    (finding,) = teeth()

    assert (finding.verdict, finding.kind, finding.subject, finding.phase) == ("leak", "garbage", "Rollout", "collect")
    assert (finding.slope, finding.slope_unit, finding.holder) == (MIB, "bytes/generation", ())
    assert finding.advice.startswith("Only a full collection frees these reference cycles")
    assert finding.summary == (
        "Unreachable cycles of Rollout objects created in collect leak: +1.00 MiB a generation since generation 0 "
        "(9.00 MiB waited for the collector at the last look, including 28 of these objects)"
    )


def test_where_nothing_is_collected_at_all_it_is_named_as_well() -> None:
    (finding,) = teeth(every=99, freed=25 * MIB)

    assert (finding.kind, finding.subject, finding.slope) == ("garbage", "Rollout", MIB)


def test_an_early_fall_that_is_a_small_part_of_the_rise_begins_no_cycle() -> None:
    (finding,) = teeth(every=99, n=32, early=4, freed=25 * MIB)

    assert (finding.verdict, finding.kind, finding.subject) == ("leak", "garbage", "Rollout")


@pytest.mark.parametrize(
    ("n_rings", "n_waiting", "collected_at", "verdict"),
    [
        (28, 88, 80_000, "leak"),  # 300 KiB each: gigabytes, before the collector counts so many
        (28, 40_000, 80_000, "growing"),  # twice as much at most, of a gigabyte that is left
        (28, 40_000, -1, "leak"),  # nobody collects
        (28, 5_000, 80_000, "leak"),
        (1, 40_000, 80_000, "leak"),  # the program dropped it as a whole
    ],
)
def test_what_the_collector_takes_before_it_comes_to_much_is_no_leak(
    n_rings: int, n_waiting: int, collected_at: int, verdict: str
) -> None:
    (finding,) = teeth(every=99, freed=25 * MIB, n_rings=n_rings, n_waiting=n_waiting, collected_at=collected_at)

    assert (finding.kind, finding.verdict) == ("garbage", verdict)


def test_what_was_held_at_the_look_before_is_no_garbage_that_is_taken() -> None:
    """As many rings as generations wait, but half-way none did: a trainer has gone."""
    (finding,) = teeth(every=99, waited=0, freed=25 * MIB, n_waiting=40_000, collected_at=80_000)

    assert (finding.kind, finding.verdict) == ("garbage", "leak")
    (healthy,) = teeth(every=99, waited=13 * MIB, freed=25 * MIB, n_waiting=40_000, collected_at=80_000)
    assert healthy.verdict == "growing"


def test_what_imports_left_behind_does_not_hide_what_piles_up() -> None:
    waits = [("dict", 400, 60 * MIB), ("app.Rollout", 28, 25 * MIB)]

    (finding,) = teeth(every=99, freed=85 * MIB, waits=waits)

    assert (finding.kind, finding.subject) == ("garbage", "Rollout")


def test_what_does_not_wait_stays_unexplained() -> None:
    (finding,) = teeth(every=99, freed=5 * MIB)

    assert (finding.kind, finding.subject) == ("native", None)


@pytest.mark.parametrize(("every", "n", "is_told"), [(12, 16, True), (11, 17, False), (12, 15, False)])
def test_teeth_must_be_long_and_the_newest_seen_to_rise(every: int, n: int, is_told: bool) -> None:
    assert bool(teeth(n=n, every=every, freed=(n - 1 - every) * MIB)) is is_told


@pytest.mark.parametrize(("freed", "is_told"), [(3.5, False), (3.7, True), (22.4, True), (22.6, False), (0, False)])
def test_about_as_much_must_wait_as_the_tooth_rose_by(freed: float, is_told: bool) -> None:
    """The newest tooth rose by 9 MiB."""
    assert bool(teeth(freed=freed * MIB)) is is_told


@pytest.mark.parametrize(("step", "is_told"), [(35_000.0, False), (65_536.0, True)])
def test_little_is_not_told(step: float, is_told: bool) -> None:
    assert bool(teeth(step=step, freed=9 * step)) is is_told


def test_a_program_that_collects_by_itself_has_no_leak() -> None:
    assert teeth(full=16) == ()


def test_an_earlier_look_says_nothing_of_the_newest_tooth() -> None:
    assert teeth(at=20) == ()


@pytest.mark.parametrize(
    ("frozen", "came", "kind"),
    [
        (1000, 0, "garbage"),  # nothing that a look meets has grown
        (1000, 15 * 1500 * 48, "objects"),  # it was met: somebody holds it
        (0, 0, "objects"),
    ],
)
def test_what_is_frozen_and_dropped_is_garbage_for_good(frozen: int, came: int, kind: str) -> None:
    process = record({"python_blocks": lambda g: 1e5 + 1500 * g, "malloc_in_use_bytes": 1e8})
    for g in (4, LAST):
        process.add(fmt.Metrics(g, g, {"gc/gc_frozen": float(frozen * g)}))
    process.add(fmt.Places(LAST, LAST, 4, came, []))
    (finding,) = find_leaks(process)

    assert (finding.verdict, finding.kind) == ("leak", kind)
    assert ("gc.unfreeze" in finding.advice) == (kind == "garbage")


@pytest.mark.parametrize(("phase", "kind"), [("rollout", "garbage"), ("save", "native")])
def test_what_malloc_gives_with_what_is_frozen_is_garbage_too(phase: str, kind: str) -> None:
    """Two looks at what the program reaches say that no place has it, where all of the heap was looked at once."""
    counters = {"python_blocks": lambda g: 1e5 + 1500 * g, "malloc_in_use_bytes": lambda g: 1e8 + 2 * MIB * g}
    births = [born("python_blocks", 1, rollout=1500.0), born("malloc_in_use_bytes", 1, **{phase: 2.0 * MIB})]
    process = record(counters, births)
    for g in (4, LAST):
        process.add(fmt.Metrics(g, g, {"gc/gc_frozen": 1000.0 * g}))
    process.add(fmt.Places(LAST, LAST, 4, 0, [], libraries=False))
    process.add(fmt.Places(LAST, LAST, LAST, 10**7, []))

    (finding,) = find_leaks(process)

    assert (finding.verdict, finding.kind, finding.phase) == ("leak", kind, phase)


def test_what_piles_up_is_told_and_not_the_few_that_an_import_has_dropped() -> None:
    rows = [("torch.Tensor", 108, 58_000_000), ("_ctypes.PyCArrayType", 5, 12_000), ("app.Rollout", 54, 5_700)]

    assert what_piles_up(rows)[0] == "app.Rollout"
    assert what_piles_up(rows[:1])[0] == "torch.Tensor"


def test_fewer_objects_that_hold_more_pile_up_too() -> None:
    assert what_piles_up([("list", -230, 9648)])[0] == "list"
    assert what_piles_up([("app.Rollout", 0, 9648), ("dict", 3, 4096)])[0] == "app.Rollout"


@pytest.mark.parametrize(("left", "is_leak"), [(0.0, False), (0.3, True)])
def test_what_a_full_collection_took_before_waits_for_the_next_one(left: float, *, is_leak: bool) -> None:
    """Blocks rise by 400 a generation, in teeth of the young; all of the heap was collected in the thirteenth."""
    process = ProcessRun()
    for g in range(80):
        taken = 0.0 if g < 13 else (1 - left) * 400 * 13
        blocks = 1.8e5 + 400.0 * g + 2100.0 * ((g - 13 * (g >= 13)) % 6) - taken
        figures = {"python_blocks": blocks, "after_full_collection": float(g == 13)}
        process.add(fmt.Metrics(g, g, {**figures, "malloc_in_use_bytes": 1e8, "available_bytes": 1e10}))

    assert [one.kind for one in find_leaks(process) if one.verdict == "leak"] == ["objects"] * is_leak
