"""One frame of the live view: a row for each process, what was found in them, and which phase adds memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from phaseprof.analysis.findings import find_leaks
from phaseprof.cli.following import RunFollower
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding
from phaseprof.report.access import Generations, memory_point, series_of
from phaseprof.report.page.heat import charge_metrics, phase_charges
from phaseprof.report.page.thinning import thin
from phaseprof.report.text import Style, clean
from phaseprof.units import format_bytes, format_duration, format_signed_bytes

MAX_ROWS, MAX_FINDINGS, MAX_PHASES = 24, 5, 3
JUDGE_EVERY_S = 5.0  # judging a recording takes milliseconds a series, which a view of every second need not spend
SILENT_S = 30.0
_BARS = "▁▂▃▄▅▆▇█"
_COURSE = 12  # bars in a row's course
_STYLE = Style()
# Name and side of each column.
COLUMNS = (
    ("Rank", "right"), ("Pid", "right"), ("State", "left"), ("Gen", "right"), ("Items/s", "right"), ("Memory", "right"),
    ("Growth", "right"), ("Course", "left"), ("Found", "left"),
)  # fmt: skip


Words = tuple[str, str]  # a text and the style to show it in
Line = tuple[Words, ...]


@dataclass(frozen=True)
class Frame:
    """What one frame says: a title, a row of ``COLUMNS`` for each process, and lines below."""

    title: Line
    rows: tuple[Line, ...] = ()
    lines: tuple[Line, ...] = ()


class Watched:
    """What the view knows: the run as far as it was read, and the newest findings of each process.

    Args:
        follower: reads the run.
        clock: Unix time in seconds.
    """

    def __init__(self, follower: RunFollower, clock: Callable[[], float]) -> None:
        self._follower = follower
        self._clock = clock
        self._found: dict[int, tuple[Finding, ...]] = {}
        self._judged: dict[int, tuple[float, int]] = {}

    def look(self) -> bool:
        """Read what is new; tell whether anything was."""
        return self._follower.poll() > 0

    def frame(self) -> Frame:
        """Return the frame: judged anew where something was recorded, every few seconds at most."""
        processes = self._follower.run().processes
        path = clean(str(self._follower.path), _STYLE)
        if not processes:
            return Frame(((f"Waiting for a run in {path} ...", ""),))
        for process in processes:
            self._judge(process)
        rows = [self._row(one, processes) for one in _newest_first(processes, self._clock())[:MAX_ROWS]]
        lines = [*self._findings(processes), *self._phases(processes)]
        if len(processes) > MAX_ROWS:
            lines.append(((f"{len(processes) - MAX_ROWS:,} more processes", "dim"),))
        if n := self._follower.n_wrong:
            lines.append(((f"{n:,} line{'' if n == 1 else 's'} could not be read", "dim"),))
        return Frame(self._title(path, processes), tuple(rows), tuple(lines))

    def _judge(self, process: ProcessRun) -> None:
        now, key = self._clock(), id(process)
        judged_at, n_records = self._judged.get(key, (float("-inf"), -1))
        if process.n_records != n_records and now - judged_at >= JUDGE_EVERY_S:
            self._found[key] = find_leaks(process)
            self._judged[key] = (now, process.n_records)

    def _title(self, path: str, processes: Sequence[ProcessRun]) -> Line:
        running = sum(state_of(p, processes, self._clock())[0] == "running" for p in processes)
        n_leaks = sum(f.verdict == "leak" for p in processes for f in self._found.get(id(p), ()))
        said = (f"{n_leaks} leak{'' if n_leaks == 1 else 's'}", "bold red") if n_leaks else ("no leak so far", "green")
        return ((f"{path}: {running} of {len(processes)} running, ", "bold"), said)

    def _row(self, process: ProcessRun, processes: Sequence[ProcessRun]) -> Line:
        header = process.header
        memory = series_of(process, "rss_bytes", point=memory_point(process))
        generation = Generations(process).name(process.generations[-1].ordinal) if process.generations else "-"
        size, growth, way = "-", "-", ""
        if memory is not None:
            size, growth = format_bytes(memory.last), format_signed_bytes(memory.last - memory.values[0])
            way = course(memory.values)
        return (
            (str(header.rank if header else "-"), ""), (str(header.pid if header else "-"), ""),
            state_of(process, processes, self._clock()), (clean(generation, _STYLE), ""), (_rate(process), ""),
            (size, ""), (growth, ""), (way, "cyan"), _found_words(self._found.get(id(process), ())),
        )  # fmt: skip

    def _findings(self, processes: Sequence[ProcessRun]) -> list[Line]:
        lines: list[Line] = []
        several = len(processes) > 1
        for process in processes:
            rank = f"rank {process.header.rank}: " if several and process.header else ""
            for one in self._found.get(id(process), ()):
                style = "bold red" if one.verdict == "leak" else "yellow"
                lines.append(((f"{one.verdict.upper()} ", style), (f"{rank}{clean(one.summary, _STYLE)}", "")))
        hidden = len(lines) - MAX_FINDINGS
        more: list[Line] = [((f"{hidden} more findings: phaseprof report", "dim"),)]
        return lines[:MAX_FINDINGS] + (more if hidden > 0 else [])

    def _phases(self, processes: Sequence[ProcessRun]) -> list[Line]:
        main = _newest_first(processes, self._clock())[0]
        metrics = charge_metrics(main)
        if not metrics:
            return []
        rows = sorted(phase_charges(main, metrics[0]), key=lambda row: -row.typical)[:MAX_PHASES]
        said = ", ".join(f"{clean(row.phase, _STYLE)} {format_signed_bytes(row.typical)}" for row in rows)
        return [((f"A generation adds, by phase: {said}", "dim"),)]


def state_of(process: ProcessRun, processes: Sequence[ProcessRun], now: float) -> Words:
    """Return what became of a process, and the style to say it in.

    A process that closed its recording ended; one that did not, and whose rank started again, was replaced; one that
    is silent for longer than its generations take may hang, or was killed.
    """
    header = process.header
    if process.ended is not None:
        return "ended", "dim"
    if header is None:
        return "no header", "dim"
    if any(_is_successor(other, process) for other in processes):
        return "replaced", "dim"
    last = header.started_unix_s + max(0, process.last_ns - header.started_ns) / 1e9
    turns = [g.seconds for g in process.generations[-20:] if g.seconds]
    silent = now - last
    if silent > max(SILENT_S, 3 * median(turns) if turns else 0.0):
        return f"silent {format_duration(silent)}", "yellow"
    return "running", "green"


def _is_successor(other: ProcessRun, process: ProcessRun) -> bool:
    mine, theirs = process.header, other.header
    if mine is None or theirs is None or theirs.parent_pid == mine.pid:
        return False
    # A forked child is no successor; nor is a program that began while this one was still recording.
    return theirs.rank == mine.rank and theirs.argv == mine.argv and _last(process) < theirs.started_unix_s


def _last(process: ProcessRun) -> float:
    header = process.header
    return header.started_unix_s + max(0, process.last_ns - header.started_ns) / 1e9 if header else 0.0


def _newest_first(processes: Sequence[ProcessRun], now: float) -> list[ProcessRun]:
    """Processes that run come first, then those that ended, each by rank, the newest of a rank first."""

    def order(process: ProcessRun) -> tuple[bool, int, float]:
        is_over = state_of(process, processes, now)[0].startswith(("ended", "replaced"))
        return (is_over, process.header.rank if process.header else 0, -_last(process))

    return sorted(processes, key=order)


def _rate(process: ProcessRun) -> str:
    ended = [g for g in process.generations[-2:] if g.seconds and g.items is not None]
    return f"{(ended[-1].items or 0.0) / (ended[-1].seconds or 1.0):,.1f}" if ended else "-"


def course(values: Sequence[float]) -> str:
    """Draw a series as a row of bars, its extremes kept.

    >>> course([1, 2, 3, 2])
    '▁▄█▄'
    """
    shown = [values[at] for at in thin(values, _COURSE)]
    low, high = min(shown), max(shown)
    if high == low:
        return _BARS[0] * len(shown)
    return "".join(_BARS[int((v - low) / (high - low) * (len(_BARS) - 1))] for v in shown)


def _found_words(found: Sequence[Finding]) -> Words:
    if not found:
        return "-", "dim"
    leaks = sum(one.verdict == "leak" for one in found)
    return (f"{leaks} leak{'' if leaks == 1 else 's'}", "red") if leaks else (f"{len(found)} other", "yellow")
