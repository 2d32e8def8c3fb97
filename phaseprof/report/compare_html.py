"""The page of runs side by side: what the evidence supports, memory of each, and the heap of one less another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from phaseprof.analysis.compare import Comparison, Row
from phaseprof.recording.model import ProcessRun
from phaseprof.report.compare_text import (
    compare_sentence,
    leak_texts,
    moved_rows,
    run_cells,
    short_names,
    slope_cells,
)
from phaseprof.report.flames import flames_between
from phaseprof.report.page.charts import Chart, lines
from phaseprof.report.page.document import banner, document, footer
from phaseprof.report.page.flame import flame_chart
from phaseprof.report.page.layout import bullet_list
from phaseprof.report.page.markup import Html, element, join
from phaseprof.report.page.part import Part
from phaseprof.report.page.tables import MAX_ROWS, cut_table
from phaseprof.report.words import capital, is_bytes, metric_words

_MOST_RUNS = 12  # lines of the chart


def write_compare_html(comparison: Comparison, processes: Sequence[ProcessRun], path: Path) -> None:
    """Write the page to a file.

    Args:
        comparison: what was found.
        processes: the one process of each run that was compared, in its order.
        path: the file.

    Raises:
        OSError: the file cannot be written.
    """
    path.write_text(render_compare_page(comparison, processes), encoding="utf-8")


def render_compare_page(comparison: Comparison, processes: Sequence[ProcessRun]) -> str:
    """Return one HTML document that shows runs side by side."""
    part = _ComparePart(comparison, processes)
    still_leaks = comparison.headline is not None and comparison.headline.slopes[-1].verdict == "leak"
    kind = "bad" if comparison.is_worse() else "warn" if comparison.is_too_short or still_leaks else "good"
    head = banner(
        _verdict(comparison), kind, brand="phaseprof diff", command="",
        facts=[f"{comparison.unit}s {comparison.first:g} to {comparison.last:g}", *comparison.notes],
    )  # fmt: skip
    body = join(head, element("main", part.markup(), class_="process"), footer())
    return document("phaseprof diff", body, {"names": {}, "charts": part.charts, "axis": comparison.unit})


def _verdict(comparison: Comparison) -> str:
    names = short_names(comparison.names)
    if comparison.headline is None:
        return "The runs have no series in common"
    if comparison.is_too_short:
        return "Too short to compare"
    words = [f"{name}: {change.word}" for name, change in zip(names[1:], comparison.headline.changes, strict=True)]
    if len(words) == 1:
        return f"Growth {comparison.headline.changes[0].word}"
    return f"Growth against {names[0]}: {', '.join(words)}"


@dataclass
class _ComparePart(Part):
    """Builds the sections from top to bottom."""

    comparison: Comparison
    processes: Sequence[ProcessRun]
    prefix: str = "c0"
    charts: dict[str, Sequence[Mapping[str, object]]] = field(default_factory=dict)

    def _sections(self) -> Iterator[Html]:
        comparison, headline = self.comparison, self.comparison.headline
        said = element("p", compare_sentence(comparison))
        also = bullet_list(comparison.also_differ) if comparison.also_differ else Html("")
        differs = join(element("h3", "They differ in"), also) if also else Html("")
        fates = leak_texts(comparison)
        leaks = join(element("h3", "Leaks, per generation"), bullet_list(fates)) if fates else Html("")
        if headline is None:
            yield self._section("findings", "What the evidence supports", said, leaks, differs)
            return
        head, rows = run_cells(comparison, headline)
        whole = cut_table(_titles(head), rows[:MAX_ROWS], of=len(rows), noun="run", caption="Runs")
        yield self._section("sides", "What the evidence supports", said, whole, leaks, differs)
        yield self._section("trend", metric_words(headline.metric), self._figure(self._lines(headline)))
        first, last = self.processes[0], self.processes[-1]
        heaps = flame_chart(flames_between(first, last))
        yield self._section("heap", "The heap by place, one less the other", self._figure(heaps))
        yield self._slopes("moved", "Also changed", "metric", moved_rows(comparison, headline), by_metric=True)
        yield self._slopes("phases", "Change within each phase", "phase", comparison.phases, by_metric=False)

    def _slopes(self, key: str, title: str, head: str, rows: Sequence[Row], *, by_metric: bool) -> Html:
        (first, *names, last), cells = slope_cells(rows[:MAX_ROWS], head, self.comparison, by_metric=by_metric)
        whole = cut_table([capital(first), *names, capital(last)], cells, of=len(rows), noun=head, caption=title)
        return self._section(key, title, whole)

    def _lines(self, headline: Row) -> Chart | None:
        key = (headline.point, headline.metric)
        names = short_names(self.comparison.names)[:_MOST_RUNS]
        drawn = lines((name, process.series.get(key)) for name, process in zip(names, self.processes, strict=False))
        if not drawn:
            return None
        unit = "bytes" if is_bytes(headline.metric) else "count"
        caption = f"{metric_words(headline.metric)} at {headline.point} of each run"
        return Chart("runs", "", caption, ({"kind": "lines", "unit": unit, "lines": drawn},))


def _titles(header: Sequence[str]) -> list[str]:
    return [capital(title) for title in header]
