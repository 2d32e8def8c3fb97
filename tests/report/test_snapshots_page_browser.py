"""The page of CUDA snapshots where it is read: in a headless Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_browser import ALL_DRAWN, CHROMIUM, CONTRASTS, TALL, Browser
from snapshot_pages import RECORDED, hostile_snapshots

from phaseprof.report.snapshots_html import write_snapshots_html
from phaseprof.report.snapshots_report import analyse_snapshots

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no chromium here; apt-get install chromium")

STACKS = RECORDED / "dreamer_collect_leak_stacks"


@pytest.fixture(scope="module")
def stacks_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "snapshots.html"
    write_snapshots_html(analyse_snapshots(STACKS), file)
    return file


def test_every_chart_is_drawn_without_a_complaint_or_a_request(page: Browser, stacks_file: Path) -> None:
    page.open(stacks_file, height=TALL)
    page.until(ALL_DRAWN)

    assert page.js("document.querySelectorAll('.chart .drawing').length") >= 10
    assert page.console == []
    assert [url for url in page.requests if not url.startswith(("data:", stacks_file.as_uri()))] == []


def test_hover_tells_the_step_and_every_line(page: Browser, stacks_file: Path) -> None:
    page.open(stacks_file, height=TALL)
    page.until(ALL_DRAWN)

    page.hover_over("#d0-memory .drawing", right=0.99)
    page.until("document.querySelector('#d0-memory .tip')")

    said = page.js("document.querySelector('#d0-memory .tip').innerText")
    assert said.startswith("Step 40\n")
    assert "small pool: 3.36 MiB" in said  # 40 steps of 88,064 bytes
    assert "large pool: 0 B" in said


def test_the_axis_is_called_step(page: Browser, stacks_file: Path) -> None:
    page.open(stacks_file, height=TALL)
    page.until(ALL_DRAWN)

    ticks = page.js("[...document.querySelectorAll('#d0-memory .tick')].map((e) => e.textContent)")
    assert ticks[-1] == "step"


def test_the_switch_shows_levels(page: Browser, stacks_file: Path) -> None:
    page.open(stacks_file, height=TALL)
    page.until(ALL_DRAWN)

    page.js("""
        (() => { const select = document.querySelector('select[data-chart=d0-memory]');
          select.value = 1; select.dispatchEvent(new Event('change')); })()""")

    keys = page.js("[...document.querySelectorAll('#d0-memory .key')].map((e) => e.textContent)")
    assert keys == ["active memory", "small pool", "large pool"]


def test_names_with_markup_are_drawn_as_text(page: Browser, tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    folder = tmp_path / "snapshots"
    folder.mkdir()
    write_snapshots_html(analyse_snapshots(hostile_snapshots(folder)), file)

    page.open(file, height=TALL)
    page.until(ALL_DRAWN)

    legends = page.js("[...document.querySelectorAll('#d0-sites .key')].map((e) => e.textContent)")
    assert any("<img src=x onerror=alert(1)>" in text for text in legends)
    assert page.js("document.querySelectorAll('img, .drawing b').length") == 0
    assert page.console == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(page: Browser, stacks_file: Path, scheme: str) -> None:
    page.prefer(scheme)
    page.open(stacks_file, height=TALL)
    page.until(ALL_DRAWN)

    assert page.js(CONTRASTS) == []


@pytest.mark.parametrize("width", [360, 768, 1600])
def test_nothing_sticks_out_of_the_window(page: Browser, stacks_file: Path, width: int) -> None:
    page.open(stacks_file, width=width, height=TALL)
    page.until(ALL_DRAWN)

    assert page.js("document.documentElement.scrollWidth") <= width
