from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from phaseprof.analysis.compare import Comparison, compare
from phaseprof.analysis.imports import import_files
from phaseprof.errors import UsageError
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run, load_run
from phaseprof.report.compare_text import compare_sentence, compare_text

TRACES = Path(__file__).parents[1] / "data" / "traces"
KIB = 1024


def make_run(
    level: Callable[[int], float], n: int = 60, *, metric: str = "cuda0/allocated_bytes", step: int = 1, rank: int = 0,
    commit: str = "",
) -> Run:  # fmt: skip
    process = ProcessRun()
    process.add(
        fmt.Header(
            format=1,
            phaseprof="0",
            pid=1,
            started_unix_s=0,
            started_ns=0,
            page_bytes=4096,
            rank=rank,
            git_commit=commit,
        )
    )
    for g in range(n):
        process.add(fmt.GenerationBegin(g, g, g * step))
        process.add(fmt.Metrics(g, g, {metric: level(g)}))
    return Run(None, [process])


def grows(kib: float, noise: float = 0.0, seed: int = 0) -> Callable[[int], float]:
    random_numbers = random.Random(seed)
    return lambda g: 50e6 + kib * KIB * g + (random_numbers.gauss(0, noise * KIB) if noise else 0.0)


def compared(*runs: Run) -> Comparison:
    return compare(list(runs), [f"run{at}" for at in range(len(runs))])


def word_of(comparison: Comparison) -> str:
    assert comparison.headline is not None
    return comparison.headline.changes[0].word


@pytest.mark.parametrize(
    ("before", "after", "word", "worse"),
    [
        (grows(100), grows(0), "collapsed", False),
        (grows(100), grows(9), "collapsed", False),
        (grows(100), grows(50), "lower", False),
        (grows(100), grows(12), "lower", False),
        (grows(100), grows(95), "unchanged", False),
        (grows(100), grows(105), "unchanged", False),
        (grows(100), grows(120), "higher", True),
        (grows(0), grows(100), "higher", True),
        (grows(0), grows(0), "unchanged", False),
        (grows(0), grows(0.1), "unchanged", False),
        (grows(100, noise=300, seed=1), grows(0, noise=300, seed=2), "collapsed", False),
        (grows(100, noise=300, seed=1), grows(100, noise=300, seed=2), "unchanged", False),
        (grows(0, noise=300, seed=1), grows(0, noise=300, seed=2), "unchanged", False),
        (grows(0, noise=300, seed=1), grows(100, noise=300, seed=2), "higher", True),
    ],
)
def test_words(before: Callable[[int], float], after: Callable[[int], float], word: str, worse: bool) -> None:
    comparison = compared(make_run(before), make_run(after))

    assert word_of(comparison) == word
    assert comparison.is_worse() == worse


def test_noise_alone_is_rarely_called_a_difference() -> None:
    words = [
        word_of(compared(make_run(grows(0, 200, seed)), make_run(grows(0, 200, seed + 1000)))) for seed in range(40)
    ]

    assert words.count("unchanged") >= 38


def test_slopes_and_interval() -> None:
    comparison = compared(make_run(grows(100, 50, 3), 100), make_run(grows(40, 50, 4), 100))
    assert comparison.headline is not None

    change = comparison.headline.changes[0]

    assert change.low < -60 * KIB < change.high
    assert change.high - change.low < 10 * KIB
    assert change.ratio == pytest.approx(0.4, abs=0.05)


def test_readings_closer_than_usual_are_judged_too() -> None:
    """A series that is read every other generation may have one more reading, at the end."""
    runs = []
    for kib in (0, 100):
        process = make_run(grows(0), 41).processes[0]
        for g in (*range(0, 40, 2), 39, 40):
            process.add(fmt.Metrics(g, g, {"rss_bytes": grows(kib)(g)}))
        runs.append(Run(None, [process]))

    row = next(row for row in compared(*runs).rows if row.metric == "rss_bytes")

    assert row.slopes[1].slope == pytest.approx(100 * KIB, rel=0.05)


def test_only_common_generations_count() -> None:
    """A buffer that fills is no better for having run longer, nor a leak worse."""
    comparison = compared(make_run(grows(10), 40), make_run(lambda g: 50e6 + 10 * KIB * min(g, 60), 200))

    assert (comparison.first, comparison.last) == (0, 39)
    assert word_of(comparison) == "unchanged"


