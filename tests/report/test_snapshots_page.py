"""The page of CUDA snapshots as a document: what stands in it, its figures, and that names stay text."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from page_parser import Page
from snapshot_pages import RECORDED, block, hostile_snapshots, many_sizes, write_snapshots

from phaseprof.report.page.charts import MAX_LINES
from phaseprof.report.page.snapshot_part import MAX_ROWS
from phaseprof.report.snapshots_html import MAX_DEVICES, render_snapshots_page, write_snapshots_html
from phaseprof.report.snapshots_report import analyse_snapshots

LEAK, FIXED, STACKS, OOM, ANNOTATED = (
    RECORDED / name
    for name in (
        "dreamer_collect_leak", "dreamer_fixed", "dreamer_collect_leak_stacks", "oom_graph_leak", "annotated_kl_leak",
    )
)  # fmt: skip


def page_of(folder: Path, events: Path | None = None) -> Page:
    return Page(render_snapshots_page(analyse_snapshots(folder, events)))


@pytest.fixture(scope="module")
def stacks_page() -> Page:
    return page_of(STACKS)


def drawn(page: Page, chart: str, view: int = 0) -> dict[str, list[float]]:
    """Return name to values of the lines of a chart."""
    lines = page.data["charts"][chart][view]["lines"]  # type: ignore[index]
    return {line["name"]: line["v"] for line in lines}


def sections(page: Page) -> list[str]:
    return [a["class"].split()[-1] for a in page.named("section")]


def test_the_verdict_stands_on_top_and_findings_before_the_rest(stacks_page: Page) -> None:
    heads = [tag for tag, _ in stacks_page.elements if tag in ("h1", "h2")]

    assert heads[0] == "h1"
    assert "1 leak found in 3 snapshots, step 0 to 40" in stacks_page.text
    assert sections(stacks_page) == [
        "findings", "growth", "flame", "timeline", "sites", "classes", "events", "pools", "limits",
    ]  # fmt: skip


def test_a_finding_says_what_where_and_what_to_do(stacks_page: Page) -> None:
    (finding,) = analyse_snapshots(STACKS).findings

    for said in (finding.summary, finding.advice, "+86.00 KiB per step", "Since step 0"):
        assert said in stacks_page.text


@pytest.mark.parametrize("folder", sorted(RECORDED.glob("*/")), ids=lambda path: path.name)
def test_every_series_is_a_sound_document(folder: Path) -> None:
    page = page_of(folder)

    ids = [a["id"] for _, a in page.elements if "id" in a]
    places = {a["id"]: a["aria-label"] for a in page.named("div") if "chart" in a.get("class", "").split()}
    levels = [int(tag[1]) for tag, _ in page.elements if tag in ("h1", "h2", "h3", "h4")]
    assert not page.badly_nested
    assert len(ids) == len(set(ids))
    assert places.keys() == page.data["charts"].keys()  # type: ignore[attr-defined]
    assert all(places.values())
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_charts_hold_what_the_snapshots_hold(stacks_page: Page) -> None:
    rows = analyse_snapshots(STACKS).series[0].rows

    assert drawn(stacks_page, "d0-memory", 1)["small pool"] == [row.small_pool_bytes for row in rows]
    assert drawn(stacks_page, "d0-memory", 2)["reserved memory"] == [row.reserved_bytes for row in rows]
    assert drawn(stacks_page, "d0-segments")["segments"] == [row.segments for row in rows]
    assert drawn(stacks_page, "d0-inactive_split_bytes")["inactive split"] == [row.inactive_split_bytes for row in rows]


def test_growth_by_line_and_by_size_each_add_up_to_the_growth(stacks_page: Page) -> None:
    growth = 40 * 88_064

    for chart in ("d0-sites", "d0-classes"):
        assert sum(values[-1] for values in drawn(stacks_page, chart).values()) == growth


def test_charts_run_along_the_steps(stacks_page: Page) -> None:
    views = stacks_page.data["charts"]["d0-memory"]  # type: ignore[index]

    assert stacks_page.data["axis"] == "step"
    assert {tuple(line["g"]) for view in views for line in view["lines"]} == {(0, 20, 40)}


def test_a_counter_that_leaks_is_marked_and_one_without_a_vote_is_not(stacks_page: Page) -> None:
    charts = stacks_page.data["charts"]

    assert charts["d0-small_pool_bytes"][0]["broken"] is True  # type: ignore[index]
    assert charts["d0-large_pool_bytes"][0]["broken"] is False  # type: ignore[index]
    assert charts["d0-reserved_bytes"][0]["broken"] is False  # type: ignore[index]


def test_the_filling_run_is_no_leak_and_not_called_flat() -> None:
    page = page_of(FIXED)

    assert "No leak found in 6 snapshots, step 0 to 100, but memory grows and no plateau is in sight" in page.text
    assert "3.50 KiB a step" in page.text


def test_without_stacks_the_page_says_how_to_get_them() -> None:
    page = page_of(LEAK)

    assert "sites" not in sections(page)
    assert "Lines of code: no stack was recorded" in page.text
    assert "Allocations without a free: no event was recorded" in page.text


def test_an_out_of_memory_dump_is_told_first() -> None:
    page = page_of(OOM)

    assert "Out of memory: what one snapshot holds, and not what grows" in page.text
    assert sections(page)[:2] == ["findings", "oom0"]
    assert page.data["charts"].keys() == {"d0-flame", "d0-timeline"}  # type: ignore[attr-defined]


def test_the_parts_of_reserved_memory_add_up() -> None:
    page = page_of(OOM)
    row = analyse_snapshots(OOM).series[0].rows[-1]

    free = row.reserved_bytes - row.active_bytes - row.inactive_split_bytes
    assert "whole free segments 0 B" in page.text
    assert free == 0


def test_tensorboard_lies_beside() -> None:
    pytest.importorskip("tensorboard")
    page = page_of(LEAK, LEAK / "runs")

    lines = drawn(page, "d0-scalars")
    snapshots, scalar = lines["snapshots: active"], lines["train/memory/gpu_allocated_gb"]
    assert len(snapshots) == len(scalar) == 6
    assert scalar == pytest.approx(snapshots, rel=0.01)
    assert "r says that two logs agree, not that there is a leak" in page.text


def test_live_blocks_are_a_flame_and_events_a_timeline() -> None:
    page = page_of(ANNOTATED)

    charts: dict[str, list[dict[str, Any]]] = page.data["charts"]  # type: ignore[assignment]
    survivors, alive = charts["d0-flame"]
    (blocks,) = charts["d0-timeline"]
    assert alive["rows"][0][2] == analyse_snapshots(ANNOTATED).series[0].rows[-1].active_bytes
    assert survivors["rows"][0][1] == "blocks"
    assert blocks["n"] == 6000
    assert len(blocks["blocks"]) == 160
    assert "The 160 largest of 2,051 blocks over 6,000 events" in page.text


def test_stacks_are_written_out(stacks_page: Page) -> None:
    assert "Stacks" in stacks_page.text
    assert len(stacks_page.named("ol")) >= 1
    assert all(a["href"].startswith("vscode://file/") for a in stacks_page.named("a"))


def test_a_page_of_snapshots_is_small() -> None:
    assert max(len(render_snapshots_page(analyse_snapshots(folder))) for folder in (STACKS, ANNOTATED)) < 150_000


def test_fewer_lines_than_there_are_is_said_in_words(tmp_path: Path) -> None:
    page = page_of(many_sizes(tmp_path, 30))

    assert len(drawn(page, "d0-classes")) == len(drawn(page, "d0-sites")) == MAX_LINES
    assert f"{MAX_LINES} of 30 growing block sizes drawn" in page.text
    assert f"{MAX_LINES} of 30 growing lines drawn" in page.text
    assert f"{MAX_ROWS} of 30 block sizes shown." in page.text


def test_all_lines_drawn_needs_no_words(stacks_page: Page) -> None:
    assert " drawn" not in stacks_page.text


def test_several_devices_have_a_table_and_a_tab_each(tmp_path: Path) -> None:
    kept = [block(512 * n) for n in range(1, 9)]
    page = page_of(write_snapshots(tmp_path, [kept * 200 * (1 + n) for n in range(4)], devices=3))

    tabs = [a["aria-controls"] for a in page.named("button") if a.get("role") == "tab"]
    assert tabs == ["d0", "d1", "d2"]
    assert "2 leaks found on 3 devices" in page.text
    assert "Device 2 No leak found" not in page.text  # the tab says it in its own words
    assert "Device 2 no leak" in page.text


def test_many_devices_are_counted(tmp_path: Path) -> None:
    page = page_of(write_snapshots(tmp_path, [[block(512)]] * 3, devices=20))

    assert len([a for a in page.named("div") if a.get("role") == "tabpanel"]) == MAX_DEVICES
    assert f"{MAX_DEVICES} of 20 devices are shown in full." in page.text


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    write_snapshots(tmp_path, [[block(512)]] * 3)
    (tmp_path / "snapshot_step_9.pickle").write_bytes(b"")
    page = page_of(tmp_path)

    assert sections(page)[0] == "unreadable"
    assert "snapshot_step_9.pickle is not a readable snapshot: it is empty" in page.text
    assert "1 file not readable" in page.text


def test_a_folder_of_which_nothing_can_be_read_is_a_page(tmp_path: Path) -> None:
    (tmp_path / "snapshot_step_9.pickle").write_bytes(b"")
    page = page_of(tmp_path)

    assert "Nothing to judge" in page.text
    assert not page.badly_nested


@pytest.mark.parametrize(
    ("n", "said"),
    [(1, "One snapshot: what is there"), (2, "Two snapshots: what changed"), (3, "No leak found in 3 snapshots")],
)
def test_few_snapshots_claim_no_more_than_they_can(tmp_path: Path, n: int, said: str) -> None:
    assert said in page_of(write_snapshots(tmp_path, [[block(512)]] * n)).text


def test_hostile_names_make_no_element_and_are_shown_as_text(tmp_path: Path) -> None:
    page = page_of(hostile_snapshots(tmp_path))

    tags = {tag for tag, _ in page.elements}
    assert not tags & {"img", "b", "iframe", "object", "link", "base", "form"}
    assert not page.badly_nested
    assert len(page.scripts) == 2
    assert page.text.count("<img src=x onerror=alert(1)>") > 8
    assert "\u202e" not in page.text


def test_the_page_loads_nothing(stacks_page: Page) -> None:
    loading = {"src", "href", "data", "action", "poster", "srcset", "background", "formaction", "xlink:href"}

    assert not [tag for tag, attributes in stacks_page.elements if loading & attributes.keys() and tag != "a"]
    (policy,) = (a["content"] for a in stacks_page.named("meta") if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "http" not in policy


def test_writing_gives_the_rendered_page(tmp_path: Path) -> None:
    report = analyse_snapshots(FIXED)

    write_snapshots_html(report, tmp_path / "page.html")

    assert (tmp_path / "page.html").read_text(encoding="utf-8") == render_snapshots_page(report)
