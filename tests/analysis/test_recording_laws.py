"""Laws of whole recordings: what may be done to a run that leaks without taking its leak, or a part of it, away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scripted_runs import END, MIB, Curve

from phaseprof import load
from phaseprof.analysis.answers import answer
from phaseprof.analysis.findings import find_leaks
from phaseprof.analysis.sums import growth_sums
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding

few = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
HOLDER = ["module app.trainer (Trainer)", ".episodes (list, 40)"]
SECOND = 1_000_000_000


@given(st.just(0))
def settle(_: int) -> None:
    """Hypothesis times collections from its first run on, by a callback that stays: have it there before any test."""


settle()


@dataclass(frozen=True)
class Leak:
    """A run of half a second a generation that keeps ``size`` bytes in each, in ``kind`` of memory.

    Attributes:
        n: generations.
        size: bytes that one leaves.
        shape: of one leaked item: an array of malloc's, or small objects of Python's allocator.
        base: bytes in use at the begin.
        every: counters are read in one generation of so many.
        native: bytes that no place has, in each generation.
        looks, births: whether it was looked at by place, and followed from birth.
        beside: what else was read.
        down: readings of a teardown at the end.
    """

    n: int = 40
    size: int = MIB
    shape: str = "arrays"
    base: int = 100 * MIB
    every: int = 1
    native: int = 0
    looks: bool = True
    births: bool = True
    beside: tuple[tuple[str, Curve], ...] = ()
    down: int = 0
    extra: tuple[fmt.Record, ...] = field(default=())

    def level(self, g: int) -> float:
        return self.size * (g if g < self.n - self.down else 0.1 * g)

    def figures(self, g: int) -> dict[str, float]:
        small, grown = self.shape == "objects", self.level(g) + self.native * g
        figures = {
            "malloc_in_use_bytes": self.base + grown - (self.level(g) if small else 0.0),
            "python_blocks": 300_000.0 + (self.level(g) // 48 if small else g // 10),
            "anonymous_bytes": 2.0 * self.base + grown, "available_bytes": 16e9 - grown,
            "after_full_collection": 0.0, "gc/gc_collected": 100.0 + g,
        }  # fmt: skip
        return figures | {name: float(curve(g)) if callable(curve) else curve for name, curve in self.beside}

    def records(self) -> Sequence[fmt.Record]:
        made: list[fmt.Record] = [fmt.Header(1, "0.1.0", 1, 0.0, 0, 4096)]
        for g in range(self.n):
            made.append(fmt.GenerationBegin(g * SECOND // 2, g, g))
            made.append(fmt.GenerationEnd((g + 1) * SECOND // 2 - 1, g, 0.5))
            if g % self.every == 0:
                made.append(fmt.Metrics((g + 1) * SECOND // 2 - 1, g, self.figures(g), END))
        last = self.n - 1 - self.down
        if self.births:
            phases = {"collect": [self.size, 0.0], "train": [0.0, 0.0]}
            made += [fmt.Births(last, last, key, phases, 1) for key in ("malloc_in_use_bytes", "python_blocks")]
        if self.looks:
            made.append(self.look(5, last))
        return [*made, *self.extra, fmt.End(self.n * SECOND // 2, "closed")]

    def look(self, since: int, g: int) -> fmt.Places:
        came = self.size * (g - since)
        name = "numpy.ndarray" if self.shape == "arrays" else "app.Step"
        items = [("app.Episode", g - since, came)]
        inside = [(name, g - since, came - 64 * (g - since)), ("app.Episode", g - since, 64 * (g - since))]
        return fmt.Places(g, g, since, came, [fmt.Place(HOLDER, "list", 1, came, 0, items, inside)])

    def process(self) -> ProcessRun:
        process = ProcessRun()
        process.extend(list(self.records()))
        process.fold()
        return process

    def leaks(self) -> list[Finding]:
        return [finding for finding in find_leaks(self.process()) if finding.verdict == "leak"]


def names(found: Sequence[Finding]) -> set[tuple[object, ...]]:
    return {(f.kind, f.subject, f.phase, f.holder) for f in found}


leaks = st.builds(
    Leak, n=st.integers(24, 60), size=st.integers(128 << 10, 8 << 20), shape=st.sampled_from(["arrays", "objects"]),
    base=st.integers(20 * MIB, 4000 * MIB),
)  # fmt: skip
HEALTHY: dict[str, Curve] = {
    "threads": 9.0,
    "descriptors": lambda g: 12.0 + g % 3,
    "count/app.Batch": lambda g: 40.0 + 10 * (g % 4),
    "count/app.Worker": lambda g: min(16.0, g),
    "watched/app.Env": 4.0,
    "shm_bytes": lambda g: 1e6 * min(g, 3),
    "cuda0/allocated_bytes": lambda g: 2e9 + 3e7 * (g % 2),
    "tracked/replay": lambda g: 1e8 * min(1.0, g / 8),
}
SECONDS: dict[str, Curve] = {
    "descriptors": lambda g: 12.0 + g,
    "threads": lambda g: 9.0 + g,
    "children": lambda g: 1.0 + g,
    "cuda0/allocated_bytes": lambda g: 2e9 + 3e7 * g,
}
KIND_OF = {"descriptors": "descriptors", "threads": "threads", "children": "children", "cuda0/allocated_bytes": "gpu"}


@few
@given(leaks)
def test_a_leak_is_named_whole(leak: Leak) -> None:
    assert names(leak.leaks()) == {("objects", "Episode", "collect", tuple(HOLDER))}


@few
@given(leaks, st.integers(1, 60))
def test_more_of_the_same_changes_nothing(leak: Leak, more: int) -> None:
    assert names(replace(leak, n=leak.n + more).leaks()) == names(leak.leaks())


@few
@given(leaks, st.integers(1, 2))
def test_a_teardown_at_the_end_changes_nothing(leak: Leak, down: int) -> None:
    assert names(replace(leak, down=down).leaks()) == names(leak.leaks())


@few
@given(leaks, st.integers(2, 30), st.integers(1, 8_000))
def test_neither_size_nor_level_changes_anything(leak: Leak, times: int, level: int) -> None:
    assert names(replace(leak, size=leak.size * times, base=leak.base + level * MIB).leaks()) == names(leak.leaks())


@few
@given(leaks, st.integers(2, 3))
def test_fewer_readings_of_the_counters_change_nothing(leak: Leak, every: int) -> None:
    assert names(replace(leak, every=every).leaks()) == names(leak.leaks())


@settings(few, max_examples=60)
@given(
    leaks, st.sampled_from(["malloc_in_use_bytes", "python_blocks", "anonymous_bytes", "threads", "descriptors"]),
    st.integers(2, 20), st.floats(0, 60), st.randoms(use_true_random=False),
)  # fmt: skip
def test_fewer_readings_of_one_counter_never_make_a_leak_ok(
    leak: Leak, metric: str, n_kept: int, leap: float, random: Random
) -> None:
    """Whatever was imported at the begin, and by whatever the generations differ."""
    if metric in SECONDS:
        leak = replace(leak, size=0, beside=((metric, SECONDS[metric]),))
    came = [(leap * MIB if g > 3 else 0.0) + leak.size * random.uniform(-0.3, 0.3) for g in range(leak.n)]
    kept = {0, *random.sample(range(1, leak.n), n_kept - 1)}
    whole, thinned = ProcessRun(), ProcessRun()
    for record in replace(leak, births=False, looks=False).records():
        if isinstance(record, fmt.Metrics):
            uneven = dict.fromkeys(("malloc_in_use_bytes", "anonymous_bytes"), came[record.g])
            figures = {key: value + uneven.get(key, 0.0) for key, value in record.v.items()}
            fewer = {key: value for key, value in figures.items() if key != metric or record.g in kept}
            whole.add(fmt.Metrics(record.t, record.g, figures))
            thinned.add(fmt.Metrics(record.t, record.g, fewer))
        else:
            whole.add(record)
            thinned.add(record)
    assume(answer(whole, find_leaks(whole)) == "leak")

    assert answer(thinned, find_leaks(thinned)) in ("leak", "not judged")


@few
@given(leaks, st.sets(st.sampled_from(sorted(HEALTHY)), min_size=1))
def test_healthy_series_beside_change_nothing(leak: Leak, beside: set[str]) -> None:
    busy = replace(leak, beside=tuple((name, HEALTHY[name]) for name in sorted(beside)))

    assert names(busy.leaks()) == names(leak.leaks())


@few
@given(st.integers(24, 60), st.sets(st.sampled_from(sorted(HEALTHY)), min_size=1))
def test_healthy_series_alone_are_no_leak(n: int, beside: set[str]) -> None:
    quiet = Leak(n, size=0, looks=False, births=False, beside=tuple((name, HEALTHY[name]) for name in sorted(beside)))

    assert quiet.leaks() == []


@few
@given(leaks, st.sampled_from(sorted(SECONDS)))
def test_a_second_leak_takes_neither_away(leak: Leak, second: str) -> None:
    both = replace(leak, beside=((second, SECONDS[second]),)).leaks()

    assert {"objects", KIND_OF[second]} <= {finding.kind for finding in both}


@few
@given(leaks, st.floats(0.4, 4))
def test_native_memory_beside_is_told_and_hides_nothing(leak: Leak, share: float) -> None:
    both = replace(leak, native=round(share * leak.size), births=False).leaks()

    assert {finding.kind for finding in both} == {"objects", "native"}
    assert sum(finding.bytes_slope for finding in both) == pytest.approx((1 + share) * leak.size, rel=0.1)


@few
@given(leaks, st.randoms(use_true_random=False))
def test_the_order_of_metrics_does_not_matter(leak: Leak, random: Random) -> None:
    names_of_all = sorted(HEALTHY)
    random.shuffle(names_of_all)
    shuffled = replace(leak, beside=tuple((name, HEALTHY[name]) for name in names_of_all))

    assert shuffled.leaks() == replace(leak, beside=tuple(sorted(shuffled.beside))).leaks()


WITHOUT: list[Callable[[Leak], Leak]] = [
    lambda leak: replace(leak, looks=False),
    lambda leak: replace(leak, births=False),
    lambda leak: replace(leak, looks=False, births=False),
    lambda leak: replace(leak, looks=False, extra=(leak.look(leak.n - 1, leak.n - 1),)),
]


@pytest.mark.parametrize("without", WITHOUT)
@few
@given(leaks)
def test_fewer_looks_take_names_and_no_verdict(without: Callable[[Leak], Leak], leak: Leak) -> None:
    (whole,), found = leak.leaks(), without(leak).leaks()

    assert len(found) == 1
    (less,) = found
    assert less.subject in (None, whole.subject) and less.phase in (None, whole.phase)
    assert less.bytes_slope in (0.0, pytest.approx(whole.bytes_slope, rel=0.2))


# --- records with any numbers -----------------------------------------------------------------------------------------

HUGE = 2**60
FULL: Curve = lambda g: 1e8 + 1e6 * min(g, 5)  # noqa: E731 - named as the other curves are
numbers = st.one_of(st.sampled_from([-HUGE, -1, 0, 1, HUGE]), st.integers(-100, 10**7))
figures = st.one_of(st.sampled_from([-1e18, 0.0, 1e18]), st.floats(-1e9, 1e9))
ordinals = st.sampled_from([-1, 0, 3, 5, 23, 39])
types = st.sampled_from(["", "dict", "torch.Tensor", "numpy.ndarray", "app.Episode", "threading.Thread", "module"])
parts = st.lists(st.tuples(types, numbers, numbers), max_size=3)
paths = st.lists(st.sampled_from(["", "unreachable", "outside Python", "(Context)", "(hamt)", *HOLDER]), max_size=4)
places = st.builds(fmt.Place, paths, types, numbers, numbers, numbers, parts, parts, numbers, numbers)
ANY: list[st.SearchStrategy[fmt.Record]] = [
    st.builds(
        fmt.Places, st.just(1), ordinals, ordinals, numbers,
        st.lists(places, max_size=3), st.just([]), parts, numbers, numbers, numbers, numbers, st.booleans(),
    ),
    st.builds(
        fmt.Holder, st.just(1), ordinals, st.sampled_from(["count/app.Batch", "storages"]), paths,
        st.sampled_from(["garbage", "outside Python", "module global"]), st.just(""), numbers, numbers, types, types,
        numbers, figures, numbers, numbers, numbers,
    ),
    st.builds(
        fmt.Births, st.just(1), ordinals, st.sampled_from(["count/app.Batch", "storages", "python_blocks"]),
        st.dictionaries(st.sampled_from(["collect", "train"]), st.lists(figures, min_size=2, max_size=2)), numbers,
    ),
    st.builds(fmt.Watch, st.sampled_from(["app.Batch", "Env"]), numbers, numbers),
    st.builds(
        fmt.Metrics, st.just(1), ordinals,
        st.dictionaries(
            st.sampled_from(["available_bytes", "n_objects", "count/app.Batch", "threads", "cuda0/free_bytes"]), figures
        ),
    ),
]  # fmt: skip


@settings(few, max_examples=40)
@given(
    st.sampled_from([2, 6, 24, 40]), st.integers(-8 * MIB, 8 * MIB), st.lists(st.one_of(ANY), max_size=8),
    st.sampled_from([(), (("malloc_in_use_bytes", FULL),)]),
)  # fmt: skip
def test_no_number_breaks_a_report(
    n: int, size: int, any_records: list[fmt.Record], beside: tuple[tuple[str, Curve], ...]
) -> None:
    process = Leak(n, size, extra=tuple(any_records), beside=beside).process()

    found = find_leaks(process)

    assert growth_sums(process, found) is not None
    assert answer(process, found)


@few
@given(leak=leaks)
def test_the_file_says_what_the_run_said(leak: Leak, tmp_path: Path) -> None:
    file = tmp_path / "rank0-pid1.jsonl"
    file.write_bytes(b"\n".join(map(fmt.encode, leak.records())))

    assert find_leaks(load(tmp_path).main) == find_leaks(leak.process())