def test_verdict_on_the_whole_run_is_kept_beside() -> None:
    comparison = compared(make_run(grows(10), 40), make_run(lambda g: 50e6 + 30 * KIB * min(g, 60), 200))
    assert comparison.headline is not None

    assert comparison.headline.slopes[1].verdict == "leak"
    assert comparison.headline.slopes[1].whole == "plateau"
    assert not comparison.is_worse()


def test_steps_of_different_spacing_are_aligned_by_step() -> None:
    every_100 = make_run(lambda g: 5e7 + 100 * KIB * g, 60, step=100)
    every_50 = make_run(lambda g: 5e7 + 50 * KIB * g, 120, step=50)

    comparison = compared(every_100, every_50)

    assert comparison.unit == "step"
    assert comparison.headline is not None
    assert [slope.slope for slope in comparison.headline.slopes] == pytest.approx([KIB, KIB])
    assert word_of(comparison) == "unchanged"


def test_too_short() -> None:
    comparison = compared(make_run(grows(100), 4), make_run(grows(0), 4))

    assert comparison.is_too_short
    assert compare_sentence(comparison).startswith("Too short")


def test_nothing_in_common() -> None:
    comparison = compared(make_run(grows(1), metric="rss_bytes"), make_run(grows(1), metric="uss_bytes"))

    assert comparison.headline is None
    assert comparison.is_too_short


def test_reserved_memory_does_not_make_a_run_worse_where_allocated_speaks() -> None:
    def both(allocated: float, reserved: float) -> Run:
        run = make_run(grows(allocated))
        for g in range(60):
            run.main.add(fmt.Metrics(g, g, {"cuda0/reserved_bytes": 1e8 + reserved * KIB * g}))
        return run

    comparison = compared(both(0, 0), both(0, 500))

    assert not comparison.is_worse()
    assert [row.changes[0].word for row in comparison.rows] == ["unchanged", "higher"]


def run_of(metrics: dict[str, list[float]]) -> Run:
    run = make_run(grows(0), n=len(next(iter(metrics.values()))))
    for metric, values in metrics.items():
        for g, value in enumerate(values):
            run.main.add(fmt.Metrics(g, g, {metric: value}))
    return run


def wandering(number: int, n: int = 40) -> list[float]:
    """A count that grows by a hundred a generation on the whole, and wanders as a process does: caches, the machine."""
    rng = random.Random(number)
    total, pace, values = 0.0, 0.0, []
    for _ in range(n):
        pace = 0.8 * pace + rng.gauss(0, 25)
        total += max(0.0, 100 + pace)
        values.append(float(round(total)))
    return values


@pytest.mark.parametrize("seed", range(20))
def test_two_runs_of_one_program_are_alike(seed: int) -> None:
    before, after = ({f"count/kind{n}": wandering(1000 * seed + 50 * run + n) for n in range(20)} for run in (0, 1))

    assert not compared(run_of(before), run_of(after)).is_worse()


def test_a_run_that_leaks_ten_times_as_much_is_worse_for_all_that_it_wanders() -> None:
    before, after = wandering(1), [10 * value for value in wandering(2)]

    assert compared(run_of({"count/kind": before}), run_of({"count/kind": after})).is_worse()


@pytest.mark.parametrize("metric", ["gc/gc_pause_s", "gc/gc_collections_0", "generation_seconds"])
def test_what_the_machine_does_makes_no_run_worse(metric: str) -> None:
    before = run_of({metric: [1.0 * g for g in range(30)], "count/Env": [5.0] * 30})
    after = run_of({metric: [3.0 * g for g in range(30)], "count/Env": [5.0] * 30})

    assert not compared(before, after).is_worse()


def test_counts_make_a_run_worse() -> None:
    def both(objects: float) -> Run:
        run = make_run(grows(0))
        for g in range(60):
            run.main.add(fmt.Metrics(g, g, {"count/Env": 2 + objects * g}))
        return run

    assert compared(both(0), both(1)).is_worse()


def test_counts_that_are_written_when_they_change_hold_until_then() -> None:
    def both(objects: int) -> Run:
        run = make_run(grows(0))
        for g in range(60):
            changed = {"count/Env": 2.0 + objects * g} if objects or g == 0 else {}
            run.main.add(fmt.Metrics(g, g, {"n_objects": 1000.0, **changed}))
        return run

    assert compared(both(0), both(1)).is_worse()


