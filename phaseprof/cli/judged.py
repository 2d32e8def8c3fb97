"""A recorded run with the findings of each of its processes, and the exit status that follows from them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from phaseprof.analysis.answers import Answer, answer, is_open
from phaseprof.analysis.expectations import broken_expectations, expectation_sentence
from phaseprof.analysis.findings import find_leaks
from phaseprof.analysis.scale import load_and_reduce, load_large_run
from phaseprof.analysis.symptoms import n_votes
from phaseprof.analysis.witnesses import is_imported
from phaseprof.analysis.workers import told_once
from phaseprof.cli.foreign import as_recording
from phaseprof.cli.output import complain
from phaseprof.live.sampler import LABEL
from phaseprof.progress import Progress
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run, find_recordings, where_of
from phaseprof.records import Finding
from phaseprof.report.ranks import RankRow, rank_row

CLEAN, LEAK, WRONG_USE, TOO_SHORT = 0, 1, 2, 3
# What a run of several processes answers: the first of these that one of them answers.
_ORDER: tuple[Answer, ...] = ("leak", "filling", "no leak", "not judged", "too short")
_DEFAULT_THRESHOLD_MB = 5.0


@dataclass(frozen=True)
class Broken:
    """An expectation that is broken at the end of a process's recording; generations by the program's own number."""

    rank: int
    pid: int
    name: str
    expected: str
    found: int
    since_generation: int | str
    held_generation: int | str | None
    sentence: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Judged:
    """What is asked of each process of a run, however many there are: all that stays in memory of most of them.

    Attributes:
        findings: what was found.
        answer: what they come to.
        is_open: whether that is not judged, since something rises that was read too seldom.
        broken: expectations that are broken at the end.
        missing: watched names that were never found, and why.
        n_readings: those of its longest series, samples aside.
        is_imported: whether it was made from logs of other tools.
        rank: its row in the table of all.
    """

    findings: tuple[Finding, ...]
    answer: Answer
    is_open: bool
    broken: tuple[Broken, ...]
    missing: tuple[tuple[str, str], ...]
    n_readings: int
    is_imported: bool
    rank: RankRow


@dataclass(frozen=True)
class JudgedRun:
    """A run and, for each of its processes in order, what was found; ``judged`` is made where it is not given."""

    run: Run
    findings: tuple[tuple[Finding, ...], ...]
    judged: tuple[Judged, ...] = ()

    @functools.cached_property
    def _each(self) -> tuple[Judged, ...]:
        return self.judged or tuple(map(sum_up, self.run.processes, self.findings))

    @property
    def n_readings(self) -> int:
        """Readings of the longest series of any process, samples aside."""
        return max((one.n_readings for one in self._each), default=0)

    @property
    def is_imported(self) -> bool:
        """Whether the run was made from logs of other tools."""
        return all(one.is_imported for one in self._each)

    @property
    def ranks(self) -> tuple[RankRow, ...]:
        """The row of each process in the table of all."""
        return tuple(one.rank for one in self._each)

    def answer(self) -> Answer:
        """What the run answers: that of the process that tells most; one that may leak is not made good by others.

        Nor is one whose file could not be read.
        """
        answers = {one.answer for one in self._each}
        if "leak" not in answers and (self.run.left_out or any(one.is_open for one in self._each)):
            return "not judged"
        return next((one for one in _ORDER if one in answers), "too short")

    def broken(self) -> tuple[Broken, ...]:
        """The expectations that are broken at the end."""
        return tuple(broken for one in self._each for broken in one.broken)

    def missing(self) -> tuple[tuple[str, str], ...]:
        """Watched names that were never found, each once, and why."""
        return tuple(dict(pair for one in self._each for pair in one.missing).items())

    def status(self) -> int:
        """0 clean, 1 leak or broken expectation, 2 a watched name was never found, 3 too short or not judged."""
        if self.answer() == "leak" or self.broken():
            return LEAK
        if self.missing():
            return WRONG_USE
        return TOO_SHORT if self.answer() in ("too short", "not judged") else CLEAN


def judge_run(path: str, *, workers: int | None = None, on: str = "") -> JudgedRun:
    """Read and judge a run, on several cores where it is large.

    Args:
        path: the run's folder, one of its files, an address such as ``s3://bucket/run``, or a log of another tool.
        workers: processes to use; ``None``: as many as there are cores if the run is large, else none.
        on: a cluster to do it on, such as ``"ray"``; empty: this machine.

    Raises:
        RecordingError: it cannot be read.
        ImportFailure: it is neither a recording nor a log that can be imported.
    Cost: 2 µs a record, and about 1 ms a series that moves.
    """
    with as_recording(path) as where, Progress("judging processes", len(find_recordings(where))) as progress:
        run, judged = load_and_reduce(
            where, _judge_and_sum_up, workers=workers, on=on, on_done=progress.update, may_store=where == path
        )
    run = _told_of(replace(run, path=where_of(path)))
    findings = told_once(run.processes, [one.findings for one in judged])
    changed = zip(run.processes, judged, findings, strict=True)
    final = tuple(one if one.findings == found else sum_up(process, found) for process, one, found in changed)
    return JudgedRun(run, findings, final)


def read_run(path: str | Path) -> Run:
    """Read a run without judging it, on several cores where it is large.

    Raises:
        RecordingError, ImportFailure: as ``judge_run``.
    """
    with as_recording(str(path)) as where, Progress("reading processes", len(find_recordings(where))) as progress:
        run = load_large_run(where, on_done=progress.update)
    return _told_of(replace(run, path=where_of(path)))


def _told_of(run: Run) -> Run:
    """Say which files are left out."""
    for text in run.left_out:
        complain(f"phaseprof: {text}")
    return run


def judge_process(process: ProcessRun) -> tuple[Finding, ...]:
    """Judge one process by the threshold that it was recorded with."""
    return find_leaks(process, leak_threshold_mb=_threshold_mb(process))


def sum_up(process: ProcessRun, findings: tuple[Finding, ...]) -> Judged:
    """Return what is asked of a process whose findings are known."""
    said = answer(process, findings)
    return Judged(
        findings, said, said == "not judged" and is_open(process, findings), tuple(_broken(process)),
        tuple((watch.name, watch.missing) for watch in process.watches.values() if watch.missing),
        _n_readings(process), is_imported(process), rank_row(process, findings),
    )  # fmt: skip


def _judge_and_sum_up(process: ProcessRun) -> Judged:
    return sum_up(process, judge_process(process))


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
    for one in broken_expectations(process):
        held = None if one.held_ordinal is None else process.number_of(one.held_ordinal)
        yield Broken(
            header.rank if header else 0, header.pid if header else 0, one.name, one.expected, one.found,
            process.number_of(one.broken_ordinal), held, expectation_sentence(process, one),
        )  # fmt: skip


def main_findings(judged: JudgedRun) -> tuple[ProcessRun, Sequence[Finding]]:
    """Return the process that tells most, the first with a leak, else the main one, and its findings."""
    pairs = list(zip(judged.run.processes, judged.findings, strict=True))
    leaking = (pair for pair in pairs if any(f.verdict == "leak" for f in pair[1]))
    main = judged.run.main
    return next(leaking, next(pair for pair in pairs if pair[0] is main))
