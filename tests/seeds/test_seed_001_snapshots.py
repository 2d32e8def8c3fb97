"""Seed 001: snapshots at phase ends, expected counts, trend, growth, large objects, four scenarios, what to report."""

from __future__ import annotations

import gc
import json
import re
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from seed_programs import MIB, DDPGAgent, ReplayBuffer, TradingEnvironment, generations, nothing, run_on_device

from phaseprof import Profiler, load
from phaseprof.analysis.findings import find_leaks
from phaseprof.cli import main
from phaseprof.errors import ExpectationError
from phaseprof.report.build import build_growth, build_snapshot, build_what_to_report
from phaseprof.units import format_bytes

PHASES = ("evaluate_population", "train_population", "evolve_population")


@pytest.fixture
def profiler() -> Profiler:
    made = Profiler()
    made.watch(TradingEnvironment, expected=2)
    yield made  # type: ignore[misc]  # a fixture
    made.close()


def scenario(leaking: str, folder: Path, *, n: int = 12, first: int = 1) -> Profiler:
    """Three phases; the one that leaks keeps sixteen of its own kind in each generation."""
    made = {PHASES[0]: TradingEnvironment, PHASES[1]: ReplayBuffer, PHASES[2]: DDPGAgent}
    kept: list[object] = []
    environments = [TradingEnvironment(), TradingEnvironment()]
    profiler = Profiler(str(folder / "run"), budget=None)
    for cls, expected in ((TradingEnvironment, 2), (DDPGAgent, None), (ReplayBuffer, None)):
        profiler.watch(cls, expected=expected)
    steps = {p: (lambda _, p=p: kept.extend(made[p]() for _ in range(16))) if p == leaking else nothing for p in PHASES}
    generations(profiler, range(first, first + n), **steps)
    profiler.findings()
    profiler.close()
    assert len(environments) == 2
    return profiler


def test_001_01_resident_and_virtual_memory(profiler: Profiler) -> None:
    snapshot = profiler.snapshot("Trainer initialized (baseline)")

    figures, text = snapshot.to_dict()["process"], str(snapshot)
    for title, name in (("RSS (actual RAM)", "rss_bytes"), ("VMS (virtual)", "vms_bytes")):
        assert re.search(rf"{re.escape(title)}: +{re.escape(format_bytes(figures[name]))}$", text, re.MULTILINE)  # type: ignore[index]


def test_001_02_memory_of_a_device() -> None:
    text = str(build_snapshot(run_on_device([2048.0, 2050.0]), "Gen 1: After rollout"))

    assert "Allocated:             2.00 GiB" in text
    assert "Reserved:              2.25 GiB" in text


def test_001_03_watched_classes_are_counted_under_the_default_budget(profiler: Profiler) -> None:
    kept: list[TradingEnvironment] = [TradingEnvironment(), TradingEnvironment()]
    generations(profiler, range(1, 4), evaluate_population=lambda _: kept.append(TradingEnvironment()))

    report = profiler.growth().to_dict()

    assert [(c["name"], c["current"]) for c in report["counts"]] == [("TradingEnvironment", 5)]  # type: ignore[union-attr, index]


def test_001_04_lists_dicts_arrays_and_tensors(profiler: Profiler) -> None:
    np, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")

    def counts() -> dict[str, int]:
        common = profiler.log_memory("baseline", show_objects=True).to_dict()["common"]
        return {one["name"]: one["count"] for one in common}  # type: ignore[union-attr, index]

    gc.collect()  # what another test left would be collected in between
    before = counts()
    lists, dicts = [[n] for n in range(3_000)], [{"n": [n]} for n in range(2_000)]
    arrays, tensors = [np.zeros(3) for _ in range(1_000)], [torch.zeros(3) for _ in range(500)]
    after = counts()

    more = {name: after[name] - before[name] for name in after}
    wanted = (len(lists) + len(dicts), len(dicts), len(arrays), len(tensors))
    assert tuple(more) == ("Lists", "Dicts", "NumPy arrays", "PyTorch Tensors")
    assert tuple(more.values()) == pytest.approx(wanted, abs=50)  # a few of the process's own come and go


