"""LARGE OBJECTS: what alone weighs more than a threshold."""

from __future__ import annotations

from dataclasses import dataclass

from phaseprof.recording.model import ProcessRun
from phaseprof.records import LargeObject
from phaseprof.report.text import Column, Report, Style, columns, section
from phaseprof.units import MB, format_decimal_bytes

MAX_ROWS = 20


@dataclass(frozen=True)
class LargeObjectsReport(Report):
    """Objects of at least ``min_bytes``, largest first.

    Attributes:
        min_bytes: threshold of this report.
        objects: the objects, or ``None`` where none were looked for.
        recorded_min_bytes: threshold in force when they were looked for.
    """

    min_bytes: int
    objects: tuple[LargeObject, ...] | None
    recorded_min_bytes: int = 0

    def render(self, style: Style) -> str:
        """Lay the objects out as text: the twenty largest."""
        return section(f"LARGE OBJECTS (>= {self.min_bytes / MB:g} MB)", "large", self._body(style), style)

    def _body(self, style: Style) -> list[str]:
        if self.objects is None:
            return ["Large objects were not looked for in this run."]
        lines = []
        if self.objects:
            rows = [(o.type_name, f"{o.size_bytes / MB:,.2f}") for o in self.objects[:MAX_ROWS]]
            notes = [_note(o) for o in self.objects[:MAX_ROWS]]
            lines = columns((Column("Type", 30), Column("Size (MB)", 15)), rows, style, notes=notes)
        else:
            lines = ["None."]
        if len(self.objects) > MAX_ROWS:
            rest = self.objects[MAX_ROWS:]
            lines.append(f"... {len(rest)} more, {format_decimal_bytes(sum(o.size_bytes for o in rest))} together")
        if self.recorded_min_bytes > self.min_bytes:
            lines.append(f"(only objects of at least {format_decimal_bytes(self.recorded_min_bytes)} were recorded)")
        return lines


def _note(item: LargeObject) -> str:
    text = ", ".join(part for part in (item.holder, item.detail) if part)
    return f"<- {text}" if text else ""


def build_large_objects(process: ProcessRun, min_mb: float = 10.0) -> LargeObjectsReport:
    """Report the large objects that were last looked for, from ``min_mb`` megabytes (10**6 bytes) up."""
    threshold = round(min_mb * MB)
    if process.large is None:
        return LargeObjectsReport(threshold, None)
    found = [LargeObject(*row) for row in process.large.rows if row[1] >= threshold]
    found.sort(key=lambda o: -o.size_bytes)
    return LargeObjectsReport(threshold, tuple(found), process.large.min_bytes)
