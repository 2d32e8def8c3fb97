"""What a counter that leaks grew by is a sum that comes out: in the data, in the text and in JSON."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phaseprof.analysis.sums import GrowthSum, growth_sums
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding
from phaseprof.report.build import build_sums
from phaseprof.report.text import Style
from phaseprof.units import MIB, parse_bytes

AT, LAST = "generation end", 29
LEAK = (Finding("leak", "arrays"),)
PATHS = (
    ["module app", ".history (list, 30)"], ["train.py main() local agent (Agent)", ".memory (deque, 9)"],
    ["unreachable", "(Rollout)"], ["outside Python", "(Tensor)"],
)  # fmt: skip


def row(at: int, n_bytes: int) -> fmt.Place:
    return fmt.Place(list(PATHS[at]), "list", 1, n_bytes, 0, [("numpy.ndarray", 10, n_bytes)], [])


def run(
    sizes: list[int], *, came: int, since: int = 5, looked: int = 25, malloc: float = MIB, blocks: float = 0,
    free: float = 0, resident: float = 0, device: float = 0, seen: float | None = None, libraries: bool = True,
    breath: float = 0,
) -> ProcessRun:  # fmt: skip
    """Counters that rise by so much a generation, and two looks that found places of these sizes."""
    process = ProcessRun()
    rates = {
        "malloc_in_use_bytes": malloc, "python_blocks": blocks, "malloc_free_bytes": free, "anonymous_bytes": resident,
        "cuda0/allocated_bytes": device, "storages/cuda:0_bytes": seen,
    }  # fmt: skip
    for g in range(LAST + 1):
        figures = {name: 1e8 + rate * g for name, rate in rates.items() if rate is not None}
        figures["malloc_in_use_bytes"] += breath * (g * g % 7)
        process.add(fmt.Metrics(g, g, figures, AT))
    if sizes:
        rows = [row(at, n) for at, n in enumerate(sizes)]
        process.add(fmt.Places(looked, looked, since, came, rows, libraries=libraries))
    return process


def test_the_text_shows_a_sum_that_comes_out(golden) -> None:
    process = run([12 * MIB, 4 * MIB, MIB], came=18 * MIB, blocks=2000, free=MIB / 4, resident=2 * MIB)
    text = build_sums(process, LEAK).render(Style(unicode=False))

    golden("sums-ascii.txt", text)
    blocks = re.split(r"\n\n", text)
    assert len(blocks) == 2
    for block in blocks:
        figures = [parse_bytes(n) for n in re.findall(r"[+-]([\d.]+ [KMG]?i?B)", block)]
        signs = [-1 if sign == "-" else 1 for sign in re.findall(r"([+-])[\d.]+ [KMG]?i?B", block)]
        *parts, total = (sign * n for sign, n in zip(signs, figures, strict=True))
        assert sum(parts) == pytest.approx(total, abs=0.01 * MIB * len(parts))


def check(one: GrowthSum) -> None:
    assert sum(part.growth_bytes for part in one.parts) == one.growth_bytes > 0
    assert one.first < one.last


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 10**9), max_size=4), st.integers(-(10**8), 10**9), st.integers(0, 15), st.integers(16, 29),
    st.floats(0, 1e7), st.floats(0, 1e5), st.floats(-1e5, 1e6), st.floats(0, 1e7), st.booleans(),
)  # fmt: skip
def test_parts_always_add_up(sizes, came, since, looked, malloc, blocks, free, resident, libraries) -> None:
    process = run(
        sizes, came=came, since=since, looked=looked, malloc=malloc, blocks=blocks, free=free, resident=resident,
        libraries=libraries,
    )  # fmt: skip

    for one in growth_sums(process, LEAK):
        check(one)


@pytest.mark.parametrize(("seen", "kinds"), [(MIB / 2, ["place", "native"]), (None, ["not looked at"])])
def test_device_memory_is_what_tensors_show_and_the_rest(seen: float | None, kinds: list[str]) -> None:
    (one,) = growth_sums(run([], came=0, malloc=0, device=MIB, seen=seen), LEAK)

    check(one)
    assert [part.kind for part in one.parts] == kinds


def test_without_two_looks_all_of_it_was_not_looked_at() -> None:
    (one,) = growth_sums(run([MIB], came=MIB, since=LAST, looked=LAST), LEAK)

    check(one)
    assert [part.kind for part in one.parts] == ["not looked at"]


def test_what_libraries_hold_was_not_looked_at_where_the_look_left_them_out() -> None:
    (one,) = growth_sums(run([MIB], came=MIB, libraries=False), LEAK)

    check(one)
    assert [part.kind for part in one.parts] == ["place", "other places", "not looked at"]


@pytest.mark.parametrize(("given_back", "kept"), [(3 * MIB, 2 * MIB), (9 * MIB, 0)])
def test_a_trial_trim_tells_what_is_given_back_from_what_is_pinned(given_back: int, kept: int) -> None:
    """Of 5 MiB that malloc has more of freed memory; it may give back what was free before as well."""
    process = run([MIB], came=MIB, malloc=0, free=MIB / 4, resident=MIB)
    process.add(fmt.Metrics(LAST, LAST, {"malloc_given_back_bytes": float(given_back)}, AT))
    (one,) = growth_sums(process, LEAK)

    check(one)
    told = {part.kind: part.growth_bytes for part in one.parts}
    assert (told.get("fragmentation", 0), told["fragmentation given back"]) == (kept, 5 * MIB - kept)


def test_what_a_counter_that_breathes_tells_has_a_spread() -> None:
    process = run([MIB], came=MIB, breath=1000)
    (one,) = growth_sums(process, LEAK)

    spreads = {part.kind: part.spread_bytes for part in one.parts}
    assert spreads["place"] == spreads["other places"] == 0
    assert 0 < spreads["native"] == spreads["not looked at"] <= 6000
    assert "not held by Python (within " in build_sums(process, LEAK).render(Style())


def test_the_look_that_found_most_is_told() -> None:
    process = run([12 * MIB], came=12 * MIB)
    process.add(fmt.Places(LAST, LAST, 2, 28, [], libraries=False))
    (one,) = growth_sums(process, LEAK)

    check(one)
    assert one.parts[0].growth_bytes == 12 * MIB


def test_a_healthy_run_has_no_sums() -> None:
    assert growth_sums(run([MIB], came=MIB), ()) == ()
    assert growth_sums(run([MIB], came=MIB, malloc=0), LEAK) == ()


def test_json_adds_up_as_well() -> None:
    data = json.loads(json.dumps(build_sums(run([MIB], came=2 * MIB), LEAK).to_dict()))

    (entry,) = data["entries"]
    assert sum(part["growth_bytes"] for part in entry["sum"]["parts"]) == entry["sum"]["growth_bytes"] == 29 * MIB
