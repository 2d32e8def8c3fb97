"""A recorded run with the findings of each of its processes, and the exit status that follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from phaseprof.analysis.answers import Answer, answer
from phaseprof.analysis.findings import find_leaks
from phaseprof.analysis.scale import load_and_reduce, load_large_run
from phaseprof.analysis.symptoms import AT, n_votes
from phaseprof.analysis.witnesses import is_imported
from phaseprof.live.sampler import LABEL
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run, find_recordings
from phaseprof.records import Finding
from phaseprof.report.access import bounds_text, is_within
from phaseprof.report.progress import Progress

CLEAN, LEAK, TOO_SHORT = 0, 1, 3
# What a run of several processes answers: the first of these that one of them answers.
_ORDER: tuple[Answer, ...] = ("leak", "filling", "no leak", "not judged", "too short")
_DEFAULT_THRESHOLD_MB = 5.0


@dataclass(frozen=True)
class Broken:
    """An expectation that is broken at the end of a process's recording."""

    rank: int
    pid: int
    name: str
    expected: str
    found: int
    since_generation: int | str | None

    def __str__(self) -> str:
        since = "" if self.since_generation is None else f", broken since generation {self.since_generation}"
        return f"{self.name}: {self.expected}, found {self.found}{since}"


@dataclass(frozen=True)
class JudgedRun:
    """A run and, for each of its processes in order, what was found."""

    run: Run
    findings: tuple[tuple[Finding, ...], ...]

    @property
    def n_readings(self) -> int:
        """Readings of the longest series of any process, samples aside."""
        return max(map(_n_readings, self.run.processes), default=0)

    @property
    def is_imported(self) -> bool:
        """Whether the run was made from logs of other tools."""
        return all(map(is_imported, self.run.processes))

    def answer(self) -> Answer:
        """What the run answers: that of the process that tells most."""
        answers = {answer(*pair) for pair in zip(self.run.processes, self.findings, strict=True)}
        return next((one for one in _ORDER if one in answers), "too short")

    def broken(self) -> tuple[Broken, ...]:
        """The expectations that are broken at the end."""
        return tuple(one for process in self.run.processes for one in _broken(process))

    def status(self) -> int:
        """0 clean, 1 leak or broken expectation, 3 too short or not judged."""
        if self.answer() == "leak" or self.broken():
            return LEAK
        return TOO_SHORT if self.answer() in ("too short", "not judged") else CLEAN


def judge_run(path: str, *, workers: int | None = None) -> JudgedRun:
    """Read and judge a run, on several cores where it is large.

    Args:
        path: the run's folder, or one of its files.
        workers: processes to use; ``None``: as many as there are cores if the run is large, else none.

    Raises:
        RecordingError: it cannot be read.
    Cost: 2 µs a record, and about 1 ms a series that moves.
    """
    with Progress("judging processes", len(find_recordings(path))) as progress:
        run, found = load_and_reduce(path, judge_process, workers=workers, on_done=progress.update)
    return JudgedRun(run, tuple(found))


def read_run(path: str | Path) -> Run:
    """Read a run without judging it, on several cores where it is large.

    Raises:
        RecordingError: it cannot be read.
    """
    with Progress("reading processes", len(find_recordings(path))) as progress:
        return load_large_run(path, on_done=progress.update)


def judge_process(process: ProcessRun) -> tuple[Finding, ...]:
    """Judge one process by the threshold that it was recorded with."""
    return find_leaks(process, leak_threshold_mb=_threshold_mb(process))


def _threshold_mb(process: ProcessRun) -> float:
    """The threshold that the run was recorded with."""
    text = process.header.settings.get("leak_threshold_mb", "") if process.header else ""
    try:
        return float(text)
    except ValueError:
        return _DEFAULT_THRESHOLD_MB


def _n_readings(process: ProcessRun) -> int:
    if is_imported(process) and n_votes(process):  # a log may hold a thousand losses, and memory now and then
        return n_votes(process)
    return max((len(series) for (point, _), series in process.series.items() if point != LABEL), default=0)


def _broken(process: ProcessRun) -> Iterator[Broken]:
    header = process.header
    since: dict[str, int] = {violation.name: violation.since for violation in process.violations}
    for name, watch in process.watches.items():
        series = process.series.get((AT, f"watched/{name}"))
        if series is None or not len(series) or is_within(series.last, watch.low, watch.high):
            continue
        began = since.get(name, -1)
        yield Broken(
            header.rank if header else 0, header.pid if header else 0, name, bounds_text(watch.low, watch.high),
            int(series.last), process.number_of(began) if began >= 0 else None,
        )  # fmt: skip


def main_findings(judged: JudgedRun) -> tuple[ProcessRun, Sequence[Finding]]:
    """Return the process that tells most, the first with a leak, else the main one, and its findings."""
    pairs = list(zip(judged.run.processes, judged.findings, strict=True))
    leaking = (pair for pair in pairs if any(f.verdict == "leak" for f in pair[1]))
    main = judged.run.main
    return next(leaking, next(pair for pair in pairs if pair[0] is main))
