"""What the recording covers and what it does not: a clean verdict is worth as much as what was looked at."""

from __future__ import annotations

from collections.abc import Iterator

from phaseprof.recording.model import ProcessRun
from phaseprof.report.access import ALLOCATED, GENERATION_END, count_generations, devices_in, metrics_under
from phaseprof.report.summary import SummaryReport
from phaseprof.report.text import times_text
from phaseprof.report.words import metric_words, plural

_DROPPED = "not measured"


def looked_at(process: ProcessRun) -> list[str]:
    """Say what was read, one item a family of figures."""
    found = list(_looked_at(process))
    return found or ["nothing: the recording holds no reading"]


def _looked_at(process: ProcessRun) -> Iterator[str]:
    metrics = {metric for _, metric in process.series}
    if n := count_generations(process):
        yield plural(n, "generation")
    if names := [m for m in ("anonymous_bytes", "rss_bytes") if m in metrics]:
        points = {point for point, metric in process.series if metric == names[0]}
        yield f"{metric_words(names[0]).lower()} at {plural(len(points), 'point')} of the loop"
    if process.snapshots:
        yield plural(len(process.snapshots), "snapshot")
    for device in devices_in(metrics):
        yield f"the allocator of {device}"
    if process.watches:
        yield f"the number of {', '.join(list(process.watches)[:6])} objects"
    types = {m for m in metrics if m.startswith("count/")} | {m for _, m in process.first_counts}
    if types:
        yield f"the counts of {plural(len([m for m in types if m.startswith('count/')]), 'type')}"
    if tracked := metrics_under(process, "tracked/"):
        yield f"the size of {plural(len(tracked), 'tracked name')}"
    others = ("arrays_bytes", "storages/cpu_bytes", "graph_nodes", "malloc_in_use_bytes", "python_blocks",
              "descriptors", "threads", "children_private_bytes", "shm_bytes")  # fmt: skip
    yield from (metric_words(m) for m in others if (GENERATION_END, m) in process.series)


def not_looked_at(process: ProcessRun, summary: SummaryReport) -> list[str]:
    """Say what is missing, why where that is known, and what the reader can do about it."""
    return list(_not_looked_at(process, summary))


def _not_looked_at(process: ProcessRun, summary: SummaryReport) -> Iterator[str]:
    metrics = {metric for _, metric in process.series}
    if not count_generations(process):
        yield "No generation was recorded: mark the outer loop with generation(index), verdicts need about ten."
    if process.ended is None:
        yield "The recording was not closed: the process still runs, or ended abruptly; its end may be missing."
    missing = [term.name for term in summary.explained.terms if term.growth_bytes is None]
    if missing:
        yield f"Not measured during the run, and so part of what is unattributed: {', '.join(missing)}."
    if not any(metric.endswith(ALLOCATED) for metric in metrics):
        yield "No accelerator: the program used none, or its counters could not be read."
    if not process.watches:
        yield "No class was watched: watch(cls, expected=n) says how many there must be."
    uncounted = [row.name for row in summary.counts.rows if row.now is None]
    if uncounted:
        yield f"Watched but never counted: {', '.join(uncounted)}."
    if not summary.tracked.sizes:
        yield "No name was tracked: track(name, getter) follows the deep size of anything."
    if "n_objects" not in metrics and not any(m.startswith("count/") for m in metrics):
        yield "No census of all types was made."
    if count_generations(process) and (process.places is None or not process.places.heap):
        yield "The heap by place was not compared, which takes two looks; a longer run makes them, or a larger budget."
    yield from _put_off(summary)
    yield from (f"{note}" for note in process.notes if _DROPPED in note)


def _put_off(summary: SummaryReport) -> Iterator[str]:
    skipped = sorted(((n, job) for job, n in summary.cost.skipped.items() if n), key=lambda pair: (-pair[0], pair[1]))
    if skipped:
        jobs = ", ".join(f"{job} {times_text(n)}" for n, job in skipped)
        yield f"Put off to keep within the budget: {jobs}. A larger budget looks more often."
