"""Points to series and charges, against a plain reading of the same rows, one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from phaseprof.analysis.compare_series import Side, interval_changes
from phaseprof.recording import format as fmt
from phaseprof.recording.folding import OUTSIDE, Row, parse_statm, read_columns
from phaseprof.recording.model import COUNTED, ProcessRun
from phaseprof.recording.nesting import Rows, walk_nested

PAGE = 4096
LABELS = [
    fmt.Label(0, "generation", "generation"), fmt.Label(1, "train", "phase"), fmt.Label(2, "eval", "phase"),
    fmt.Label(3, "mark", "checkpoint"), fmt.Label(4, "mark", "block"), fmt.Label(5, "sample", "sample"),
    fmt.Label(6, "eval", "block"),
]  # fmt: skip


def process_of(batches: Sequence[Sequence[Row]]) -> ProcessRun:
    process = ProcessRun()
    for label in LABELS:
        process.add(label)
    for rows in batches:
        process.take(flat(rows))
    return process


def flat(rows: Sequence[Row]) -> list[object]:
    """As a recorder hands rows over: field after field."""
    return [field for row in rows for field in row]


def statm(resident: int, shared: int = 0) -> bytes:
    return b"%d %d %d 1 0 7 0\n" % (resident * 2, resident, shared)


def rows_of(script: Sequence[tuple[int, int, int, int]], lane: int = 0) -> list[Row]:
    """Rows from (label, edge, generation, resident pages), a microsecond apart."""
    return [(i * 1000, a, e, g, statm(pages), None, -1.0, lane) for i, (a, e, g, pages) in enumerate(script)]


def shown(process: ProcessRun) -> tuple[object, ...]:
    """All that folding makes; a charge of zero says nothing, whether it is written down or not."""
    nonzero = {key: [(g, v) for g, v in series if v] for key, series in process.charges.items()}
    charges = {key: pairs for key, pairs in nonzero.items() if pairs}
    series = {key: list(series) for key, series in process.series.items()}
    return series, charges, {name: (p.visits, p.ns) for name, p in process.phases.items()}


POINT, ENTER, EXIT = fmt.POINT, fmt.ENTER, fmt.EXIT


def test_the_time_inside_a_phase_is_charged_to_it() -> None:
    process = process_of([rows_of([(1, ENTER, 0, 10), (1, EXIT, 0, 15), (2, ENTER, 0, 16), (2, EXIT, 0, 12)])])

    charged = {owner: series.values for (owner, _), series in process.charges.items()}
    assert charged == {"train": [5 * PAGE], OUTSIDE: [1 * PAGE], "eval": [-4 * PAGE]}


def test_the_innermost_phase_bears_the_change() -> None:
    script = [(1, ENTER, 0, 0), (2, ENTER, 0, 1), (2, EXIT, 0, 4), (3, POINT, 0, 6), (1, EXIT, 0, 9)]

    process = process_of([rows_of(script)])

    assert {owner: series.values for (owner, _), series in process.charges.items()} == {
        "train": [(1 + 2 + 3) * PAGE],
        "eval": [3 * PAGE],
    }


def test_a_bare_point_outside_phases_bears_what_led_to_it() -> None:
    process = process_of([rows_of([(0, ENTER, 0, 0), (3, POINT, 0, 7), (0, EXIT, 0, 8)])])

    assert process.charges["mark", "anonymous_bytes"].values == [7 * PAGE]


@pytest.mark.parametrize("cut", range(5))
def test_a_block_does_not_bear_what_happened_before_it(cut: int) -> None:
    script = [(0, ENTER, 0, 0), (3, POINT, 0, 7), (4, ENTER, 0, 7), (4, EXIT, 0, 9), (0, EXIT, 0, 9)]
    rows = rows_of(script)

    process = process_of([rows[:cut], rows[cut:]])

    assert process.charges["mark", "anonymous_bytes"].values == [2 * PAGE]
    assert process.charges[OUTSIDE, "anonymous_bytes"].values == [7 * PAGE]


def test_samples_between_boundaries_change_no_charge() -> None:
    script = [(1, ENTER, 0, 0), (5, POINT, 0, 50), (1, EXIT, 0, 9)]

    process = process_of([rows_of(script)])

    assert process.charges["train", "anonymous_bytes"].values == [9 * PAGE]
    assert process.series["sample", "rss_bytes"].values == [50 * PAGE]


def test_a_thread_that_takes_over_a_number_inherits_nothing() -> None:
    process = process_of([rows_of([(1, ENTER, 0, 0)], lane=3)])

    process.add(fmt.Thread(5, 3))
    process.take(flat(rows_of([(2, ENTER, 0, 10), (2, EXIT, 0, 11)], lane=3)))

    assert {owner for owner, _ in process.charges} == {"eval"}


def test_an_exit_that_was_lost_is_forgotten_at_the_next_generation() -> None:
    script = [
        (1, ENTER, 0, 0), (2, ENTER, 0, 0), (1, EXIT, 0, 0), (0, ENTER, 1, 0), (3, POINT, 1, 8), (1, ENTER, 1, 8),
    ]  # fmt: skip

    process = process_of([rows_of(script)])

    assert process.charges["mark", "anonymous_bytes"].values == [8 * PAGE]


def test_interleaved_phases_of_one_thread_both_count() -> None:
    script = [(1, ENTER, 0, 0), (2, ENTER, 0, 0), (1, EXIT, 0, 0), (2, EXIT, 0, 0)]

    process = process_of([rows_of(script)])

    assert {name: totals.visits for name, totals in process.phases.items()} == {"train": 1, "eval": 1}


def test_a_missing_reading_is_missing_not_zero() -> None:
    rows = rows_of([(1, ENTER, 0, 10), (1, EXIT, 0, 20), (2, ENTER, 0, 30)])
    rows[1] = (*rows[1][:4], b"", *rows[1][5:])

    process = process_of([rows])

    assert ("after train", "rss_bytes") not in process.series
    assert [metric for _, metric in process.charges] == ["busy_ns"]


def test_an_unknown_label_has_a_number_for_a_name() -> None:
    process = process_of([rows_of([(99, POINT, 0, 1)])])

    assert ("label 99", "rss_bytes") in process.series


def test_device_counters_stand_beside_the_process() -> None:
    counters = [100, 200, 50, -1, -1, 3, 4, 5, 0, 0]
    more = [160, *counters[1:]]
    rows: list[Row] = [
        (0, 1, ENTER, 0, statm(1), {"cuda:0": counters}, -1.0, 0),
        (1, 1, EXIT, 0, statm(1), {"cuda:0": more, "cuda:1": counters[:2]}, -1.0, 0),
    ]

    process = process_of([rows])

    assert process.series["after train", "cuda:0/allocated_bytes"].values == [160]
    assert process.series["after train", "cuda:1/reserved_bytes"].values == [200]
    assert ("after train", "cuda:0/small_pool_active_bytes") not in process.series
    assert process.charges["train", "cuda:0/allocated_bytes"].values == [60]
    assert ("train", "cuda:1/allocated_bytes") not in process.charges


def test_series_stand_in_the_order_of_the_loop() -> None:
    steps = [(2, ENTER), (3, POINT), (2, EXIT), (1, ENTER), (1, EXIT), (0, EXIT)]

    process = process_of([rows_of([(label, edge, 0, 1) for label, edge in steps])])

    points = list(dict.fromkeys(point for point, _ in process.series))
    assert points == ["eval: start", "mark", "after eval", "train: start", "after train", "generation end"]


# --- against one by one ------------------------------------------------------------------------------------------

EVENTS = st.lists(
    st.tuples(
        st.integers(0, 6),
        st.sampled_from([POINT, ENTER, EXIT]),
        st.integers(0, 1),
        st.integers(0, 500),
        st.integers(0, 2),
    ),
    max_size=60,
)


def random_rows(events: Sequence[tuple[int, int, int, int, int]]) -> list[Row]:
    generation, rows = 0, []
    for at, (label, edge, step, pages, lane) in enumerate(events):
        generation += step
        rows.append((at * 7, label, edge, generation, statm(pages, pages // 3), None, -1.0, lane))
    return rows


# A block begins after the batch that recorded its point, and another thread has already moved on.
LATE_BLOCK = [(0, 1, 0, 0, 1), (0, 2, 0, 0, 0), (2, 0, 0, 1, 1), (6, 1, 1, 1, 0), (6, 1, 1, 1, 1)]


@example(LATE_BLOCK, [])
@given(EVENTS, st.lists(st.integers(0, 60), max_size=6))
@settings(max_examples=150, deadline=None)
def test_batches_do_not_matter(events: Sequence[tuple[int, int, int, int, int]], cuts: list[int]) -> None:
    rows = random_rows(events)
    bounds = [0, *sorted(cuts), len(rows)]

    in_batches = process_of([rows[a:b] for a, b in pairwise(bounds)])

    assert shown(in_batches) == shown(process_of([rows]))
    assert shown(process_of([[row] for row in rows])) == shown(process_of([rows]))


@given(EVENTS)
@settings(max_examples=100, deadline=None)
def test_charges_add_up_to_the_change_of_each_thread(events: Sequence[tuple[int, int, int, int, int]]) -> None:
    rows = [row for row in random_rows(events) if row[1] != 5]
    seen: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        _, resident, shared, *_ = map(int, row[4].split())
        seen[row[7]].append((resident - shared) * PAGE)

    process = process_of([rows])

    total = sum(sum(series.values) for (_, metric), series in process.charges.items() if metric == "anonymous_bytes")
    assert total == sum(values[-1] - values[0] for values in seen.values())


@given(EVENTS)
@settings(max_examples=100, deadline=None)
def test_a_point_keeps_its_last_reading_of_each_generation(events: Sequence[tuple[int, int, int, int, int]]) -> None:
    rows = random_rows([event for event in events if event[1] == POINT and event[0] == 3])

    process = process_of([rows])

    expected = {row[3]: int(row[4].split()[1]) * PAGE for row in rows}
    found = process.series.get(("mark", "rss_bytes"))
    assert dict(found or []) == expected


# --- parsing -----------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 2**40), min_size=7, max_size=7), min_size=1, max_size=20))
def test_whole_texts_are_parsed(numbers: list[list[int]]) -> None:
    pages, known = parse_statm([" ".join(map(str, row)) for row in numbers])

    assert pages.tolist() == [row[:3] for row in numbers]
    assert known.all()


@pytest.mark.parametrize(
    "wrong", [b"", b"abc", b"1", b"-1 2 3 4 5 6 7", b"1 x 3 4 5 6 7", b"9" * 40 + b" 1 2", b"\xff\xfe"]
)
def test_a_wrong_text_spoils_no_other(wrong: bytes) -> None:
    pages, known = parse_statm([statm(10, 3), wrong, statm(20, 4)])

    assert known.tolist() == [True, False, True]
    assert pages[[0, 2]].tolist() == [[20, 10, 3], [40, 20, 4]]


def test_texts_whose_fields_only_add_up_are_told_apart() -> None:
    pages, known = parse_statm([b"1 2 3 4 5 6", b"7 8 9 10 11 12 13 14"])

    assert known.all()
    assert pages.tolist() == [[1, 2, 3], [7, 8, 9]]


def test_without_a_shared_size_there_is_no_anonymous_one() -> None:
    columns = read_columns([b"100 30\n"], [None], PAGE)

    known = {column.metric: column.values.tolist() for column in columns if column.known.any()}
    assert known == {"vms_bytes": [100 * PAGE], "rss_bytes": [30 * PAGE]}


# --- many boundaries at once -----------------------------------------------------------------------------------------

# What happens next: a phase begins, the innermost one ends, a checkpoint is passed, or a generation ends and another
# begins; which phase, for how many visits it stands, and how long it took.
HAPPENINGS = st.lists(
    st.tuples(st.integers(0, 7), st.sampled_from([1, 2, 4, 6]), st.sampled_from([-1.0, 1.0, 3.0]), st.integers(0, 9)),
    min_size=100, max_size=260,
)  # fmt: skip


def nested_rows(happenings: Sequence[tuple[int, int, float, int]]) -> list[Row]:
    """Rows of a program whose phases end in the order they should, and that passes checkpoints in phases only."""
    rows: list[Row] = []
    now, generation, stack = 0, 0, [1]

    def put(label: int, edge: int, items: float = -1.0) -> None:
        rows.append((now, label, edge, generation, statm(now % 41 + 9, now % 7), None, items, 0))

    put(1, ENTER)
    for what, label, weight, took in happenings:
        now += took
        if what < 3:
            stack.append(label)
            put(label, ENTER, weight)
        elif what < 6 and len(stack) > 1:
            put(stack.pop(), EXIT)
        elif what == 6:
            put(3, POINT)
        elif what == 7:
            put(0, EXIT)
            generation += 1
            put(0, ENTER)
    return rows


@given(HAPPENINGS, st.lists(st.integers(0, 260), max_size=3), st.lists(st.integers(0, 250), max_size=1))
@settings(max_examples=60, deadline=None)
def test_phases_at_once_are_as_one_by_one(
    happenings: Sequence[tuple[int, int, float, int]], cuts: list[int], lost: list[int]
) -> None:
    rows = nested_rows(happenings)
    for at in lost:
        del rows[at : at + 1]
    bounds = [0, *sorted(cuts), len(rows)]

    one_by_one = process_of([[row] for row in rows])
    at_once = process_of([rows[a:b] for a, b in pairwise(bounds)])

    assert shown(at_once) == shown(one_by_one)
    assert list(at_once.phases) == list(one_by_one.phases)
    assert {name: p.inside for name, p in at_once.phases.items()} == {n: p.inside for n, p in one_by_one.phases.items()}


def test_nested_phases_are_matched_without_following_each() -> None:
    stack = [(1, 0, 1)]
    rows = nested_rows([(0, 2, 3.0, 1), (6, 0, 0, 1), (3, 0, 0, 5)] * 60)[1:]
    fields = list(zip(*rows, strict=True))
    columns = Rows(*(np.array(fields[at], np.int64) for at in (1, 2, 0, 3)), np.array(fields[6], np.float64))

    walk = walk_nested(stack, columns, {0})

    assert walk is not None
    assert walk.times[2] == (60, 360, [0], [1080.0])
    assert stack == [(1, 0, 1)]
    assert set(walk.around) == {(2, 1)}
    stray = columns._replace(ids=np.where(np.arange(180) == 5, 4, columns.ids))
    assert walk_nested(stack, stray, {0}) is None


def test_what_changed_while_phases_were_only_counted_is_nobodys_and_no_phases() -> None:
    script = [
        (0, ENTER, 0, 0), (1, ENTER, 0, 0), (1, EXIT, 0, 9), (0, EXIT, 0, 10), (0, ENTER, 1, 10), (0, EXIT, 1, 17),
    ]  # fmt: skip
    process = process_of([rows_of(script)])
    plain = {phase: dict(sums) for phase, sums in process.charges_of("anonymous_bytes").items()}

    process.counted[1] = 5
    found = {phase: dict(sums) for phase, sums in process.charges_of("anonymous_bytes").items()}

    assert plain == {"train": {0: 9 * PAGE}, OUTSIDE: {0: PAGE, 1: 7 * PAGE}}
    assert found == {"train": {0: 9 * PAGE}, OUTSIDE: {0: PAGE}, COUNTED: {1: 7 * PAGE}}
    changes = {phase: list(each) for phase, each in interval_changes(Side(process, None), "anonymous_bytes").items()}
    assert changes == {"train": [9 * PAGE], OUTSIDE: [PAGE]}
