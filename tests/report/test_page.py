"""The page as a document: what stands in it, that labels stay text, that it loads nothing, and how large it gets."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest
from page_parser import Page
from page_records import (
    HOSTILE,
    MIB,
    build,
    header,
    hostile_finding,
    hostile_records,
    leak_finding,
    leaky_records,
    many_readings,
    statm,
)  # fmt: skip

from phaseprof.errors import UsageError
from phaseprof.recording import format as fmt
from phaseprof.recording.reader import Run
from phaseprof.records import Finding
from phaseprof.report.html import MAX_PROCESSES, MAX_RANK_LINES, render_page, write_html
from phaseprof.report.page.charts import MAX_LINES
from phaseprof.report.page.markup import table
from phaseprof.report.page.process_part import MAX_COUNTS
from phaseprof.report.page.trend import MAX_VIEWS


def page_of(records: Iterable[fmt.Record], *findings: Finding) -> Page:
    return Page(render_page(Run(None, [build(records)]), [findings]))


@pytest.fixture(scope="module")
def leaky_page() -> Page:
    return page_of(leaky_records(), leak_finding())


@pytest.fixture(scope="module")
def hostile_page() -> Page:
    return page_of(hostile_records(), hostile_finding())


def test_elements_are_nested_and_closed(leaky_page: Page) -> None:
    assert not leaky_page.badly_nested
    assert not leaky_page.open


def test_findings_stand_before_every_other_section(leaky_page: Page) -> None:
    sections = [a["class"].split()[-1] for a in leaky_page.named("section")]

    assert sections[0] == "findings"
    assert sections[1:6] == ["areas", "heap", "phases", "trend", "counts"]


def test_a_finding_says_what_where_who_and_what_to_do(leaky_page: Page) -> None:
    finding = leak_finding()

    for said in (finding.summary, finding.advice, *finding.holder, "+16 objects per generation", "2 h at this rate"):
        assert said in leaky_page.text


def test_evidence_is_drawn_without_script(leaky_page: Page) -> None:
    labels = [a.get("aria-label", "") for a in leaky_page.named("svg") if a.get("class") == "spark"]

    assert "TradingEnvironment objects at generation end: 18 → 82, 5 readings" in labels


def test_every_section_of_a_full_recording_is_there(leaky_page: Page) -> None:
    keys = {a["class"].split()[-1] for a in leaky_page.named("section")}

    assert keys == {"findings", "areas", "heap", "phases", "trend", "counts", "tracked", "devices", "explained",
                    "throughput", "large", "snapshots", "cost", "limits"}  # fmt: skip


def test_memory_is_drawn_by_cause_up_to_what_was_read(leaky_page: Page) -> None:
    view = leaky_page.data["charts"]["p0-areas"][0]  # type: ignore[index]
    stacked = [sum(layer["v"][at] for layer in view["layers"]) for at in range(5)]

    assert view["total"] == [(5 + g) * 1024 * MIB for g in range(5)]
    assert stacked == view["total"]


def test_what_was_read_only_at_the_end_is_no_area() -> None:
    late = fmt.Metrics(9, 4, {"malloc_free_bytes": 64 * MIB})
    page = page_of([*leaky_records(), late])

    view = page.data["charts"]["p0-areas"][0]  # type: ignore[index]
    assert "free inside malloc's heap" not in [layer["name"] for layer in view["layers"]]
    assert "free inside malloc's heap, read only later in the run, are in everything else" in page.text


def test_the_limit_is_drawn_where_it_is_reached() -> None:
    left = [fmt.Metrics(g + 1, g, {"available_bytes": (10 - g) * 1024 * MIB}) for g in range(5)]
    page = page_of([*leaky_records(), *left], replace(leak_finding(), eta_s=512.0))

    view = page.data["charts"]["p0-areas"][0]  # type: ignore[index]
    assert view["limit"] == 15 * 1024 * MIB  # 9 GiB are held, 6 are left
    assert view["ahead"] == [pytest.approx(4 + 512 / 48), view["limit"]]  # the median generation takes 48 s
    assert "limit 15.00 GiB, reached 8 min 30 s after the last reading, at 2023-11-14" in page.text


def test_the_heap_by_place_is_a_tree_whose_parts_fit(leaky_page: Page) -> None:
    came, held = leaky_page.data["charts"]["p0-heap"]  # type: ignore[index]

    for view in (came, held):
        for at, (_, _, size, _) in enumerate(view["rows"]):
            assert sum(row[2] for row in view["rows"] if row[0] == at) <= size
    assert [row[1] for row in came["rows"]] == ["heap", "module __main__", ".trainer (Trainer)", ".eval_envs (list)"]
    assert held["rows"][1][1] == "module numpy.*"  # two modules of one package


def test_a_phase_leads_to_its_line(tmp_path: Path) -> None:
    program = tmp_path / "it's a #1.py"
    program.write_text("".join(f"line_{n} = {n}\n" for n in range(1, 40)))
    label = fmt.Label(1, "evaluate_population", "phase", site=f"{program}:12")
    page = page_of([label if getattr(r, "id", -1) == 1 else r for r in leaky_records()], leak_finding())

    links = {a["href"] for a in page.named("a")}
    assert links == {f"vscode://file{quote(str(program))}:12"}
    assert "line_12 = 12" in page.text
    assert "line_30" not in page.text


@pytest.mark.parametrize("site", ["/etc/passwd:1", "train.py:3", "/no/such/file.py:1", "javascript:1", "/dev/zero:1"])
def test_of_a_place_that_is_no_python_file_nothing_is_read(site: str) -> None:
    label = fmt.Label(1, "evaluate_population", "phase", site=site)
    page = page_of([label if getattr(r, "id", -1) == 1 else r for r in leaky_records()], leak_finding())

    assert not page.named("pre")
    assert all(a["href"].startswith("vscode://file/") for a in page.named("a"))


def test_two_phases_of_one_leak_are_reconciled() -> None:
    page = page_of(leaky_records(), replace(leak_finding(), phase="train_population"))

    assert "What stays is made in train_population , but private memory" in page.text


def test_one_phase_of_one_leak_needs_no_words(leaky_page: Page) -> None:
    assert "paid for" not in leaky_page.text


def test_every_chart_has_its_data_and_a_description(leaky_page: Page) -> None:
    places = {a["id"]: a["aria-label"] for a in leaky_page.named("div") if "chart" in a.get("class", "").split()}

    assert places.keys() == leaky_page.data["charts"].keys()  # type: ignore[attr-defined]
    assert all(places.values())


def test_headings_go_down_one_level_at_a_time(leaky_page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in leaky_page.elements if tag in ("h1", "h2", "h3", "h4")]

    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_identifiers_are_unique_and_references_lead_somewhere(leaky_page: Page) -> None:
    ids = [a["id"] for _, a in leaky_page.elements if "id" in a]
    named = {a[key] for _, a in leaky_page.elements for key in ("aria-labelledby", "aria-controls") if key in a}

    assert len(ids) == len(set(ids))
    assert named <= set(ids)


def test_the_trend_data_are_the_readings(leaky_page: Page) -> None:
    views = leaky_page.data["charts"]["p0-trend"]  # type: ignore[index]
    rss = next(view for view in views if view["name"] == "Resident memory (RSS)")
    ends = [v for p, v in zip(rss["p"], rss["v"], strict=True) if rss["points"][p] == "generation end"]

    assert ends == [(5 + g) * 1024 * MIB for g in range(5)]


def test_the_way_to_a_point_belongs_to_the_phase_that_was_open(leaky_page: Page) -> None:
    view = leaky_page.data["charts"]["p0-trend"][0]  # type: ignore[index]
    owners = dict(zip(view["points"], view["owners"], strict=True))

    assert view["phases"][owners["after train_population"]] == "train_population"
    assert owners["train_population: start"] == -1


def test_the_heat_map_holds_the_charges(leaky_page: Page) -> None:
    view = leaky_page.data["charts"]["p0-heat"][0]  # type: ignore[index]
    row = view["cells"][view["phases"].index("evaluate_population")]

    assert row == [512 * MIB] * 5


def test_generations_keep_the_numbers_that_the_user_gave(leaky_page: Page) -> None:
    assert leaky_page.data["names"]["p0"] == {"shift": 1}  # type: ignore[index]


def test_what_was_not_looked_at_is_said(leaky_page: Page) -> None:
    assert "Put off to keep within the budget: holders 3 times." in leaky_page.text
    assert "graph is no longer measured: torch is not imported" in leaky_page.text


def unwatched_records() -> list[fmt.Record]:
    return [r for r in leaky_records() if not isinstance(r, (fmt.Watch, fmt.Violation))]


def without_watched(record: fmt.Record) -> fmt.Record:
    if isinstance(record, fmt.Metrics):
        record.v = {metric: value for metric, value in record.v.items() if not metric.startswith("watched/")}
    return record


def test_a_clean_run_says_so_and_what_was_looked_at() -> None:
    page = page_of(list(map(without_watched, unwatched_records())))

    assert "Too short to judge: a verdict needs 6 generations or more, and there were 5" in page.text
    assert "What was looked at:" in page.text
    assert "the allocator of cuda0" in page.text
    assert "No class was watched" in page.text


def test_a_broken_expectation_is_not_called_clean() -> None:
    page = page_of(leaky_records())

    assert "there were 5, but 1 expected count is broken" in page.text


def test_a_recording_without_generations_claims_nothing() -> None:
    page = page_of([header()])

    assert "Nothing was measured: no phase, checkpoint or generation was entered" in page.text
    assert "No memory reading was recorded" in page.text


def test_a_program_that_marks_nothing_has_its_snapshots_drawn() -> None:
    taken = [fmt.SnapshotTaken(t, -1, f"after {t} s", {"rss_bytes": (600 + t) * MIB}) for t in range(5)]
    page = page_of([header(), *taken])

    view = page.data["charts"]["p0-snapshots"][0]  # type: ignore[index]
    assert view["lines"][0]["v"] == [(600 + t) * MIB for t in range(5)]
    assert view["labels"][4] == "after 4 s"
    assert "What was looked at: 5 snapshots" in page.text


def test_samples_between_boundaries_are_no_point_of_the_loop() -> None:
    records = list(leaky_records())
    sampled = [fmt.Label(9, "sample", "sample"), fmt.Point(1, 9, fmt.POINT, 2, statm(9000 * MIB))]
    page = page_of([*records[:-1], *sampled])

    view = page.data["charts"]["p0-trend"][0]  # type: ignore[index]
    assert "generation end" in view["points"]
    assert "sample" not in view["points"]


def test_a_run_without_processes_is_a_page() -> None:
    page = Page(render_page(Run(None, []), []))

    assert "Nothing was recorded" in page.text
    assert not page.badly_nested


def test_as_many_findings_as_processes_are_asked_for() -> None:
    with pytest.raises(UsageError, match="one list for each process"):
        render_page(Run(None, [build([header()])]), [])


def test_hostile_labels_make_no_element(hostile_page: Page) -> None:
    tags = {tag for tag, _ in hostile_page.elements}

    assert not tags & {"img", "b", "iframe", "object", "link", "base", "form"}
    assert [a["href"] for a in hostile_page.named("a") if not a["href"].startswith("vscode://file/")] == []
    assert not hostile_page.badly_nested
    assert len(hostile_page.scripts) == 2
    assert not [name for _, attributes in hostile_page.elements for name in attributes if name.startswith("on")]


def test_hostile_labels_are_shown_as_text(hostile_page: Page) -> None:
    """In headings, tables, notes and attributes, one line each, without characters that turn text around."""
    shown = "</script><img src=x onerror=alert(1)>\"'&<b>%{x}$x$"

    assert hostile_page.text.count(shown) > 20
    assert "\u202e" not in hostile_page.text


def test_hostile_labels_survive_inside_the_data(hostile_page: Page) -> None:
    view = hostile_page.data["charts"]["p0-heat"][0]  # type: ignore[index]

    assert HOSTILE in view["phases"]
    assert hostile_page.data["names"]["p0"]["names"]["3"] == f"{HOSTILE}3"  # type: ignore[index]


def test_the_page_loads_nothing(leaky_page: Page) -> None:
    loading = {"src", "href", "data", "action", "poster", "srcset", "background", "formaction", "xlink:href"}
    found = [(tag, a) for tag, a in leaky_page.elements if loading & a.keys() and tag != "a"]
    styles = render_page(Run(None, []), []).partition("<style>")[2].partition("</style>")[0]

    assert not found
    assert not leaky_page.named("link")
    assert "url(" not in styles
    assert "@import" not in styles


def test_the_policy_admits_the_pages_own_scripts_only(leaky_page: Page) -> None:
    policies = [a["content"] for a in leaky_page.named("meta") if a.get("http-equiv") == "Content-Security-Policy"]

    assert len(policies) == 1
    rules = dict(rule.strip().split(" ", 1) for rule in policies[0].split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"].count("'sha256-") == 1
    assert "unsafe" not in rules["script-src"]
    assert "http" not in policies[0]


def test_equal_recordings_give_equal_pages(leaky_page: Page) -> None:
    again = page_of(leaky_records(), leak_finding())

    assert (again.elements, again.text, again.data) == (leaky_page.elements, leaky_page.text, leaky_page.data)


def test_several_processes_have_a_table_and_a_tab_each() -> None:
    ranks = [build(leaky_records(head=header(rank=r, world_size=3, pid=100 + r))) for r in range(3)]
    page = Page(render_page(Run(None, ranks), [(leak_finding(),), (), ()]))

    tabs = [a for a in page.named("button") if a.get("role") == "tab"]
    assert [tab["aria-controls"] for tab in tabs] == ["p0", "p1", "p2"]
    assert "1 leak found in 1 of 3 processes" in page.text
    assert "rank 2, pid 102" in page.text


def test_a_wide_run_shows_leaking_ranks_in_full_and_the_rest_in_the_table() -> None:
    ranks = [build([header(rank=r, world_size=20, pid=100 + r)]) for r in range(20)]
    page = Page(render_page(Run(None, ranks), [(leak_finding(),) if r == 17 else () for r in range(20)]))

    panels = [a["id"] for a in page.named("div") if a.get("role") == "tabpanel"]
    assert len(panels) == MAX_PROCESSES
    assert "p17" in panels
    assert "12 more processes" in page.text


def test_a_hundred_thousand_readings_stay_small_and_fast() -> None:
    process = build(many_readings(8400))  # twelve points a generation
    begin = time.process_time()

    text = render_page(Run(None, [process]), [()])

    assert time.process_time() - begin < 10
    data = next(text for attributes, text in Page(text).scripts if attributes.get("id") == "phaseprof-data")
    assert len(data) < 100_000
    assert len(text) < 150_000


def test_a_spike_is_never_thinned_away() -> None:
    page = page_of(many_readings(3001, spike_at=2998))
    view = page.data["charts"]["p0-trend"][0]  # type: ignore[index]

    assert view["n"] > 4 * len(view["v"])
    assert max(view["v"]) == (600 + 299 + 4096 - 256) * MIB


def test_generations_are_drawn_whole() -> None:
    view = page_of(many_readings(3000)).data["charts"]["p0-trend"][0]  # type: ignore[index]
    readings: dict[int, int] = {}
    for g in view["g"]:
        readings[g] = readings.get(g, 0) + 1

    assert set(readings.values()) == {12}


def test_a_tracked_name_that_was_sized_once_has_no_growth() -> None:
    once, twice = (
        page_of([header(), *(fmt.Metrics(g, g, {"tracked/replay": MIB, "rss_bytes": MIB}) for g in range(n))])
        for n in (1, 2)
    )

    assert "1.05 MB - -" in once.text
    assert "1.05 MB 0 B 0 B" in twice.text


def test_charts_say_in_words_that_they_draw_fewer_than_there_are() -> None:
    figures = {f"tracked/name {at}": (at + 1) * MIB for at in range(30)}
    figures |= {f"watched/pkg.Class{at}": at for at in range(20)}
    figures |= {f"made up {at}": at for at in range(60)}
    records = [fmt.Metrics(t, g, figures) for g, t in enumerate(range(9))]
    page = page_of([header(), fmt.Label(0, "generation", "generation"), *records])

    charts: dict[str, list[dict[str, object]]] = page.data["charts"]  # type: ignore[assignment]
    assert len(charts["p0-tracked"][0]["lines"]) == MAX_LINES  # type: ignore[arg-type]
    assert f"{MAX_LINES} of 30 tracked names drawn" in page.text
    assert len([key for key in charts if key.startswith("p0-count")]) == MAX_COUNTS
    assert f"{MAX_COUNTS} of 20 counted classes drawn" in page.text
    assert len(charts["p0-trend"]) == MAX_VIEWS
    assert f"{MAX_VIEWS} of 60 metrics drawn" in page.text


def test_charts_that_draw_all_need_no_words(leaky_page: Page) -> None:
    assert " drawn" not in leaky_page.text
    assert " shown." not in leaky_page.text


def test_ranks_beyond_the_lines_of_the_chart_are_counted() -> None:
    ranks = [build(leaky_records(2, head=header(rank=r, world_size=40, pid=100 + r))) for r in range(40)]
    page = Page(render_page(Run(None, ranks), [()] * 40))

    view = page.data["charts"]["all-ranks"][0]  # type: ignore[index]
    assert len(view["lines"]) == MAX_RANK_LINES
    assert f"{MAX_RANK_LINES} of 40 processes drawn" in page.text


def test_columns_of_words_stand_to_the_left_and_figures_to_the_right() -> None:
    page = Page(table(("name", "held by", "size", "note"), [("a", "x", "1 B", ""), ("b", "-", "-", "")], caption="c"))

    classes = [a.get("class") for a in page.named("td")]
    assert classes == ["words", None, None] * 2


def test_a_long_name_of_a_row_may_break_and_a_short_one_may_not() -> None:
    page = Page(table(("name",), [("small",), ("evaluate_population",)], caption="c"))

    assert [a.get("class") for a in page.named("th")] == ["words", None, "long"]


def test_tables_say_in_words_that_they_are_cut() -> None:
    figures = [{f"count/pkg.Type{at}": g * at for at in range(1, 31)} for g in range(5)]
    page = page_of([header(), *(fmt.Metrics(g, g, figure) for g, figure in enumerate(figures))])

    assert "12 of 30 growing types shown." in page.text


def test_writing_gives_the_rendered_page(tmp_path: Path) -> None:
    run = Run(None, [build([header()])])

    write_html(run, [()], tmp_path / "page.html")

    assert (tmp_path / "page.html").read_text(encoding="utf-8") == render_page(run, [()])
