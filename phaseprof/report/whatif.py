"""WHAT IF: memory at the end, and the time until the limit, had each leak not been there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from phaseprof.analysis.limits import Horizon
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding
from phaseprof.report.access import memory_point, series_of
from phaseprof.report.text import Column, Report, Style, columns, section, wrap
from phaseprof.units import format_bytes, format_duration

_NOTE = "This assumes that each leak grew steadily from its first generation, and will go on doing so."


@dataclass(frozen=True)
class WhatIfRow:
    """Memory without one leak, or as it is.

    Attributes:
        name: the leak in few words.
        end_bytes: private memory at the end of the recording; ``None`` where it was not read.
        seconds_left: until the memory limit, at the rate of the leaks that are left; ``None``: it is not reached, or
            limit or time are not known.
    """

    name: str
    end_bytes: float | None
    seconds_left: float | None


@dataclass(frozen=True)
class WhatIfReport(Report):
    """First as it is, then without each leak whose bytes were measured, then without all of them.

    Attributes:
        rows: empty where there is no such leak.
        has_limit: whether a memory limit and the length of generations are known.
    """

    rows: tuple[WhatIfRow, ...]
    has_limit: bool

    def render(self, style: Style) -> str:
        """Lay it out as a table."""
        if not self.rows:
            return section("WHAT IF", "growth", ["No leak was measured in bytes."], style)
        layout = (Column("", 20), Column("Memory at the end"), Column("Time to the limit"))
        cells = [(row.name, _bytes_text(row.end_bytes), self._time_text(row)) for row in self.rows]
        return section("WHAT IF", "growth", [*columns(layout, cells, style), *wrap(_NOTE, style.width, style)], style)

    def _time_text(self, row: WhatIfRow) -> str:
        if not self.has_limit:
            return "not known"
        return "not reached" if row.seconds_left is None else format_duration(row.seconds_left)


def build_what_if(process: ProcessRun, findings: Sequence[Finding]) -> WhatIfReport:
    """Reckon what each leak was worth.

    Method: a leak has grown by its rate in each generation since its first, which is taken off memory at the end and
    added to what is left of the limit; the time is what is left over the rates of the other leaks.  Leaks of an
    accelerator's memory are left out, and those whose bytes are not known.
    """
    leaks = [f for f in findings if f.verdict == "leak" and f.bytes_slope > 0 and "/allocated" not in f.metric]
    horizon, end = Horizon(process), _end_bytes(process)
    cases = [("as it is", []), *((_name(leak, leaks), [leak]) for leak in leaks)]
    if len(leaks) > 1:
        cases.append(("without any of them", leaks))
    rows = []
    for name, without in cases:
        freed = sum(_grown_bytes(process, leak, end) for leak in without)
        rate = sum(leak.bytes_slope for leak in leaks if not any(leak is one for one in without))
        left = None if horizon.left_bytes is None else horizon.left_bytes + freed
        end_bytes = None if end is None else max(0.0, end - freed)
        rows.append(WhatIfRow(name, end_bytes, horizon.seconds_left(rate, of=left)))
    has_limit = horizon.left_bytes is not None and bool(horizon.generation_s)
    return WhatIfReport(tuple(rows) if leaks else (), has_limit)


def _grown_bytes(process: ProcessRun, leak: Finding, end: float | None) -> float:
    """What a leak has come to, which is no more than memory in all."""
    generations = max(0, process.last_ordinal - (leak.since_ordinal or 0) + 1)
    return min(leak.bytes_slope * generations, math.inf if end is None else end)


def _end_bytes(process: ProcessRun) -> float | None:
    point = memory_point(process)
    read = series_of(process, "anonymous_bytes", point=point) or series_of(process, "rss_bytes", point=point)
    return None if read is None else read.last


def _name(leak: Finding, leaks: Sequence[Finding]) -> str:
    is_alone = sum((one.subject, one.kind) == (leak.subject, leak.kind) for one in leaks) == 1
    where = f" in {leak.phase}" if leak.phase and not is_alone else ""
    return f"without {leak.subject or leak.kind}{where}"


def _bytes_text(n_bytes: float | None) -> str:
    return "not known" if n_bytes is None else format_bytes(n_bytes)
