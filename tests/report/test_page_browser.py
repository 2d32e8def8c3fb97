"""The page where it is read: in a headless Chromium, driven over its debugging pipe."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_browser import ALL_DRAWN, CHROMIUM, CONTRASTS, TALL, Browser
from page_records import (
    build,
    header,
    hostile_finding,
    hostile_records,
    leak_finding,
    leaky_records,
    many_readings,
)  # fmt: skip

from phaseprof.recording.reader import Run
from phaseprof.report.html import write_html

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no chromium here; apt-get install chromium")


@pytest.fixture(scope="module")
def leaky_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "leaky.html"
    write_html(Run(None, [build(leaky_records(12))]), [(leak_finding(),)], file)
    return file


@pytest.fixture(scope="module")
def ranks_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ranks = [build(leaky_records(head=header(rank=r, world_size=3, pid=100 + r))) for r in range(3)]
    file = tmp_path_factory.mktemp("page") / "ranks.html"
    write_html(Run(None, ranks), [(), (leak_finding(),), ()], file)
    return file


def test_every_chart_is_drawn_without_a_complaint_or_a_request(page: Browser, leaky_file: Path) -> None:
    page.open(leaky_file, height=TALL)
    page.until(ALL_DRAWN)

    assert page.js("document.querySelectorAll('.chart .drawing').length") > 8
    assert page.console == []
    assert [url for url in page.requests if not url.startswith(("data:", leaky_file.as_uri()))] == []


def test_charts_far_below_wait_until_they_are_near(page: Browser, leaky_file: Path) -> None:
    page.open(leaky_file, height=700)
    page.until("document.querySelector('.chart[data-drawn]') || true")

    assert page.js("document.querySelector('#p0-throughput').dataset.drawn") is None
    page.js("document.querySelector('#p0-throughput').scrollIntoView()")
    page.until("document.querySelector('#p0-throughput').dataset.drawn")


def said(page: Browser, chart: str) -> str:
    return str(page.js(f"document.querySelector('#{chart} .tip').innerText"))


def hover(page: Browser, selector: str, *, right: float = 0.5, down: float = 0.5) -> None:
    page.hover_over(selector, right=right, down=down)
    page.until("document.querySelector('.tip')")


def test_hover_tells_generation_point_and_value(page: Browser, leaky_file: Path) -> None:
    page.open(leaky_file, height=TALL)
    page.until(ALL_DRAWN)

    hover(page, "#p0-trend .drawing circle:last-of-type")

    assert "Generation 12" in said(page, "p0-trend")
    assert "generation end" in said(page, "p0-trend")
    assert "15.75 GiB" in said(page, "p0-trend")  # 4 GiB at first, 12 more, less 256 MiB that are shared


def test_dragging_zooms_and_a_double_click_goes_back(page: Browser, leaky_file: Path) -> None:
    page.open(leaky_file, height=TALL)
    page.until(ALL_DRAWN)
    shown = "[...['from', 'to']].map((edge) => Number(document.getElementById('p0-trend').dataset[edge]))"
    whole = page.js(shown)
    left, top, width, height = page.box("#p0-trend .drawing")

    def mouse(kind: str, share: float, clicks: int = 1) -> None:
        page.call("Input.dispatchMouseEvent", type=kind, x=left + share * width, y=top + height / 2, button="left",
                  buttons=1, clickCount=clicks)  # fmt: skip

    for kind, share in (("mousePressed", 0.4), ("mouseMoved", 0.5), ("mouseMoved", 0.6), ("mouseReleased", 0.6)):
        mouse(kind, share)
    page.until(f"{shown}[0] > {whole[0]} + 1")
    low, high = page.js(shown)
    assert high - low < (whole[1] - whole[0]) / 3

    page.js("document.querySelector('#p0-trend .drawing').dispatchEvent(new MouseEvent('dblclick'))")
    assert page.js(shown) == whole


def test_the_switch_shows_another_series(page: Browser, leaky_file: Path) -> None:
    page.open(leaky_file, height=TALL)
    page.until(ALL_DRAWN)

    page.js("""
        (() => { const select = document.querySelector('select[data-chart=p0-trend]');
          select.value = [...select.options].findIndex((o) => o.text === 'Resident memory (RSS)');
          select.dispatchEvent(new Event('change')); })()""")
    hover(page, "#p0-trend .drawing circle:last-of-type")

    assert "16.00 GiB" in said(page, "p0-trend")


def test_a_count_at_its_bound_is_drawn_inside_the_chart(page: Browser, leaky_file: Path) -> None:
    page.open(leaky_file, height=TALL)
    page.until(ALL_DRAWN)

    tops = page.js("[...document.querySelectorAll('.grid .chart circle')].map((c) => Number(c.getAttribute('cy')))")
    assert len(tops) == 24  # two classes, twelve generations
    assert min(tops) > 4


def test_several_lines_are_told_under_the_generation(page: Browser, leaky_file: Path) -> None:
    page.open(leaky_file, height=TALL)
    page.until(ALL_DRAWN)

    hover(page, "#p0-tracked .drawing", right=0.99)

    assert said(page, "p0-tracked").split("\n") == ["Generation 12", "experience: 588.00 MiB", "policy: 45.00 MiB"]


def test_the_areas_tell_their_parts(page: Browser, leaky_file: Path) -> None:
    page.open(leaky_file, height=TALL)
    page.until(ALL_DRAWN)

    hover(page, "#p0-areas .drawing", right=0.99)

    assert said(page, "p0-areas").split("\n")[:3] == [
        "Generation 12", "Resident memory (RSS): 16.00 GiB", "torch storages: 1.66 GiB",
    ]  # fmt: skip


def names_in(chart: str) -> str:
    return f"[...document.querySelectorAll('#{chart} .flame text')].map((e) => e.textContent)"


def test_the_flame_graph_opens_at_a_click_and_closes_at_one(page: Browser, leaky_file: Path) -> None:
    page.open(leaky_file, height=TALL)
    page.until(ALL_DRAWN)
    assert page.js(names_in("p0-heap")) == ["heap", "module __main__", ".trainer (Trainer)", ".eval_envs (list)"]
    page.js("""
        (() => { const select = document.querySelector('select[data-chart=p0-heap]');
          select.value = 1; select.dispatchEvent(new Event('change')); })()""")
    wide = "document.querySelector('#p0-heap [aria-label^=\".replay\"] rect').getBoundingClientRect().width"
    before = page.js(wide)

    left, top, width, height = page.box("#p0-heap [aria-label^='.replay']")
    for kind in ("mousePressed", "mouseReleased"):
        page.call("Input.dispatchMouseEvent", type=kind, x=left + width / 2, y=top + height / 2, button="left",
                  buttons=1, clickCount=1)  # fmt: skip
    page.until(f"{wide} > 2 * {before}")

    way = "[...document.querySelectorAll('#p0-heap .crumb')].map((e) => e.textContent)"
    assert page.js(way) == ["heap", "module __main__", ".trainer (Trainer)", ".replay (dict)"]
    assert page.js("document.querySelector('#p0-heap .way .fine').textContent") == "400.00 MiB (44.4 %), 1 object here"
    page.js("document.querySelector('#p0-heap .crumb').click()")
    assert page.js(wide) == before
    assert page.console == []


def test_the_flame_graph_answers_the_keyboard(page: Browser, leaky_file: Path) -> None:
    page.open(leaky_file, height=TALL)
    page.until(ALL_DRAWN)

    page.js("""
        (() => { const part = document.querySelector('#p0-heap [data-at="2"]'); part.focus();
          part.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true })); })()""")
    assert page.js("document.activeElement.dataset.at") == "2"
    assert page.js("document.querySelectorAll('#p0-heap .crumb').length") == 3
    page.js("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))")
    assert page.js("document.querySelectorAll('#p0-heap .crumb').length") == 1


def test_labels_with_markup_are_drawn_as_text(page: Browser, tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    write_html(Run(None, [build(hostile_records())]), [(hostile_finding(),)], file)

    page.open(file, height=TALL)
    page.until(ALL_DRAWN)

    keys = page.js("[...document.querySelectorAll('#p0-trend .key')].map((e) => e.textContent)")
    rows = page.js("[...document.querySelectorAll('#p0-heat .name')].map((e) => e.textContent)")
    assert any(text.startswith("</script><img src=x onerror=alert(1)>") for text in keys)
    assert any(text.startswith("</script><img src=x") for text in rows)
    assert page.js("document.querySelectorAll('img, .drawing b').length") == 0
    assert page.console == []
    hover(page, "#p0-heap [data-at='1']")
    assert "</script><img src=x onerror=alert(1)>" in said(page, "p0-heap")


def test_on_a_narrow_screen_cells_say_their_column(page: Browser, leaky_file: Path) -> None:
    page.open(leaky_file, width=390, height=TALL)
    page.until(ALL_DRAWN)

    shown = "getComputedStyle(document.querySelector('section.phases tbody td'), '::before').content"
    assert page.js(shown) in ("attr(data-of)", '"Visits"')
    assert page.js("document.querySelector('section.phases .scroll').scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(page: Browser, leaky_file: Path, scheme: str) -> None:
    page.prefer(scheme)
    page.open(leaky_file, height=TALL)
    page.until(ALL_DRAWN)

    assert page.js(CONTRASTS) == []


def test_charts_follow_a_change_to_dark(page: Browser, leaky_file: Path) -> None:
    page.open(leaky_file, height=TALL)
    page.until(ALL_DRAWN)
    color = "getComputedStyle(document.querySelector('#p0-trend .tick')).fill"
    light = page.js(color)

    page.prefer("dark")

    page.until(f"{color} !== '{light}'")


@pytest.mark.parametrize("width", [360, 768, 1600])
def test_nothing_sticks_out_of_the_window(page: Browser, leaky_file: Path, width: int) -> None:
    page.open(leaky_file, width=width, height=TALL)
    page.until(ALL_DRAWN)

    assert page.js("document.documentElement.scrollWidth") <= width


def test_print_shows_every_process_in_light(page: Browser, ranks_file: Path) -> None:
    page.prefer("dark")
    page.open(ranks_file)

    page.js("window.dispatchEvent(new Event('beforeprint'))")

    shown = "document.querySelectorAll('.chart[data-drawn]').length === document.querySelectorAll('.chart').length"
    page.until(shown)
    assert page.js("document.querySelectorAll('.process[hidden]').length") == 0
    assert page.js("getComputedStyle(document.body).color") == "rgb(23, 33, 43)"
    assert page.pdf().startswith(b"%PDF")


def test_tabs_open_on_the_leak_and_follow_mouse_and_keys(page: Browser, ranks_file: Path) -> None:
    visible = "[...document.querySelectorAll('[role=tabpanel]')].filter((p) => !p.hidden).map((p) => p.id)"
    page.open(ranks_file)

    assert page.js(visible) == ["p1"]
    page.js("document.getElementById('p0-tab').click()")
    assert page.js(visible) == ["p0"]
    page.js("document.getElementById('p0-tab').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft' }))")
    assert page.js(visible) == ["p2"]
    assert page.js("document.activeElement.id") == "p2-tab"


def test_without_script_the_findings_and_tables_are_there(page: Browser, ranks_file: Path) -> None:
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(ranks_file)
        text = page.js("document.body.innerText")
        hidden = page.js("[...document.querySelectorAll('.live-only, .chart')].filter((e) => e.offsetParent).length")
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)

    assert leak_finding().summary in text
    assert text.count("What profiling cost") == 3
    assert hidden == 0


def test_the_policy_keeps_foreign_scripts_and_requests_out(page: Browser, leaky_file: Path) -> None:
    page.open(leaky_file)

    page.js("""
        (() => { const script = document.createElement('script'); script.textContent = 'window.entered = true';
          document.body.append(script);
          const image = new Image(); image.src = 'https://example.invalid/x.png'; document.body.append(image); })()""")

    assert page.js("window.entered") is None
    assert any("Content Security Policy" in line for line in page.console)


def test_a_hundred_thousand_readings_open_within_three_seconds(page: Browser, tmp_path: Path) -> None:
    """Of the page's own thread, so that what else runs on the machine does not count."""
    file = tmp_path / "long.html"
    write_html(Run(None, [build(many_readings(8400))]), [()], file)
    page.call("Performance.enable", timeDomain="threadTicks")
    try:
        page.open(file)
        page.js("document.getElementById('p0-trend').scrollIntoView()")
        page.until("document.getElementById('p0-trend').dataset.drawn")
        metrics = {m["name"]: m["value"] for m in page.call("Performance.getMetrics")["metrics"]}
    finally:
        page.call("Performance.disable")

    assert 0 < metrics["TaskDuration"] < 3.0