def test_more_than_two_runs_are_held_against_the_first() -> None:
    comparison = compared(make_run(grows(100)), make_run(grows(0)), make_run(grows(200)))
    assert comparison.headline is not None

    assert [change.word for change in comparison.headline.changes] == ["collapsed", "higher"]
    assert comparison.is_worse()


def test_one_run_is_refused() -> None:
    with pytest.raises(UsageError, match="two runs or more"):
        compared(make_run(grows(1)))


def test_unknown_rank_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--rank must be a rank of every run \(got 5, a has \[0\]\)"):
        compare([make_run(grows(1)), make_run(grows(1))], ["a", "b"], rank=5)


def test_other_differences_of_the_headers_are_told() -> None:
    comparison = compared(make_run(grows(1), commit="aaa"), make_run(grows(1), commit="bbb"))

    assert comparison.also_differ == ("git_commit: aaa / bbb",)
    assert "more than one thing" in compare_sentence(comparison)


def phased(train_kib: float) -> Run:
    """A run in which ``train`` keeps memory, ``evaluate`` takes and gives back."""
    process = ProcessRun()
    process.add(fmt.Header(format=1, phaseprof="0", pid=1, started_unix_s=0, started_ns=0, page_bytes=KIB))
    for at, name in enumerate(("evaluate", "train")):
        process.add(fmt.Label(at, name, "phase"))
    level = 100_000.0
    for g in range(40):
        process.add(fmt.GenerationBegin(g, g, g))
        for at, kept in ((0, 0.0), (1, train_kib)):
            process.add(fmt.Point(g, at, fmt.ENTER, g, m=f"0 {level:.0f} 0"))
            level += kept
            process.add(fmt.Point(g, at, fmt.EXIT, g, m=f"0 {level:.0f} 0"))
    process.fold()
    return Run(None, [process])


def test_phase_in_which_runs_part_is_named() -> None:
    comparison = compared(phased(0), phased(64))

    words = {row.point: row.changes[0].word for row in comparison.phases}
    assert words["train"] == "higher"
    assert words["evaluate"] == "unchanged"
    assert "They differ in 'train', and nowhere else." in compare_sentence(comparison)


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("traces")
    names = ("dreamer_collect", "dreamer_none", "dreamer_graph", "healthy_fill", "healthy_varlen", "leak_league")
    for name in names:
        import_files([TRACES / f"{name}.csv.gz"], folder / name)
    return {name: load_run(folder / name) for name in names}


def test_collection_without_graph_collapses_the_real_leak(traces: dict[str, Run]) -> None:
    comparison = compare([traces["dreamer_collect"], traces["dreamer_none"]], ["collect", "none"])
    assert comparison.headline is not None

    assert comparison.headline.metric == "cuda0/allocated_bytes"
    assert comparison.headline.slopes[0].slope == 88064
    assert word_of(comparison) == "collapsed"
    assert "'after collect'" in compare_sentence(comparison)
    assert not comparison.is_worse()


def test_real_leak_is_worse_than_the_healthy_run(traces: dict[str, Run]) -> None:
    assert compare([traces["dreamer_none"], traces["dreamer_graph"]], ["none", "graph"]).is_worse()


def test_real_leak_in_steps_is_worse(traces: dict[str, Run]) -> None:
    assert compare([traces["healthy_fill"], traces["leak_league"]], ["fill", "league"]).is_worse()


@pytest.mark.parametrize("pair", [("healthy_fill", "healthy_varlen"), ("healthy_varlen", "healthy_fill")])
def test_healthy_runs_are_not_worse_than_each_other(traces: dict[str, Run], pair: Sequence[str]) -> None:
    assert not compare([traces[name] for name in pair], pair).is_worse()


def test_text_has_one_row_a_run_and_fits_the_sentence_to_the_width(traces: dict[str, Run]) -> None:
    comparison = compare([traces["dreamer_collect"], traces["dreamer_none"]], ["x/collect", "x/none"])

    lines = compare_text(comparison).splitlines()

    assert sum(line.startswith(("collect ", "none ")) for line in lines) == 2
    assert max(map(len, lines[-5:])) <= 80


def test_json_ready() -> None:
    import json

    document = json.loads(json.dumps(compared(make_run(grows(1)), make_run(grows(2))).to_dict()))

    assert document["format"] == 1
    assert document["headline"]["changes"][0]["word"] == "higher"
    assert document["worse"] is True
