"""What a disabled profiler returns where a report is asked for at once: that nothing was measured."""

from __future__ import annotations

from dataclasses import dataclass

from phaseprof.report.text import Report, Style


@dataclass(frozen=True)
class DisabledReport(Report):
    """Stands for a snapshot that was not taken.

    Attributes:
        label: of the snapshot that was asked for.
    """

    label: str

    def render(self, style: Style) -> str:
        """Return one line."""
        return f"{self.label}: not measured, the profiler is disabled"