def test_001_05_the_largest_objects(profiler: Profiler) -> None:
    big = bytearray(60_000_000)

    rows = profiler.large_objects(min_mb=50).to_dict()["objects"]

    assert ("bytearray", 60_000_000) in [(row["type_name"], row["size_bytes"] // 1000 * 1000) for row in rows]  # type: ignore[union-attr, index]
    assert big


def test_001_06_the_trend_keeps_every_generation(profiler: Profiler) -> None:
    baseline = profiler.log_memory("Trainer initialized (baseline)")
    generations(profiler, range(1, 5), evaluate_population=nothing, train_population=nothing)
    profiler.log_memory("Debug checkpoint 1")
    profiler.log_memory("Debug checkpoint 2")

    rows = profiler.trend().to_dict()["rows"]

    assert [row["label"] for row in rows] == [  # type: ignore[union-attr, index]
        "Trainer initialized (baseline)",
        *(f"Gen {g}: After {p}" for g in range(1, 5) for p in PHASES[:2]),
        "Debug checkpoint 1", "Debug checkpoint 2",
    ]  # fmt: skip
    sizes = [row["ram_bytes"] for row in rows]  # type: ignore[union-attr, index]
    assert sizes[0] == baseline.to_dict()["process"]["rss_bytes"]  # type: ignore[index]
    assert [row["change_bytes"] for row in rows] == [None, *(b - a for a, b in pairwise(sizes))]  # type: ignore[union-attr, index]


def test_001_07_a_snapshot_after_each_phase_is_recorded(profiler: Profiler) -> None:
    generations(profiler, [1], evaluate_population=nothing)

    assert any(row["label"] == "Gen 1: After evaluate_population" for row in profiler.trend().to_dict()["rows"])  # type: ignore[union-attr, index]


def test_001_08_the_baseline(profiler: Profiler) -> None:
    profiler.log_memory("Trainer initialized (baseline)")
    generations(profiler, [1], evaluate_population=nothing)

    assert profiler.growth().to_dict()["baseline"] == "Trainer initialized (baseline)"


def test_001_09_expected_counts_stand_beside(profiler: Profiler) -> None:
    environments = [TradingEnvironment(), TradingEnvironment()]

    assert "TradingEnvironment:      2  <- should be exactly 2" in str(profiler.snapshot("now"))
    assert environments


@pytest.mark.parametrize("n", [1, 18])
def test_001_10_a_count_that_is_wrong_is_marked(profiler: Profiler, n: int) -> None:
    environments = [TradingEnvironment() for _ in range(n)]

    assert "PROBLEM! should be 2" in str(profiler.snapshot("now"))
    profiler.reconfigure(on_violation="raise")
    with pytest.raises(ExpectationError, match=f"expected exactly 2, found {n}"):
        generations(profiler, [1], evaluate_population=nothing)
    assert environments


def test_001_11_the_layout_of_the_trend(profiler: Profiler) -> None:
    profiler.log_memory("Trainer initialized (baseline)")

    lines = str(profiler.trend()).splitlines()

    assert "MEMORY TREND ACROSS GENERATIONS" in lines[1]
    assert lines[3].split() == ["Label", "RAM", "(GiB)", "Change"]
    assert lines[5].endswith("baseline")


def test_001_12_trend_and_growth_on_call(profiler: Profiler, capsys: pytest.CaptureFixture[str]) -> None:
    generations(profiler, [1, 2], evaluate_population=nothing)
    nothing_by_itself = capsys.readouterr().out
    profiler.print_memory_trend()
    trend = capsys.readouterr().out
    profiler.print_memory_growth()
    growth = capsys.readouterr().out

    assert nothing_by_itself == ""
    assert "MEMORY TREND ACROSS GENERATIONS" in trend
    assert re.findall(r"^Gen \d: After evaluate_population", trend, re.MULTILINE) == [
        "Gen 1: After evaluate_population", "Gen 2: After evaluate_population",
    ]  # fmt: skip
    assert "MEMORY GROWTH ANALYSIS" in growth
    assert "Current:  Gen 2: After evaluate_population" in growth


def test_001_13_growth_in_bytes_and_percent() -> None:
    text = str(build_growth(run_on_device([2048.0, 2200.0, 2560.0])))

    assert "RAM Usage:" in text
    device = [line.split() for line in text[text.index("GPU Usage:") :].splitlines()[1:4]]
    assert device == [
        ["Baseline:", "2.00", "GiB"], ["Current:", "2.50", "GiB"], ["Growth:", "+512.00", "MiB", "(+25.0%)"],
    ]  # fmt: skip


def test_001_14_counts_that_are_right_are_called_good(profiler: Profiler) -> None:
    environments = [TradingEnvironment(), TradingEnvironment()]
    profiler.log_memory("baseline")
    generations(profiler, [1, 2], evaluate_population=nothing)

    assert "(+0)  <- GOOD!" in str(profiler.growth())
    environments.append(TradingEnvironment())
    profiler.log_memory("later")
    assert re.search(r"2 . +3 \(\+1\)  <- .*PROBLEM! should be 2", str(profiler.growth()))
    assert "GOOD!" not in str(profiler.growth())


def test_001_15_arrays_and_tensors_change_too(profiler: Profiler) -> None:
    np, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    profiler.log_memory("before", show_objects=True)
    made = [np.zeros(3) for _ in range(60)], [torch.zeros(3) for _ in range(30)]
    profiler.log_memory("after", show_objects=True)

    changes = {c["name"]: c for c in profiler.growth().to_dict()["counts"]}  # type: ignore[union-attr, index]

    for name, kind in zip(("ndarray", "Tensor"), made, strict=True):
        assert changes[name]["current"] - changes[name]["baseline"] == len(kind)


def test_001_16_the_final_summary_has_every_part(profiler: Profiler) -> None:
    profiler.track("replay", lambda: [1])
    generations(profiler, range(1, 8), items=64, evaluate_population=nothing)

    text = str(profiler.report())
    order = ["FINDINGS", "PHASES", "MEMORY TREND", "MEMORY GROWTH", "WATCHED", "Memory Report", "THROUGHPUT", "COST"]

    assert [text.index(words) for words in order] == sorted(text.index(words) for words in order)


def test_001_17_large_objects_in_the_final_summary(profiler: Profiler, capsys: pytest.CaptureFixture[str]) -> None:
    big = bytearray(60_000_000)
    generations(profiler, [1], evaluate_population=nothing)

    profiler.print_summary(full=True)

    assert "LARGE OBJECTS (>= 50 MB)" in capsys.readouterr().out
    assert big


@pytest.mark.parametrize(
    ("phase", "subject"),
    [
        pytest.param("evaluate_population", "TradingEnvironment", id="001_18 environments"),
        pytest.param("train_population", "ReplayBuffer", id="001_19 batches"),
        pytest.param("evolve_population", "DDPGAgent", id="001_20 agents"),
    ],
)
def test_001_18_to_20_a_leak_in_each_phase(phase: str, subject: str, tmp_path: Path) -> None:
    scenario(phase, tmp_path)

    (found, *_) = find_leaks(load(tmp_path / "run").main)

    assert (found.verdict, found.phase, found.subject) == ("leak", phase, subject)
    assert any("kept" in step for step in found.holder)


def test_001_21_a_healthy_run_is_told_so_and_nothing_warns(tmp_path: Path) -> None:
    profiler = scenario("", tmp_path)

    text = str(profiler.report())

    assert "No leak found in 12 generations." in text
    assert "WARNING" not in text
    assert "potential leak" not in text


def test_001_22_log_memory_prints_and_returns(profiler: Profiler, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot = profiler.log_memory("Debug checkpoint 1", show_objects=True)

    assert "MEMORY SNAPSHOT: Debug checkpoint 1" in capsys.readouterr().out
    assert snapshot.to_dict()["label"] == "Debug checkpoint 1"


def test_001_23_growth_since_a_label(profiler: Profiler, capsys: pytest.CaptureFixture[str]) -> None:
    profiler.log_memory("Debug checkpoint 1")
    profiler.log_memory("Debug checkpoint 2")
    profiler.log_memory("Debug checkpoint 3")

    profiler.print_memory_growth(baseline_label="Debug checkpoint 2")

    assert "Baseline: Debug checkpoint 2\nCurrent:  Debug checkpoint 3" in capsys.readouterr().out


@pytest.fixture(scope="module")
def leaking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Environments leak from generation 101 on, in a run that was resumed there."""
    folder = tmp_path_factory.mktemp("leaking")
    scenario(PHASES[0], folder, first=101)
    return folder / "run"


def test_001_24_the_block_to_paste(leaking: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["report", str(leaking), "--markdown"])

    text = capsys.readouterr().out
    assert "LEAK FOUND" in text
    assert "- Phase: `evaluate_population`" in text


def test_001_25_the_rate(leaking: Path) -> None:
    (found, *_) = find_leaks(load(leaking).main)

    assert found.slope == pytest.approx(16)
    assert "+16 objects (about " in found.summary


def test_001_26_one_number_for_the_generation_it_started(
    leaking: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    process = load(leaking).main
    (found, *_) = find_leaks(process)
    main(["check", "--json", str(leaking)])
    tree = json.loads(capsys.readouterr().out)

    assert (found.since_generation, found.since_ordinal) == (101, 0)
    assert "since generation 101" in found.summary
    assert tree["findings"][0]["since_generation"] == 101
    assert "Started at generation 101" in build_what_to_report(process, [found]).to_markdown()


@pytest.mark.parametrize("first", [0, 5])
def test_001_26_of_a_counter_it_is_the_first_generation_that_grew(first: int) -> None:
    (found, *_) = find_leaks(run_on_device([2048.0 + 40 * max(0, g + 1 - first) for g in range(30)]))

    assert (found.since_generation, found.since_ordinal) == (first, first)


def test_001_27_a_snapshot_is_attached(leaking: Path) -> None:
    process = load(leaking).main

    assert "MEMORY SNAPSHOT" in build_what_to_report(process, find_leaks(process)).to_markdown()


def test_001_28_a_run_that_is_resumed_keeps_its_numbers(leaking: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["report", str(leaking), "--full"])

    assert "Gen 101: After evaluate_population" in capsys.readouterr().out


def test_001_29_memory_is_read_with_what_the_base_install_has(profiler: Profiler) -> None:
    told = profiler.snapshot("now").to_dict()["process"]["rss_bytes"]  # type: ignore[index]

    assert told == pytest.approx(psutil.Process().memory_info().rss, abs=8 * MIB)
