"""Series of snapshots side by side: ``diff`` and ``experiment`` on folders of them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from snapshot_builders import RECORDED, live_blocks, segment, snapshot, write_series

from phaseprof.analysis.compare import Comparison, Row
from phaseprof.analysis.compare_snapshots import compare_snapshots
from phaseprof.analysis.snapshots.files import holds_snapshots, read_folder
from phaseprof.cli import main
from phaseprof.errors import UsageError

LEAK, FIXED, STACKS = (
    str(RECORDED / name) for name in ("dreamer_collect_leak", "dreamer_fixed", "dreamer_collect_leak_stacks")
)
GRAPH = (512, 1024, 2048, 4096, 8192)  # sizes of the layers that a kept graph holds


def compared(*folders: str | Path, rank: int | None = None) -> Comparison:
    return compare_snapshots([read_folder(Path(folder)) for folder in folders], list(map(str, folders)), rank=rank)


def row_of(comparison: Comparison, metric: str) -> Row:
    return next(row for row in comparison.rows if row.metric == metric)


def grows(folder: Path, kept: float, *, steps: Sequence[int] = (0, 10, 20, 30, 40, 50, 60), noise: int = 0) -> Path:
    """So many graphs are kept a step, some more at every other one; 64 MiB are there for good."""
    folder.mkdir(parents=True, exist_ok=True)
    counts: dict[int, Mapping[int, int]] = {
        step: {1 << 20: 64} | dict.fromkeys(GRAPH, int(kept * step) + noise * (at % 2)) for at, step in enumerate(steps)
    }
    return write_series(folder, {step: live_blocks(found) for step, found in counts.items()})


def test_the_repair_collapsed_the_leak_and_what_still_fills_is_said() -> None:
    comparison = compared(LEAK, FIXED)

    assert comparison.headline is not None
    before, after = comparison.headline.slopes
    assert (comparison.unit, comparison.first, comparison.last) == ("step", 0, 100)
    assert (before.slope, after.slope) == (88_064, 3_584)
    assert (before.verdict, after.verdict) == ("leak", "growing")
    assert comparison.headline.changes[0].word == "collapsed"
    assert comparison.headline.changes[0].difference == 3_584 - 88_064


def test_every_counter_is_compared_at_its_own_slope() -> None:
    comparison = compared(LEAK, FIXED)

    assert [s.slope for s in row_of(comparison, "cuda0/small_pool_active_bytes").slopes] == [88_064, 3_584]
    assert [s.slope for s in row_of(comparison, "cuda0/large_pool_active_bytes").slopes] == [0, 0]
    assert [s.slope for s in row_of(comparison, "cuda0/active_blocks").slopes] == [12, 2]
    assert row_of(comparison, "cuda0/large_pool_active_bytes").changes[0].word == "unchanged"


def test_block_sizes_of_the_leak_collapse_and_those_of_the_replay_stay() -> None:
    words = {
        row.metric.rpartition("_of_")[2]: row.changes[0].word
        for row in compared(LEAK, FIXED).rows
        if "_blocks_of_" in row.metric
    }

    assert {size for size, word in words.items() if word == "unchanged"} == {"512_bytes", "3072_bytes"}
    assert {word for size, word in words.items() if size not in ("512_bytes", "3072_bytes")} == {"collapsed"}
    assert len(words) == 9


def test_the_growth_of_block_sizes_adds_up_to_that_of_the_pool() -> None:
    comparison = compared(LEAK, FIXED)
    classes = [row for row in comparison.rows if "_blocks_of_" in row.metric]

    for at, total in enumerate((88_064, 3_584)):
        assert sum(row.slopes[at].slope for row in classes) == total


def test_a_shorter_series_is_compared_over_the_steps_in_common() -> None:
    comparison = compared(LEAK, STACKS)

    assert (comparison.first, comparison.last) == (0, 40)
    assert comparison.headline is not None
    assert [slope.n for slope in comparison.headline.slopes] == [3, 3]
    assert comparison.headline.changes[0].word == "unchanged"
    assert not comparison.is_worse()


@pytest.mark.parametrize(
    ("order", "status"), [((LEAK, FIXED), 0), ((FIXED, LEAK), 1), ((LEAK, LEAK), 0), ((LEAK, FIXED, LEAK), 0)]
)
def test_exit_status(order: Sequence[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *order]) == status


def test_the_text_names_the_counter_the_slopes_and_the_word(capsys: pytest.CaptureFixture[str]) -> None:
    main(["diff", LEAK, FIXED])

    out = capsys.readouterr().out
    assert out.startswith("2 series of snapshots over steps 0 to 100: cuda0/active_bytes\n")
    assert "collapsed, x0.04" in out
    assert "Growth collapsed (+86.00 KiB in dreamer_collect_leak, +3.50 KiB in" in out


def test_json_is_that_of_runs(capsys: pytest.CaptureFixture[str]) -> None:
    main(["diff", "--json", FIXED, LEAK])

    tree = json.loads(capsys.readouterr().out)
    assert (tree["format"], tree["unit"], tree["worse"]) == (1, "step", True)
    assert tree["headline"]["metric"] == "cuda0/active_bytes"
    assert tree["summary"].startswith("Growth is higher")


def test_growth_that_scales_with_a_setting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [f"seq_len={kept}:{grows(tmp_path / str(kept), kept)}" for kept in (25, 50, 100)]

    assert main(["experiment", *pairs]) == 1
    assert "Growth scales with seq_len" in capsys.readouterr().out


def test_growth_that_does_not_depend_on_a_setting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [f"lr={rate}:{grows(tmp_path / rate, 50)}" for rate in ("0.1", "0.2")]

    assert main(["experiment", *pairs]) == 0
    assert "Growth does not depend on lr" in " ".join(capsys.readouterr().out.split())


def test_a_difference_within_the_noise_of_few_snapshots_is_no_difference(tmp_path: Path) -> None:
    steps = (0, 10, 20, 30)
    folders = [grows(tmp_path / "a", 50, steps=steps), grows(tmp_path / "b", 56, steps=steps, noise=28)]

    headline = compared(*folders).headline

    assert headline is not None
    assert headline.slopes[1].low < 56 * sum(GRAPH) < headline.slopes[1].high
    assert headline.changes[0].word == "unchanged"


def test_the_same_difference_without_noise_is_one(tmp_path: Path) -> None:
    steps = (0, 10, 20, 30)
    headline = compared(grows(tmp_path / "a", 50, steps=steps), grows(tmp_path / "b", 58.8, steps=steps)).headline

    assert headline is not None
    assert headline.slopes[1].low == headline.slopes[1].high
    assert headline.changes[0].word == "higher"


def test_two_snapshots_are_too_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [str(grows(tmp_path / name, 50, steps=(0, 10))) for name in ("a", "b")]

    assert main(["diff", *folders]) == 3
    assert "Too short: 2 readings in common" in capsys.readouterr().out


def test_series_that_do_not_overlap_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    early, late = grows(tmp_path / "a", 1, steps=(0, 1, 2)), grows(tmp_path / "b", 1, steps=(5, 6, 7))

    assert main(["diff", str(early), str(late)]) == 3
    assert "the series have no step in common" in capsys.readouterr().out


def test_a_series_without_a_snapshot_in_the_common_part_is_named(tmp_path: Path) -> None:
    sparse, dense = grows(tmp_path / "a", 1, steps=(0, 100)), grows(tmp_path / "b", 1, steps=(40, 50, 60))

    comparison = compared(sparse, dense)

    assert comparison.headline is None
    assert "has no snapshot from step 40 to 60, which is all that the series have in common" in comparison.notes[0]


def test_devices_are_compared_one_with_the_same(tmp_path: Path) -> None:
    for name, factors in (("a", (1, 5)), ("b", (1, 1))):
        (tmp_path / name).mkdir()
        roots = {}
        for step in range(6):
            pair = [live_blocks({1 << 20: 4 * (1 + factor * step)})["segments"] for factor in factors]
            segments = [{**one[0], "device": device} for device, one in enumerate(pair)]  # type: ignore[index]
            roots[step] = snapshot(segments)
        write_series(tmp_path / name, roots)

    comparison = compared(tmp_path / "a", tmp_path / "b")

    assert row_of(comparison, "cuda0/active_bytes").changes[0].word == "unchanged"
    assert row_of(comparison, "cuda1/active_bytes").changes[0].word == "lower"


def test_single_devices_are_compared_whatever_their_index(tmp_path: Path) -> None:
    grows(tmp_path / "a", 50)
    (tmp_path / "b").mkdir()
    other = {n: snapshot([segment([], device=3)]) for n in (0, 10, 20)}

    assert compared(tmp_path / "a", write_series(tmp_path / "b", other)).headline is not None


def test_ranks_are_told_apart(tmp_path: Path) -> None:
    for name, factors in (("a", (1, 9)), ("b", (1, 1))):
        (tmp_path / name).mkdir()
        for rank, factor in enumerate(factors):
            for step in range(6):
                root = live_blocks({1 << 20: 4 * (1 + factor * step)})
                (tmp_path / name / f"rank{rank}_step_{step}.pickle").write_bytes(pickle.dumps(root))

    first, second = compared(tmp_path / "a", tmp_path / "b"), compared(tmp_path / "a", tmp_path / "b", rank=1)

    assert first.headline is not None
    assert second.headline is not None
    assert (first.headline.changes[0].word, second.headline.changes[0].word) == ("unchanged", "lower")
    assert any("rank 0 of 2 processes is compared" in note for note in first.notes)


def test_a_rank_that_is_not_there_is_wrong_use() -> None:
    with pytest.raises(UsageError, match=r"--rank must be a rank of every folder \(got 5"):
        compared(LEAK, FIXED, rank=5)


def test_other_allocator_settings_are_told() -> None:
    (told,) = compared(LEAK, RECORDED / "expandable_collect_leak").also_differ

    assert told == "allocator settings: default / expandable_segments:True"


def test_a_run_beside_snapshots_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", LEAK, str(tmp_path)]) == 2
    assert "runs are compared with runs and snapshots with snapshots" in capsys.readouterr().err


def test_steps_in_some_names_only_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one.pickle", "other.pickle", "third.pickle"):
        (tmp_path / name).write_bytes(pickle.dumps(live_blocks({512: 1})))

    assert main(["diff", LEAK, str(tmp_path)]) == 2
    assert "name its files snapshot_step_N.pickle" in capsys.readouterr().err


def test_series_without_steps_in_their_names_are_compared_by_snapshot(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for n, name in enumerate(("one", "other", "third")):
            (tmp_path / folder / f"{name}.pickle").write_bytes(pickle.dumps(live_blocks(dict.fromkeys(GRAPH, 500 * n))))

    assert compared(tmp_path / "a", tmp_path / "b").unit == "snapshot"


def test_an_unreadable_file_spares_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = grows(tmp_path / "a", 50)
    (folder / "snapshot_step_9.pickle").write_bytes(b"text")

    assert main(["diff", str(folder), str(grows(tmp_path / "b", 50))]) == 2
    out, err = capsys.readouterr()
    assert "snapshot_step_9.pickle is not a readable snapshot" in err
    assert "Growth is unchanged" in out


def test_a_folder_of_which_nothing_can_be_read_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "snapshot_step_9.pickle").write_bytes(b"text")

    assert main(["diff", LEAK, str(tmp_path)]) == 2
    assert "must hold one that can be read" in capsys.readouterr().err


def test_one_folder_is_nothing_to_compare(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", LEAK]) == 2
    assert "two folders of snapshots or more" in capsys.readouterr().err


def test_the_cap_on_a_file_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", LEAK, FIXED, "--max-file-size", "1 KiB"]) == 2
    assert "raise the limit with --max-file-size" in capsys.readouterr().err


def test_a_recording_beside_pickles_is_a_run(tmp_path: Path) -> None:
    folder = grows(tmp_path / "a", 50)
    is_before = holds_snapshots(folder)
    (folder / "rank0-pid1.jsonl").write_text("{}\n")

    assert (is_before, holds_snapshots(folder)) == (True, False)
