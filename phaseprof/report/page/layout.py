"""The frame of every section: heading, figure with its switch, lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from phaseprof.report.page.charts import Chart
from phaseprof.report.page.markup import Html, element, join

MAX_ITEMS = 60


def section(prefix: str, key: str, title: str, *children: str) -> Html:
    """Return a section with its heading."""
    title_id = f"{prefix}-{key}-title"
    return element(
        "section", element("h2", title, id=title_id), *children, class_=f"part {key}", aria_labelledby=title_id
    )


def figure(prefix: str, chart: Chart) -> Html:
    """Return the place where the page's script draws a chart, with a switch where there is more than one view."""
    chart_id = f"{prefix}-{chart.key}"
    switch = _switch(chart_id, chart) if len(chart.views) > 1 else ""
    title = element("h3", chart.title) if chart.title else ""
    head = element("div", title, switch, class_="head") if title or switch else ""
    place = element("div", id=chart_id, class_=f"chart {chart.size}", role="img", aria_label=chart.caption)
    return element("figure", head, place, element("figcaption", chart.caption), class_="plot")


def _switch(chart_id: str, chart: Chart) -> Html:
    groups: dict[str, list[Html]] = {}
    for at, view in enumerate(chart.views):
        groups.setdefault(str(view.get("group", "")), []).append(element("option", str(view["name"]), value=at))
    inner = [element("optgroup", *options, label=name) if name else join(*options) for name, options in groups.items()]
    return element(
        "label", element("span", "Show "), element("select", *inner, data_chart=chart_id), class_="switch live-only"
    )


def bullet_list(items: Sequence[str], *, most: int = MAX_ITEMS) -> Html:
    """Return a list, cut with a count where it is long."""
    shown = [element("li", item) for item in items[:most]]
    more = [element("li", f"{len(items) - most:,} more are in the recording")] if len(items) > most else []
    return element("ul", *shown, *more, class_="plain")


def definition_list(facts: Iterable[tuple[str, str]]) -> Html:
    """Return names and values; those without a value are left out."""
    return element("dl", *(element("div", element("dt", n), element("dd", t)) for n, t in facts if t), class_="facts")
