"""Flame graphs: of one heap, of two runs, and as JSON for speedscope."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from page_parser import Page
from page_records import HOSTILE, MIB, build, header, leaky_records

from phaseprof.analysis.compare import compare
from phaseprof.cli import main
from phaseprof.errors import UsageError
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run
from phaseprof.report.compare_html import render_compare_page
from phaseprof.report.export.speedscope import write_speedscope
from phaseprof.report.flames import Flame, flames_between, flames_of


def run_with(*heap: fmt.HeapPlace) -> ProcessRun:
    return build([header(), fmt.Places(0, 9, 3, MIB, [], list(heap))])


def names(flame: Flame) -> list[tuple[int, str, int]]:
    return [(node.parent, node.name, node.n_bytes) for node in flame.nodes]


def test_a_run_without_a_look_has_no_flame() -> None:
    assert flames_of(build([header()])) == []
    assert flames_between(build([header()]), run_with(fmt.HeapPlace(-1, "heap", 1, MIB, 0))) == []


def test_where_nothing_came_only_the_heap_is_drawn() -> None:
    (flame,) = flames_of(run_with(fmt.HeapPlace(-1, "heap", 1, MIB, 0)))

    assert flame.title == "The heap at generation 9"


def test_modules_of_a_package_stand_together() -> None:
    flame = flames_of(run_with(
        fmt.HeapPlace(-1, "heap", 9, 100, 0), fmt.HeapPlace(0, "module torch.nn", 1, 30, 0),
        fmt.HeapPlace(0, "module app", 1, 40, 0), fmt.HeapPlace(0, "module torch.optim", 1, 20, 0),
        fmt.HeapPlace(1, ".functional", 1, 10, 0),
    ))[0]  # fmt: skip

    assert names(flame) == [
        (-1, "heap", 100), (0, "module torch.*", 50), (1, "module torch.nn", 30), (0, "module app", 40),
        (1, "module torch.optim", 20), (2, ".functional", 10),
    ]  # fmt: skip


def test_two_runs_are_told_apart_by_place() -> None:
    before = run_with(fmt.HeapPlace(-1, "heap", 1, 100, 0), fmt.HeapPlace(0, "a", 1, 60, 0),
                      fmt.HeapPlace(0, "b", 1, 30, 0))  # fmt: skip
    after = run_with(fmt.HeapPlace(-1, "heap", 1, 190, 0), fmt.HeapPlace(0, "a", 1, 20, 0),
                     fmt.HeapPlace(0, "b", 1, 160, 0), fmt.HeapPlace(2, "c", 1, 100, 0))  # fmt: skip

    more, less = flames_between(before, after)

    assert names(more) == [(-1, "heap", 130), (0, "b", 130), (1, "c", 100)]
    assert names(less) == [(-1, "heap", 40), (0, "a", 40)]


def test_equal_heaps_have_nothing_apart() -> None:
    one = run_with(fmt.HeapPlace(-1, "heap", 1, 100, 0))

    assert flames_between(one, one) == []


def test_a_file_for_speedscope_weighs_each_byte_once(tmp_path: Path) -> None:
    run = Run(None, [build(leaky_records())])

    n = write_speedscope(Path("run"), tmp_path / "heap.json", load=lambda path: run)

    tree = json.loads((tmp_path / "heap.json").read_text())
    came, held = tree["profiles"]
    frames = [frame["name"] for frame in tree["shared"]["frames"]]
    assert n == len(came["samples"]) + len(held["samples"])
    assert sum(came["weights"]) == came["endValue"] == 161 * MIB
    assert sum(held["weights"]) == held["endValue"] == 900 * MIB
    heaviest = max(zip(held["weights"], held["samples"], strict=True))
    assert [frames[at] for at in heaviest[1]] == ["heap", "module __main__", ".trainer (Trainer)", ".replay (dict)"]


def test_a_run_without_a_look_cannot_be_written_for_speedscope(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no look at it was made"):
        write_speedscope(Path("run"), tmp_path / "x", load=lambda path: Run(None, [build([header()])]))


def compare_page(*processes: ProcessRun) -> Page:
    runs = [Run(None, [process]) for process in processes]
    return Page(render_compare_page(compare(runs, [f"runs/{at}" for at in range(len(runs))]), processes))


def test_a_page_of_two_runs_says_what_differs_and_draws_both() -> None:
    page = compare_page(build(leaky_records(12)), build(leaky_records(14)))

    assert "Growth unchanged" in page.text
    charts: dict[str, list[dict[str, list[object]]]] = page.data["charts"]  # type: ignore[assignment]
    assert len(charts["c0-runs"][0]["lines"]) == 2
    assert not page.badly_nested


def test_a_page_of_hostile_runs_has_no_foreign_element() -> None:
    heap = [fmt.HeapPlace(-1, HOSTILE, 1, MIB, MIB)]
    one = build([*leaky_records(8), fmt.Places(0, 3, 1, 1, [], heap)])
    page = compare_page(build(leaky_records(8)), one)

    assert not {"img", "b", "iframe"} & {tag for tag, _ in page.elements}
    assert len(page.scripts) == 2


def test_the_command_writes_page_and_speedscope(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        lines = b"".join(fmt.encode(record) + b"\n" for record in leaky_records(8))
        (folder / "rank0-pid1.jsonl").write_bytes(lines)
    page, heap = tmp_path / "diff.html", tmp_path / "heap.speedscope.json"

    assert main(["diff", str(tmp_path / "a"), str(tmp_path / "b"), "--html", str(page)]) == 0
    assert main(["export", str(tmp_path / "a"), "--out", str(heap)]) == 0

    assert "phaseprof diff" in page.read_text()
    assert json.loads(heap.read_text())["profiles"][0]["type"] == "sampled"
    assert main(["diff", str(tmp_path / "a"), str(tmp_path / "b"), "--html", str(tmp_path / "no" / "x")]) == 2
    assert "give a file in a folder that exists" in capsys.readouterr().err
