"""Memory Report - Epoch N: the deep size of each tracked name, and what it grew by."""

from __future__ import annotations

from dataclasses import dataclass

from phaseprof.recording.model import ProcessRun
from phaseprof.recording.series import Series
from phaseprof.report.access import Generations, metrics_under
from phaseprof.report.text import Report, Style, clean, fit, heading, join, pad, rule, wrap
from phaseprof.units import MB, format_decimal_bytes

DEFAULT_THRESHOLD_MB = 5.0  # MB a generation, as trainers have it
_WIDTH = 60  # of this report's rules
_NAME_WIDTH = 34


@dataclass(frozen=True)
class TrackedSize:
    """One tracked name over the run.

    Attributes:
        name: the name.
        size_bytes: its newest deep size.
        growth_bytes: change since it was first measured.
        growth_bytes_per_epoch: that change over the epochs it took.
        recent_bytes_per_epoch: how the least size rose from the last but one quarter of the readings to the last.
        epoch: the newest epoch it was measured in, by the user's number.
        is_gone: whether others were measured later: its getter failed or its object died.
        is_suspect: whether both rates exceed the threshold.
        n_readings: how often it was measured.
    """

    name: str
    size_bytes: float
    growth_bytes: float
    growth_bytes_per_epoch: float
    recent_bytes_per_epoch: float
    epoch: str
    is_gone: bool
    is_suspect: bool
    n_readings: int = 0


@dataclass(frozen=True)
class TrackedReport(Report):
    """Sizes of the tracked names, largest first, and those that grow faster than the threshold."""

    derived = ("suspects",)

    epoch: str
    threshold_bytes_per_epoch: float
    sizes: tuple[TrackedSize, ...]

    @property
    def suspects(self) -> tuple[str, ...]:
        """Names that grow over the threshold."""
        return tuple(s.name for s in self.sizes if s.is_suspect)

    def render(self, style: Style) -> str:
        """Lay the sizes out as text."""
        if not self.sizes:
            body = ["", "No tracked name was measured; track(name, getter) sizes one.", rule(style, width=_WIDTH)]
            return join([*heading("Memory Report", "", style, width=_WIDTH), *body], style)
        lines = heading(f"Memory Report - Epoch {self.epoch}", "", style, width=_WIDTH)
        lines += ["", "Current Memory Usage:", *(_size_line(s, style) for s in self.sizes)]
        grown = [s for s in self.sizes if s.growth_bytes > 0]
        no_growth = "  none" if any(s.n_readings > 1 for s in self.sizes) else "  not known: no name was sized twice"
        lines += ["", "Memory Growth:", *([_growth_line(s, style) for s in grown] or [no_growth])]
        return join([*lines, rule(style, width=_WIDTH), *self._warning(style)], style)

    def _warning(self, style: Style) -> list[str]:
        if not self.suspects:
            return []
        names = [clean(name, style)[:80] for name in self.suspects]
        limit = f"over {self.threshold_bytes_per_epoch / MB:g} MB/epoch"
        if all(size.n_readings > 2 for size in self.sizes if size.is_suspect):  # two show no half of the run
            limit += ", also in the newer half of the run"
        warned = wrap(f"WARNING: Potential memory leaks detected in: {names}", style.width, style)
        return ["", *warned, f"  ({limit})"]


def _size_line(size: TrackedSize, style: Style) -> str:
    gone = f"  gone since epoch {size.epoch}" if size.is_gone else ""
    return _tracked_line(size.name, format_decimal_bytes(size.size_bytes), gone, style)


def _growth_line(size: TrackedSize, style: Style) -> str:
    rate = f" ({format_decimal_bytes(size.growth_bytes_per_epoch)}/epoch)"
    return _tracked_line(size.name, f"+{format_decimal_bytes(size.growth_bytes)}", rate, style)


def _tracked_line(name: str, size: str, note: str, style: Style) -> str:
    number, _, unit = size.partition(" ")
    return f"  {pad(fit(name, _NAME_WIDTH - 1, style), _NAME_WIDTH)}{number:>8} {unit}{note}"


def build_tracked(process: ProcessRun, threshold_mb_per_epoch: float | None = None) -> TrackedReport:
    """Report the tracked names; a name that grows over ``threshold_mb_per_epoch`` (10**6 bytes) is suspect.

    Without one, the threshold that the run was recorded with holds.
    It must do so over the whole run and over the newer half of its readings, there by the least sizes, so that a
    buffer that was filled once, has stopped growing or is emptied now and then is not called a leak.
    """
    process.fold()
    names, found = Generations(process), metrics_under(process, "tracked/")
    newest = max((series.generations[-1] for series in found.values()), default=0)
    limit = _recorded_threshold(process) if threshold_mb_per_epoch is None else threshold_mb_per_epoch
    threshold = limit * MB
    sizes = [_tracked(name, series, newest, names, threshold) for name, series in found.items()]
    return TrackedReport(names.name(newest), threshold, tuple(sorted(sizes, key=lambda s: (-s.size_bytes, s.name))))


def _recorded_threshold(process: ProcessRun) -> float:
    text = process.header.settings.get("leak_threshold_mb", "") if process.header else ""
    try:
        return float(text)
    except ValueError:
        return DEFAULT_THRESHOLD_MB


def _tracked(name: str, series: Series, newest: int, names: Generations, threshold: float) -> TrackedSize:
    first, last = series.generations[0], series.generations[-1]
    growth = series.last - series.values[0]
    rate = growth / max(1, last - first)
    recent = _recent_rate(series)
    return TrackedSize(
        name, series.last, growth, rate, recent, names.name(last),
        is_gone=last < newest, is_suspect=last > first and min(rate, recent) > threshold, n_readings=len(series),
    )  # fmt: skip


def _recent_rate(series: Series) -> float:
    quarter = max(1, len(series) // 4)
    if len(series) < 2:
        return 0.0
    rise = min(series.values[-quarter:]) - min(series.values[-2 * quarter : -quarter])
    return rise / max(1, series.generations[-quarter] - series.generations[-2 * quarter])
