"""Memory over time as areas by cause, with the limit and the time at which it is reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from phaseprof.analysis.limits import Horizon
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.series import Series
from phaseprof.records import Finding
from phaseprof.report.access import ALLOCATED, devices_in, memory_point, series_of, value_at
from phaseprof.report.explained import BYTES_A_BLOCK
from phaseprof.report.page.charts import Chart, change_words
from phaseprof.report.page.thinning import thin
from phaseprof.report.words import clauses, listed
from phaseprof.units import format_bytes, format_estimate

_MOST = 200  # generations drawn
_DEVICE = (ALLOCATED, "/active_bytes", "/reserved_bytes")  # leaks of an accelerator, which has a limit of its own
_POOLS = (
    ("inactive splits", "inactive_split_bytes"), ("small pool", "small_pool_active_bytes"),
    ("large pool", "large_pool_active_bytes"),
)  # fmt: skip
_REST = "everything else: code, native libraries, stacks"


@dataclass(frozen=True)
class End:
    """Where memory ends.

    Attributes:
        limit_bytes: what the process may hold.
        seconds: until it does, at the rate of the leak that is the nearest to it; ``None`` if nothing leaks.
        generations: the same in generations.
        clock: the time of day at which it does.
    """

    limit_bytes: float
    seconds: float | None = None
    generations: float | None = None
    clock: str = ""

    @property
    def short(self) -> str:
        """The limit and how far away it is, for a narrow screen."""
        left = "" if self.seconds is None else f" in {format_estimate(self.seconds)}"
        return f"limit {format_bytes(self.limit_bytes)}{left}"

    def __str__(self) -> str:
        """Say the limit and when it is reached."""
        limit = f"limit {format_bytes(self.limit_bytes)}"
        if self.seconds is None:
            return limit
        at = f", at {self.clock}" if self.clock else ""
        return f"{limit}, reached {format_estimate(self.seconds)} after the last reading{at}"


def areas_chart(process: ProcessRun, findings: Sequence[Finding]) -> Chart | None:
    """Return what memory is made of over the run: of the process, and of each accelerator."""
    views = [view for view in (_process_view(process, findings), *_device_views(process)) if view is not None]
    if not views:
        return None
    drawn = tuple({key: value for key, value in view.items() if key != "words"} for view in views)
    return Chart("areas", "", str(views[0]["words"]), drawn)


def _process_view(process: ProcessRun, findings: Sequence[Finding]) -> Mapping[str, object] | None:
    at = memory_point(process)
    name, whole = "Resident memory (RSS)", series_of(process, "rss_bytes", point=at)
    if whole is None:
        name, whole = "Private memory", series_of(process, "anonymous_bytes", point=at)
    if whole is None:
        return None
    parts: list[tuple[str, Series | None, float]] = [
        ("mapped files and shared memory", series_of(process, "file_and_shm_bytes", point=at), 1.0),
        ("free inside malloc's heap", series_of(process, "malloc_free_bytes"), 1.0),
        ("Python objects (estimate)", series_of(process, "python_blocks"), BYTES_A_BLOCK),
        ("numpy arrays", series_of(process, "arrays_bytes"), 1.0),
        ("torch storages", series_of(process, "storages/cpu_bytes"), 1.0),
    ]
    if not name.startswith("Resident"):
        parts = parts[1:]
    end = _end(process, whole, findings)
    late = [label for label, series, _ in parts if series is not None and not _is_early(series, whole)]
    view = _view("Process", name, whole, [(_REST, None, 1.0), *parts])
    if view is None:
        return None
    missing = f"{listed(late)}, read only later in the run, are in everything else" if late else ""
    over = "; the parts exceed the whole where what they count is not resident" if _exceeds(view) else ""
    said = f"{name} by cause at {at}: {change_words('rss_bytes', whole.values)}{over}"
    return {**view, **_end_of(end, whole), "words": clauses(said, missing, str(end) if end else "")}


def _is_early(part: Series, whole: Series) -> bool:
    """Whether a part was read from the first half of the run on: before its first reading it is not known."""
    return len(part) > 1 and part.generations[0] <= (whole.generations[0] + whole.generations[-1]) / 2


def _view(
    title: str, name: str, whole: Series, parts: Sequence[tuple[str, Series | None, float]]
) -> dict[str, object] | None:
    """Return the layers, from where on all were read; the first is what the others leave of the whole."""
    measured = [(label, series, unit) for label, series, unit in parts[1:] if series and _is_early(series, whole)]
    begin = max((series.generations[0] for _, series, _ in measured), default=0)
    pairs = [(g, v) for g, v in whole if g >= max(0, begin)]
    if len(pairs) < 2:
        return None
    kept = [pairs[at] for at in thin([v for _, v in pairs], _MOST)]
    layers = [[max(0.0, value_at(series, g) or 0.0) * unit for g, _ in kept] for _, series, unit in measured]
    rest = [max(0.0, v - sum(layer[at] for layer in layers)) for at, (_, v) in enumerate(kept)]
    named = zip([parts[0][0], *(label for label, _, _ in measured)], [rest, *layers], strict=True)
    drawn = [{"name": label, "v": [round(v) for v in layer]} for label, layer in named if max(layer) > 0]
    return {
        "name": title, "kind": "areas", "unit": "bytes", "whole": name, "g": [g for g, _ in kept],
        "total": [round(v) for _, v in kept], "layers": drawn, "limit": None,
    }  # fmt: skip


def _exceeds(view: Mapping[str, object]) -> bool:
    total, layers = view["total"], view["layers"]
    assert isinstance(total, list) and isinstance(layers, list)
    return any(sum(layer["v"][at] for layer in layers) > 1.02 * v for at, v in enumerate(total))


def _device_views(process: ProcessRun) -> list[Mapping[str, object]]:
    views: list[Mapping[str, object]] = []
    for device in devices_in(metric for _, metric in process.series):
        reserved = series_of(process, f"{device}/reserved_bytes")
        pools = [(words, series_of(process, f"{device}/{metric}"), 1.0) for words, metric in _POOLS]
        if not any(series for words, series, _ in pools if "pool" in words):
            pools = [("allocated", series_of(process, device + ALLOCATED), 1.0)]
        view = _view(device, "Reserved memory", reserved, [("cached, free", None, 1.0), *pools]) if reserved else None
        if view is not None:
            views.append({**view, "words": f"Reserved memory of {device} by what it is used for"})
    return views


def _end(process: ProcessRun, whole: Series, findings: Sequence[Finding]) -> End | None:
    horizon = Horizon(process)
    if horizon.left_bytes is None:
        return None
    limit = whole.last + horizon.left_bytes
    ends = [f.eta_s for f in findings if f.verdict == "leak" and f.eta_s is not None and not f.metric.endswith(_DEVICE)]
    if not ends:
        return End(limit)
    seconds = min(ends)
    turns = seconds / horizon.generation_s if horizon.generation_s else None
    return End(limit, seconds, turns, _clock(process, seconds))


def _clock(process: ProcessRun, seconds: float) -> str:
    header = process.header
    if header is None or not header.started_unix_s:
        return ""
    at = header.started_unix_s + (process.last_ns - header.started_ns) / 1e9 + seconds
    return datetime.fromtimestamp(at, tz=timezone.utc).strftime("%Y-%m-%d %H:%M UTC") if at < 2.5e11 else ""


def _end_of(end: End | None, whole: Series) -> dict[str, object]:
    if end is None:
        return {}
    ahead = None if end.generations is None else [whole.generations[-1] + end.generations, round(end.limit_bytes)]
    words = [str(end), end.short]
    return {"limit": round(end.limit_bytes), "limit_words": words, **({"ahead": ahead} if ahead else {})}
