"""What each report says of recordings that are not the usual ones."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from phaseprof import Profiler
from phaseprof.errors import UsageError
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run
from phaseprof.records import Evidence, Finding
from phaseprof.report import build
from phaseprof.report.findings import slope_text
from phaseprof.report.text import Style, text_width
from phaseprof.report.words import metric_words

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1 << 20
GIB = 1 << 30


def recorded(*records: fmt.Record) -> ProcessRun:
    process = ProcessRun()
    for record in records:
        process.add(record)
    process.fold()
    return process


def metrics(name: str, values: list[float | None], *, at: str = "generation end") -> list[fmt.Record]:
    """One metric over generations; ``None`` where it was not measured."""
    return [fmt.Metrics(g, g, {name: v}, at) for g, v in enumerate(values) if v is not None]


def snapshot(label: str, rss: float, *, g: int = -1, t: int = 0, **counts: int) -> fmt.SnapshotTaken:
    return fmt.SnapshotTaken(t, g, label, {"rss_bytes": rss}, counts)


# --- snapshot, trend, growth


def test_the_newest_snapshot_with_a_label_is_reported() -> None:
    process = recorded(snapshot("here", GIB), snapshot("here", 2 * GIB))

    assert build.build_snapshot(process, "here").process["rss_bytes"] == 2 * GIB


@pytest.mark.parametrize("ask", [build.build_snapshot, build.build_growth])
def test_an_unknown_label_names_the_nearest(ask: Callable[[ProcessRun, str], object]) -> None:
    process = recorded(snapshot("Debug checkpoint 1", GIB), snapshot("other", GIB))

    with pytest.raises(UsageError, match=r"'Debug checkpiont 1'.*'Debug checkpoint 1'"):
        ask(process, "Debug checkpiont 1")


def test_a_label_asked_of_an_empty_recording_says_what_to_do(empty: ProcessRun) -> None:
    with pytest.raises(UsageError, match="nothing was recorded; call log_memory"):
        build.build_growth(empty, "baseline")


@pytest.mark.parametrize(
    ("low", "high", "count", "line"),
    [
        (2, 2, 2, "<- should be exactly 2"),
        (2, 2, 18, "<- PROBLEM! should be 2"),
        (16, 17, 17, "<- (expected 16-17)"),
        (16, 17, 18, "<- PROBLEM! expected 16-17"),
        (16, 17, 15, "<- PROBLEM! expected 16-17"),
        (1, -1, 1, "<- (expected at least 1)"),
        (-1, 3, 4, "<- PROBLEM! expected at most 3"),
    ],
)
def test_a_count_is_judged_by_its_bounds(low: int, high: int, count: int, line: str) -> None:
    process = recorded(fmt.Watch("Env", low, high), snapshot("s", GIB, Env=count))

    shown = build.build_snapshot(process, "s").render(Style(unicode=False)).splitlines()

    assert f"   Env:{count:>22}  {line}" in shown


def test_several_devices_are_named() -> None:
    figures = {"cuda0/allocated_bytes": GIB, "cuda1/allocated_bytes": 2 * GIB, "storages/cpu_bytes": 5.0}
    process = recorded(fmt.SnapshotTaken(0, 0, "s", figures))

    report = build.build_snapshot(process, "s")

    assert [d.device for d in report.devices] == ["cuda0", "cuda1"]
    assert "GPU Memory (cuda1):" in report.render(Style())


def test_watched_classes_of_one_short_name_are_kept_apart() -> None:
    process = recorded(
        fmt.Watch("Env", 1, 1), fmt.Watch("other.Env", 2, 2),
        fmt.SnapshotTaken(0, 0, "s", {"watched/Env": 1, "watched/other.Env": 2}, {"Env": 3}),
    )  # fmt: skip

    report = build.build_snapshot(process, "s")

    assert [(c.name, c.count, c.is_broken) for c in report.watched] == [("Env", 1, False), ("other.Env", 2, False)]


def test_trend_keeps_every_generation_beside_the_snapshots(leaky: ProcessRun) -> None:
    leaky.add(snapshot("inside", 8 * GIB, g=2, t=0))
    leaky.add(snapshot("after the loop", 9 * GIB, g=4, t=1 << 60))

    labels = [row.label for row in build.build_trend(leaky).rows]

    assert labels[0] == "Trainer initialized (baseline)"
    assert labels[-1] == "after the loop"
    assert labels[labels.index("inside") + 1] == "Gen 3: After evaluate_population"
    assert sum(label.startswith("Gen ") for label in labels) == 15


def test_trend_says_how_many_generations_were_not_kept() -> None:
    process = recorded(*metrics("rss_bytes", [GIB] * 5000))

    report = build.build_trend(process)

    assert report.n_thinned == 5000 - len(report.rows) > 0
    assert f"({report.n_thinned:,} generations of this long run were not kept)" in report.render(Style())


def test_trend_falls_back_on_phases_where_no_generation_was_declared() -> None:
    process = recorded(fmt.Label(0, "train", "phase"), *metrics("rss_bytes", [GIB, 2 * GIB], at="after train"))

    rows = build.build_trend(process).rows

    assert [(row.label, row.change_bytes) for row in rows] == [
        ("Gen 0: After train", None),
        ("Gen 1: After train", GIB),
    ]


def test_trend_leaves_out_phases_inside_phases() -> None:
    process = recorded(
        fmt.Label(0, "outer", "phase"), fmt.Label(1, "inner", "phase", parent=0),
        *metrics("rss_bytes", [GIB], at="after inner"), *metrics("rss_bytes", [GIB], at="after outer"),
    )  # fmt: skip

    assert [row.label for row in build.build_trend(process).rows] == ["Gen 0: After outer"]


@pytest.mark.parametrize(("n_recorded", "n_counted", "told"), [(7, 0, 7), (7, 3, 10), (2, 38, 40)])
def test_generations_that_were_only_counted_are_among_those_judged(n_recorded: int, n_counted: int, told: int) -> None:
    process = recorded(
        fmt.Label(0, "generation", "generation"),
        fmt.Label(1, "train", "phase"),
        *(fmt.GenerationBegin(g, g, g) for g in range(n_recorded)),
        *metrics("rss_bytes", [1e9] * n_recorded),
        fmt.Visits(99, n_recorded, {0: n_counted, 1: 500}),
    )

    assert build.build_findings([], process=process).n_generations == told


def test_a_long_trend_is_elided_in_text_and_whole_in_data() -> None:
    process = recorded(*metrics("rss_bytes", [GIB + g * MIB for g in range(1000)]))

    report = build.build_trend(process)

    assert len(report.rows) == 1000
    assert "... (970 rows are left out here; all are in the JSON and on the page)" in report.render(Style())
    assert len(report.render(Style()).splitlines()) == 37


def test_a_small_process_keeps_its_digits() -> None:
    process = recorded(*metrics("rss_bytes", [100 * MIB, 105 * MIB]))

    assert " 0.103    +5.00 MiB" in build.build_trend(process).render(Style())


def test_growth_counts_from_the_first_moment_of_the_label() -> None:
    process = recorded(snapshot("a", GIB), snapshot("b", 2 * GIB), snapshot("b", 3 * GIB), snapshot("c", 7 * GIB))

    report = build.build_growth(process, "b")

    assert (report.memory[0].baseline_bytes, report.memory[0].growth_bytes) == (2 * GIB, 5 * GIB)


def test_growth_of_one_moment_says_so() -> None:
    process = recorded(snapshot("only", GIB))

    assert "nothing to compare" in build.build_growth(process).render(Style())


def test_growth_lists_the_types_that_grew_most() -> None:
    before = {f"T{n}": 100 for n in range(30)}
    after = {f"T{n}": 100 + n for n in range(30)}
    process = recorded(
        fmt.SnapshotTaken(0, 0, "a", {"rss_bytes": GIB}, before),
        fmt.SnapshotTaken(0, 1, "b", {"rss_bytes": GIB}, after),
    )

    assert [c.name for c in build.build_growth(process).counts] == [f"T{n}" for n in range(29, 19, -1)]


def test_types_not_counted_at_the_moments_are_compared_at_the_ends_of_generations(leaky: ProcessRun) -> None:
    leaky.add(snapshot("end", 9 * GIB, g=4, t=1 << 60, TradingEnvironment=82))

    changes = {c.name: (c.baseline, c.current, c.point) for c in build.build_growth(leaky).counts}

    assert changes["TradingEnvironment"] == (2, 82, "")
    assert changes["DDPGAgent"] == (16, 17, "now: the end of generation 5")
    assert changes["list"] == (12345, 12385, "now: the end of generation 5")


# --- large objects


def test_large_objects_are_cut_at_the_threshold_in_megabytes() -> None:
    rows = [("ndarray", 10**7, "", ""), ("Tensor", 10**7 - 1, "", ""), ("bytes", 3 * 10**7, "", "")]
    process = recorded(fmt.Large(0, 0, 10**6, rows))

    report = build.build_large_objects(process, 10)

    assert report.objects is not None
    assert [o.type_name for o in report.objects] == ["bytes", "ndarray"]


def test_a_threshold_below_the_recorded_one_is_admitted() -> None:
    process = recorded(fmt.Large(0, 0, 50 * MIB, []))

    assert "only objects of at least 52.43 MB were recorded" in build.build_large_objects(process, 1).render(Style())


# --- counts


def test_an_expectation_that_holds_again_says_when_it_was_broken() -> None:
    process = recorded(
        fmt.Watch("Env", 2, 2), *metrics("watched/Env", [2, 5, 2]), fmt.Violation(1, 1, "Env", 5, 2, 2, "train", 1)
    )

    row = build.build_counts(process).rows[0]

    assert (row.now, row.lowest, row.highest, row.is_broken, row.broken_since) == (2, 2, 5, False, "1")


def test_a_count_that_held_in_between_is_broken_since_it_broke_anew() -> None:
    broken = [fmt.Violation(g, g, "Env", n, 2, 2, "train", since) for g, n, since in [(1, 5, 1), (4, 3, 4), (5, 4, 4)]]
    process = recorded(fmt.Watch("Env", 2, 2), *metrics("watched/Env", [2, 5, 2, 2, 3, 4]), *broken)

    (row,) = build.build_counts(process).rows

    assert (row.now, row.is_broken, row.broken_since) == (4, True, "4")


def test_a_class_that_never_appeared_is_not_counted_as_zero() -> None:
    process = recorded(fmt.Watch("Env", 2, 2))

    row = build.build_counts(process).rows[0]

    assert (row.now, row.is_broken) == (None, False)
    assert "never counted" in build.build_counts(process).render(Style())


def test_counts_inside_a_generation_are_part_of_the_range() -> None:
    process = recorded(
        fmt.Watch("Env", 2, 9), *metrics("watched/Env", [2, 2]), *metrics("watched/Env", [3, 8], at="after train")
    )

    row = build.build_counts(process).rows[0]

    assert (row.now, row.lowest, row.highest) == (2, 2, 8)


# --- tracked names


@pytest.mark.parametrize(
    ("sizes_mb", "suspect"),
    [
        ([6 * g for g in range(20)], True),
        ([4 * g for g in range(20)], False),
        ([0, *[500] * 19], False),  # filled once
        ([min(100, 10 * g) for g in range(20)], False),  # a buffer that is full
        ([0, 100] * 10, False),  # emptied every other epoch
        ([100], False),
        ([0, 100], True),
    ],
)
def test_growth_over_the_threshold_is_suspect_while_it_lasts(sizes_mb: list[float], suspect: bool) -> None:
    process = recorded(*metrics("tracked/buffer", [mb * 10**6 for mb in sizes_mb]))

    assert build.build_tracked(process, 5.0).suspects == (("buffer",) if suspect else ())


def test_the_threshold_is_in_megabytes_not_mebibytes() -> None:
    process = recorded(*metrics("tracked/b", [5.1e6 * g for g in range(20)]))

    assert build.build_tracked(process, 5.0).suspects == ("b",)
    assert build.build_tracked(process, 5.2).suspects == ()


def test_a_name_that_is_not_measured_any_more_is_gone() -> None:
    process = recorded(*metrics("tracked/a", [1, 1, 1]), *metrics("tracked/b", [MIB, None, None]))

    report = build.build_tracked(process)

    assert {s.name: s.is_gone for s in report.sizes} == {"a": False, "b": True}
    assert "gone since epoch 0" in report.render(Style())


# --- rollout


def turns(rates: list[float], allocated: list[float]) -> list[fmt.Record]:
    records: list[fmt.Record] = []
    for g, (rate, size) in enumerate(zip(rates, allocated, strict=True)):
        records += [fmt.GenerationBegin(g, g, g + 1), fmt.Metrics(g, g, {"cuda0/allocated_bytes": size})]
        records.append(fmt.GenerationEnd(g, g, 2.0, 2 * rate))
    return records


def test_a_rollout_that_slows_down_while_memory_grows_is_warned_of() -> None:
    process = recorded(*turns([265 - 3 * g for g in range(50)], [2048 * MIB + 35 * MIB * g for g in range(50)]))

    text = build.build_rollout(process).render(Style())

    assert "Epoch 50:      118.0 items/s, GPU:    3.67 GiB  (+1.67 GiB) ⚠️" in text
    assert "WARNING: Memory growth detected: +1.67 GiB GPU" in text
    assert "(potential leak!)" in text


@pytest.mark.parametrize(
    "allocated_mib",
    [
        [2048] * 50,
        [1000, *[2048] * 49],
        [min(3000, 2048 + 100 * g) for g in range(50)],
        [2048 + 0.15 * g for g in range(50)],
    ],
)
def test_a_steady_rollout_is_not_warned_of(allocated_mib: list[float]) -> None:
    process = recorded(*turns([265.0] * 50, [mib * MIB for mib in allocated_mib]))

    report = build.build_rollout(process)

    assert "WARNING" not in report.render(Style())
    assert "potential leak" not in report.render(Style())


def test_milestones_of_a_long_run_are_shown() -> None:
    process = recorded(*turns([1.0] * 120, [0.0] * 120))

    shown = [
        line.split(":")[0] for line in build.build_rollout(process).render(Style()).splitlines() if "Epoch" in line
    ]

    assert shown == [f"Epoch {n}" for n in (1, 10, 20, 50, 100, 120)]


def test_a_profile_counts_the_items_up_to_its_generation() -> None:
    process = recorded(*turns([10.0, 20.0, 30.0], [GIB, GIB, GIB]))

    profile = build.build_rollout_profile(process, 1)

    assert (profile.generation, profile.items, profile.items_per_s) == ("2", 60.0, 20.0)


def test_a_profile_counts_the_items_of_generations_that_were_only_counted() -> None:
    counted = fmt.Visits(0, 0, {0: 3}, {0: 30.0}), fmt.Visits(9, 7, {0: 1}, {0: 9.0})
    process = recorded(fmt.Label(0, "generation", "generation"), *turns([5.0, 5.0], [1e9, 1e9]), *counted)

    assert build.build_rollout_profile(process).items == 2 * 10 + 30


def test_a_generation_that_did_not_end_has_no_profile() -> None:
    process = recorded(fmt.GenerationBegin(0, 0, 1))

    with pytest.raises(UsageError, match="no generation has ended"):
        build.build_rollout_profile(process)


# --- cost


def test_small_jobs_are_summed_up() -> None:
    process = recorded(fmt.Cost(0, 0, 100.0, {f"job{n}": 1.0 + n for n in range(12)}))

    text = build.build_cost(process).render(Style())

    assert re.search(r"^\(4 more\) +10\.000 +10\.00%$", text, re.MULTILINE)
    assert re.search(r"^total +78\.000 +78\.00%$", text, re.MULTILINE)


# --- explained


def test_what_was_not_measured_is_not_zero() -> None:
    process = recorded(*metrics("rss_bytes", [GIB, 2 * GIB]), *metrics("arrays_bytes", [0, 600 * MIB]))

    report = build.build_explained(process)

    assert {t.name: t.growth_bytes for t in report.terms}["torch storages (cpu)"] is None
    assert report.unattributed_bytes == 424 * MIB
    assert "torch storages (cpu)                      not measured" in report.render(Style())


def test_arrays_in_malloc_are_counted_once() -> None:
    process = recorded(
        *metrics("rss_bytes", [GIB, 2 * GIB]), *metrics("arrays_bytes", [0, 600 * MIB]),
        *metrics("malloc_in_use_bytes", [0, 700 * MIB]), *metrics("tracked/x", [0, 500 * MIB]),
    )  # fmt: skip

    report = build.build_explained(process)

    assert report.explained_bytes == 600 * MIB
    assert report.malloc_other_bytes == 100 * MIB
    terms = {term.name: term.growth_bytes for term in report.terms}
    assert (terms["tracked names"], terms["numpy arrays, not tracked"]) == (500 * MIB, 100 * MIB)


@pytest.mark.parametrize(("sizes", "said"), [([MIB], "not known: no name was sized twice"), ([MIB, MIB], "none")])
def test_no_growth_is_told_of_names_that_were_sized_twice(sizes: list[float], said: str) -> None:
    lines = build.build_tracked(recorded(*metrics("tracked/replay", sizes))).render(Style()).splitlines()

    assert lines[lines.index("Memory Growth:") + 1] == f"  {said}"


def test_what_a_tracked_buffer_took_is_not_unattributed() -> None:
    process = recorded(*metrics("rss_bytes", [GIB, 2 * GIB]), *metrics("tracked/replay", [0, GIB]))

    assert build.build_explained(process).unattributed_bytes == 0


def test_parts_are_compared_over_the_same_generations() -> None:
    process = recorded(
        *metrics("rss_bytes", [0, 10 * MIB, 20 * MIB, 30 * MIB]), *metrics("arrays_bytes", [None, 10 * MIB, 20 * MIB])
    )

    report = build.build_explained(process)

    assert (report.first, report.last, report.total_bytes, report.unattributed_bytes) == ("1", "2", 10 * MIB, 0)


# --- findings, what to report


def test_a_clean_run_says_how_long_it_was_watched(leaky: ProcessRun) -> None:
    report = build.build_findings([], process=leaky)

    assert "No leak found in 12 generations.\n" in replace(report, n_generations=12, answer="no leak").render(Style())


def test_a_short_run_without_findings_is_not_called_clean(leaky: ProcessRun) -> None:
    text = build.build_findings([], process=leaky).render(Style())

    assert "Too short to judge: a verdict needs 6 generations or more, and there were 5." in text
    assert "No leak" not in text
    assert "✅" not in text


def test_no_address_is_printed_for_a_container() -> None:
    assert metric_words("container/list@7f401e260300") == "items in list"


def test_every_metric_of_a_run_has_words() -> None:
    profiler = Profiler(budget=None)
    kept = []
    for turn in range(8):
        with profiler.generation(turn, items=1), profiler.phase("collect"):
            kept.append([[] for _ in range(5000)])
    profiler.findings()
    metrics = {metric for _, metric in profiler._session.recorder.model.series}
    profiler.close()

    assert {metric for metric in metrics if metric_words(metric) == metric} == set()
    assert {"rss_bytes", "malloc_in_use_bytes", "gc/gc_collections_2", "shm_user_bytes"} <= metrics


def test_too_short_is_not_clean(leak: Finding) -> None:
    text = build.build_findings([replace(leak, verdict="too short")]).render(Style())

    assert "Too short to judge" in text
    assert "✅" not in text


def test_what_was_read_too_seldom_does_not_gainsay_what_the_recording_answers(leak: Finding) -> None:
    unknown = build.build_findings([replace(leak, verdict="too short")])

    known = replace(unknown, n_generations=17, answer="no leak")

    assert known.conclusion == "No leak found in 17 generations, but 1 finding has too few readings to judge"
    assert "✅" not in known.render(Style())


def test_filling_is_no_leak(leak: Finding) -> None:
    text = build.build_findings([replace(leak, verdict="filling")]).render(Style())

    assert "\nNo leak found.\n" in text
    assert "1. FILLING (objects)" in text


def test_a_long_holder_path_has_one_step_a_line(leak: Finding) -> None:
    steps = tuple(f".attribute_number_{n} (SomeRatherLongClassName)" for n in range(12))

    lines = build.build_findings([replace(leak, holder=steps)]).render(Style()).splitlines()

    assert sum(".attribute_number_" in line for line in lines) == 12
    assert max(map(text_width, lines)) <= 80


def test_bytes_are_written_as_bytes(leak: Finding) -> None:
    finding = replace(leak, slope=7.0 * GIB, slope_low=6.5 * GIB, slope_high=7.5 * GIB, slope_unit="bytes/generation")

    assert slope_text(finding) == "+7.00 GiB per generation (95 %: 6.50 GiB to 7.50 GiB)"


def test_what_was_never_measured_is_never_called_clean() -> None:
    text = build.build_findings([], process=recorded()).render(Style())

    assert "Nothing was measured: no phase, checkpoint or generation was entered." in text
    assert "No leak" not in text


def test_evidence_leaves_out_what_merely_comes_with_a_leak(leak: Finding) -> None:
    also = tuple(Evidence("generation end", f"count/{name}", (0, 5), (1, 9)) for name in ("_thread.RLock", "PCG64"))
    container = Evidence("generation end", "container/list@7f", (0, 5), (80, 192))

    text = build.build_findings([replace(leak, evidence=(*leak.evidence, *also, container))]).render(Style())

    assert "TradingEnvironment objects: 18" in text
    assert "items in list: 80" in " ".join(text.split())
    assert "RLock" not in text


@pytest.mark.parametrize(
    ("slope", "unit", "told"),
    [
        (1.0, "shm_segments", "+1 shared-memory segment per generation"),
        (3.0, "shm_user_segments", "+3 shared-memory segments per generation"),
        (2.0, "children", "+2 child processes per generation"),
        (1.0, "objects", "+1 object per generation"),
        (1.04, "objects", "+1.04 objects per generation"),
    ],
)
def test_counts_are_written_with_words_that_fit_their_number(leak: Finding, slope: float, unit: str, told: str) -> None:
    finding = replace(leak, slope=slope, slope_low=slope, slope_high=slope, slope_unit=f"{unit}/generation")

    assert slope_text(finding) == told


def test_growth_in_the_block_to_paste_is_the_leak_s_own_where_it_is_in_bytes(leaky: ProcessRun, leak: Finding) -> None:
    finding = replace(leak, slope=7.0 * GIB, slope_low=7.0 * GIB, slope_high=7.0 * GIB, slope_unit="bytes/generation")

    assert "- Growth: +7.00 GiB per generation\n" in build.build_what_to_report(leaky, [finding]).render(Style())


def test_the_block_to_paste_counts_from_the_baseline(leaky: ProcessRun, leak: Finding) -> None:
    text = build.build_what_to_report(leaky, [leak]).render(Style())

    assert "- TradingEnvironment count: 2 → 82 (increasing by 16 each gen)" in text
    assert "- Started at generation 1" in text


def test_markdown_cannot_be_broken_out_of(leaky: ProcessRun, leak: Finding) -> None:
    finding = replace(leak, phase="x` | ```\n# heading", holder=("a``b",))

    text = build.build_what_to_report(leaky, [finding]).to_markdown()

    assert "- Phase: ````x` \\| ``` # heading````" in text
    assert "- Held by: ```a``b```" in text


# --- the run


def ranks(n: int) -> list[ProcessRun]:
    return [
        recorded(
            fmt.Header(1, "0.1.0", 100 + rank, 0.0, 0, 4096, rank=rank, world_size=n), *metrics("rss_bytes", [GIB]),
            fmt.End(9, "closed"),
        )
        for rank in range(n)
    ]


def test_several_ranks_get_a_table_and_a_section_each(leak: Finding) -> None:
    report = build.build_report(Run(None, ranks(3)), [[], [leak], []])

    text = report.render(Style())

    assert text.splitlines()[1] == "🗂️ RANKS"
    assert text.count("FINAL MEMORY ANALYSIS") == 3
    assert "<- leak evaluate_population TradingEnvironment" in text


def test_the_rank_that_leaks_comes_first(leak: Finding) -> None:
    text = build.build_report(Run(None, ranks(4)), [[], [], [leak], []]).render(Style(full=False))

    assert text.splitlines()[3] == "Rank 2 of 4 leaks; no leak was found in the other 3."
    assert re.findall(r"^(\d) +10\d +", text, re.MULTILINE) == ["2", "0", "1", "3"]
    assert re.findall(r"Process: +rank (\d)", text) == ["2"]
    assert "(3 more processes are in the table only" in text


def test_ranks_that_grow_unlike_the_others_are_named() -> None:
    def grown(rank: int, by: float) -> ProcessRun:
        header = fmt.Header(1, "0.1.0", 100 + rank, 0.0, 0, 4096, rank=rank, world_size=5)
        return recorded(header, *metrics("rss_bytes", [GIB, GIB + by]))

    growth = (2e6, 2.1e6, 1.9e6, 80e6, 2e6)
    run = Run(None, [grown(rank, by) for rank, by in enumerate(growth)])

    text = " ".join(build.build_report(run, [[]] * 5).render(Style()).split())

    assert "Memory of rank 3 changed by +76.29 MiB, of the median rank by +1.91 MiB." in text
    assert "leaks" not in text


def test_processes_of_one_rank_go_by_their_ids(leak: Finding) -> None:
    workers = [ProcessRun() for _ in range(3)]
    for pid, worker in enumerate(workers, 70):
        worker.add(fmt.Header(1, "0.1.0", pid, 0.0, 0, 4096))

    text = build.build_report(Run(None, workers), [[], [leak], [leak]]).render(Style(full=False))

    assert "Processes 71 and 72 of 3 leak; no leak was found in the other." in text


def test_ranks_that_grow_alike_are_not_told_apart() -> None:
    assert "median rank" not in build.build_report(Run(None, ranks(5)), [[]] * 5).render(Style())


def test_of_many_ranks_those_with_leaks_are_reported_in_full(leak: Finding) -> None:
    findings: list[list[Finding]] = [[] for _ in range(100)]
    findings[77] = [leak]

    report = build.build_report(Run(None, ranks(100)), findings, max_sections=2)

    assert [s.header.rank for s in report.sections] == [77, 0]
    assert "(98 more processes are in the table only" in report.render(Style())


def test_findings_must_match_the_processes() -> None:
    with pytest.raises(UsageError, match="got 1 for 2 processes"):
        build.build_report(Run(None, ranks(2)), [[]])


def test_the_json_is_versioned_with_findings_on_top(leaky: ProcessRun, leak: Finding) -> None:
    data = build.build_report(Run(None, [leaky]), [[leak]]).to_dict()

    assert data["format"] == 1
    assert isinstance(data["findings"], list)
    assert data["findings"][0]["phase"] == "evaluate_population"


def test_a_run_that_was_killed_says_so_first() -> None:
    killed = recorded(fmt.Header(1, "0.1.0", 100, 0.0, 0, 4096), *metrics("rss_bytes", [GIB]))

    text = build.build_report(Run(None, [killed]), [[]]).render(Style())

    assert text.startswith("Died:     ended without a word")


def test_a_note_is_told_once() -> None:
    header, note = fmt.Header(1, "0.1.0", 100, 0.0, 0, 4096), fmt.Note(0, "short")
    process = recorded(header, *metrics("rss_bytes", [GIB]), note, note, note)

    assert build.build_report(Run(None, [process]), [[]]).render(Style()).count("Note:     short") == 1


def test_of_a_forked_child_that_died_the_process_is_said() -> None:
    parent = recorded(fmt.Header(1, "0.1.0", 100, 0.0, 0, 4096), *metrics("rss_bytes", [GIB]), fmt.End(9, "closed"))
    child = recorded(fmt.Header(1, "0.1.0", 101, 0.0, 0, 4096), *metrics("rss_bytes", [GIB]))

    text = build.build_report(Run(None, [parent, child]), [[], []]).render(Style())

    assert text.startswith("Died:     process 101, ended without a word")


@pytest.mark.parametrize(
    "label", ["x" * 10_000, "<script>alert(1)</script>", "a\nb\x1b[2J\u202e", "🚀" * 50, "é" * 90, ""]
)
@pytest.mark.parametrize("unicode", [True, False])
def test_any_label_keeps_the_layout(label: str, unicode: bool, leak: Finding) -> None:
    process = recorded(
        fmt.Label(0, label, "phase"), fmt.Watch(label, 1, 2), snapshot(label, GIB, g=0),
        snapshot(label + "2", GIB, g=1),
        *metrics(f"watched/{label}", [1, 3]), *metrics(f"tracked/{label}", [0, 10**9]), fmt.Note(0, label),
        fmt.Large(0, 0, 0, [(label, 10**9, label, label)]), fmt.Violation(1, 1, label, 3, 1, 2, label, 1),
        fmt.Cost(0, 0, 1.0, {label: 0.1}, {label: 1}), fmt.GenerationBegin(0, 0, label),
        fmt.GenerationEnd(1, 0, 1.0, 1),
    )  # fmt: skip
    finding = replace(leak, phase=label, subject=label, holder=(label, label), summary=label, advice=label, site=label)

    report = build.build_report(Run(None, [process]), [[finding]])
    pasted = build.build_what_to_report(process, [finding])
    lines = f"{report.render(Style(unicode=unicode))}\n{pasted.render(Style(unicode=unicode))}".split("\n")

    assert [line for line in lines if text_width(line) > 80] == []
    assert not [line for line in lines if "\x1b" in line or "\u202e" in line]


@pytest.mark.parametrize(("n_readings", "says_half"), [(2, False), (3, True)])
def test_two_sizes_say_nothing_of_half_of_a_run(n_readings: int, says_half: bool) -> None:
    process = ProcessRun()
    for at in range(n_readings):
        process.add(fmt.Metrics(at, 10 * at, {"tracked/replay": 1e8 * at}, "generation end"))

    text = str(build.build_tracked(process, 5.0))

    assert "WARNING: Potential memory leaks detected in: ['replay']" in text
    assert ("newer half" in text) is says_half
