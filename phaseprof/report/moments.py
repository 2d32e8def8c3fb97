"""Labelled moments of a run: snapshots the user took, and phase ends where no snapshots were taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from phaseprof.errors import UsageError
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.report.access import GENERATION_END, Generations, top_level_phases

_NEAREST_AMONG = 500  # labels searched for the nearest one when none fits


@dataclass(frozen=True)
class Moment:
    """One labelled moment: metric values and counts by name; what is absent was not measured."""

    label: str
    generation: int
    values: Mapping[str, float]
    counts: Mapping[str, int]

    @property
    def ram_bytes(self) -> float | None:
        """Resident bytes, or anonymous bytes where only those are known."""
        return self.values.get("rss_bytes", self.values.get("anonymous_bytes"))


def list_moments(process: ProcessRun) -> list[Moment]:
    """Return the moments of a run in order: the ends of its phases in every generation, and its snapshots between.

    A snapshot that was taken inside a generation stands before the ends of that generation's phases, since one of them
    had not ended; one that was taken after a generation had ended stands behind it.
    """
    process.fold()
    taken = snapshot_moments(process)
    is_curve = bool(taken) and not _has_boundaries(process)
    recorded = [] if is_curve else recorded_moments(process)
    placed = [(_place(process, s), 1, m) for s, m in zip(process.snapshots, taken, strict=True)]
    merged = [*placed, *((float(m.generation), 0, m) for m in recorded)]
    return [moment for _, _, moment in sorted(merged, key=lambda one: one[:2])]


def _has_boundaries(process: ProcessRun) -> bool:
    """Whether the program marked anything: a curve of samples stands for itself."""
    return any(label.role != "sample" for label in process.labels.values())


def _place(process: ProcessRun, snapshot: fmt.SnapshotTaken) -> float:
    """Return where a snapshot stands among generations: at its ordinal once that has ended, else half one before."""
    inside = next((g for g in reversed(process.generations) if g.ordinal == snapshot.g), None)
    if inside is None or inside.seconds is None or snapshot.t >= inside.began_ns + inside.seconds * 1e9:
        return float(snapshot.g)
    return snapshot.g - 0.5


def snapshot_moments(process: ProcessRun) -> list[Moment]:
    """Return the snapshots as moments."""
    return [Moment(s.label, s.g, s.v, s.counts) for s in process.snapshots]


def recorded_moments(process: ProcessRun) -> list[Moment]:
    """Return the ends of outer phases in every generation, or the ends of generations where no phase was marked."""
    points = {f"after {phase}": f"After {phase}" for phase in top_level_phases(process)}
    if not any(point in points for point, _ in process.series):
        points = {GENERATION_END: "End"}
    if not any(point in points for point, _ in process.series):
        points = {point: point for point, metric in process.series if metric == "rss_bytes"}
    order = {point: at for at, point in enumerate(points)}
    readings: dict[tuple[int, int], dict[str, float]] = {}
    for (point, metric), series in process.series.items():
        if point in order:
            for generation, value in series:
                readings.setdefault((generation, order[point]), {})[metric] = value
    names, titles = Generations(process), list(points.values())
    return [
        Moment(names.label(generation, titles[at]), generation, values, _counts_in(values))
        for (generation, at), values in sorted(readings.items())
        if "rss_bytes" in values or "anonymous_bytes" in values
    ]


def _counts_in(values: Mapping[str, float]) -> dict[str, int]:
    """Take counts out of metric names, by the type's short name where that is unambiguous."""
    counts: dict[str, int] = {}
    for metric, value in values.items():
        prefix, _, name = metric.partition("/")
        if prefix not in ("count", "watched"):
            continue
        short = name.rpartition(".")[2]
        counts[name if short in counts and prefix == "count" else short] = int(value)
    return counts


def find_moment(process: ProcessRun, label: str, *, newest: bool) -> Moment:
    """Return the moment with this label: the newest, or the first where a baseline is asked for.

    Raises:
        UsageError: no moment has the label; the message names the nearest.
    """
    process.fold()
    for list_candidates in (snapshot_moments, recorded_moments):
        found = [m for m in list_candidates(process) if m.label == label]
        if found:
            return found[-1 if newest else 0]
    known = [m.label for m in (*snapshot_moments(process), *recorded_moments(process))][-_NEAREST_AMONG:]
    if not known:
        raise UsageError(f"no snapshot is labelled {label[:80]!r}: nothing was recorded; call log_memory(label) first")
    nearest = get_close_matches(label[:200], known, n=1, cutoff=0.0)[0]
    raise UsageError(f"no snapshot is labelled {label[:80]!r}; the nearest of {len(known)} is {nearest[:80]!r}")
