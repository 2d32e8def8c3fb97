"""The printed report on CUDA memory snapshots."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from phaseprof.analysis.snapshots import SnapshotAnalysis
from phaseprof.analysis.snapshots.beside import ScalarMatch
from phaseprof.analysis.snapshots.findings import device_verdict
from phaseprof.analysis.snapshots.series import DeviceSeries
from phaseprof.report.snapshots_tables import (
    FLOOR_WORDS,
    MOST_PLACES,
    ONE_WORDS,
    R_WORDS,
    Cells,
    Table,
    class_table,
    event_table,
    event_words,
    growth_table,
    history_words,
    oom_words,
    place_words,
    pool_facts,
    scalar_table,
    site_notes,
    site_table,
    slope_table,
    span_words,
    unit_words,
)

_MOST_LINES = 12
_WIDTH = 110  # of sentences; the growth table is about as wide
_TOO_SHORT = "Three snapshots that grow evenly can show a leak; one shows what is there, and two show what changed."


def render_text(analysis: SnapshotAnalysis) -> str:
    """Write the whole report; sections without content are left out."""
    lines = [f"CUDA memory snapshots: {analysis.folder}", f"Verdict: {analysis.verdict.upper()}"]
    lines += [f"  {_TOO_SHORT}"] * (analysis.verdict == "too short" and not analysis.findings)
    for finding in analysis.findings:
        lines += ["", *_wrapped(f"{finding.verdict.upper()} ({finding.kind}): {finding.summary}")]
        lines += _wrapped(f"  {finding.advice}")
    for error in analysis.errors:
        lines += ["", f"UNREADABLE: {error}"]
    for series in analysis.series:
        lines += ["", *series_lines(series)]
    lines += tensorboard_lines(analysis.scalars)
    for note in analysis.notes:
        lines += ["", f"Note: {note}"]
    return "\n".join(lines)


def _wrapped(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def series_lines(series: DeviceSeries) -> Iterator[str]:
    """Yield the sections on one device."""
    grown = "" if len(series.rows) < 3 else f": {device_verdict(series)}"
    yield f"== {place_words(series)}{grown} == {span_words(series)}, {history_words(series)}"
    yield ""
    yield from table(*growth_table(series))
    if len(series.rows) > 1:
        yield from ("", "Slopes")
        yield from table(*slope_table(series))
        yield FLOOR_WORDS
    if facts := pool_facts(series):
        yield from ("", "Pools and fragmentation")
        yield from (f"  {fact}" for fact in facts)
    yield from _titled(class_table(series))
    sites = site_table(series)
    yield from _titled(sites)
    if sites:
        yield from site_notes(series)
    yield from _event_lines(series)
    for oom in series.events.ooms:
        first, *rest = oom_words(series, oom)
        yield from ("", f"Out of memory: {first}", *(f"  {words}" for words in rest))
    if len(series.rows) == 1:
        yield from ("", ONE_WORDS)


def _titled(whole: Table | None) -> Iterator[str]:
    """Yield a table under its title and the number of its rows, cut where it is long."""
    if whole is None:
        return
    yield from ("", f"{whole.title} ({len(whole.cells)})")
    yield from _rows(whole, _MOST_LINES)


def _rows(whole: Table, most: int) -> Iterator[str]:
    if whole.cells:
        yield from table(whole.header, whole.cells[:most])
    if len(whole.cells) > most:
        yield f"... and {len(whole.cells) - most} more (see --json or --out)"


def _event_lines(series: DeviceSeries) -> Iterator[str]:
    events = event_table(series)
    if events is None:
        return
    yield from ("", events.title, f"  {event_words(series)}")
    yield from _rows(events, MOST_PLACES)


def tensorboard_lines(scalars: Sequence[ScalarMatch]) -> Iterator[str]:
    """Yield the comparison with TensorBoard scalars."""
    if not scalars:
        return
    yield from ("", "TensorBoard scalars beside the snapshots")
    yield from table(*scalar_table(scalars))
    yield from (f"  {unit_words(match)}" for match in scalars)
    yield f"  {R_WORDS}"


def table(header: list[str], cells: Cells) -> list[str]:
    """Lay cells out in columns, numbers to the right."""
    from tabulate import tabulate

    align = ["left" if _is_words(column) else "right" for column in zip(*cells, strict=True)]
    text: str = tabulate(cells, header, tablefmt="simple", disable_numparse=True, colalign=align)
    return text.split("\n")


def _is_words(column: Sequence[str]) -> bool:
    return not all(cell[:1] in "+-?" or cell[:1].isdigit() for cell in column)
