"""One frame of the live view: a row for each process, what was found in them, and which phase adds memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from phaseprof.analysis.findings import find_leaks
from phaseprof.cli.following import RunFollower
from phaseprof.cli.watch_choice import Choice
from phaseprof.recording.model import Generation, ProcessRun
from phaseprof.recording.series import Series
from phaseprof.records import Finding
from phaseprof.report.access import Generations, value_at
from phaseprof.report.page.heat import charge_metrics, phase_charges
from phaseprof.report.page.thinning import thin
from phaseprof.report.text import Style, clean
from phaseprof.units import format_bytes, format_duration, format_signed_bytes

MAX_ROWS, MAX_FINDINGS, MAX_PHASES = 24, 5, 3
JUDGE_EVERY_S = 5.0  # judging a recording takes milliseconds a series, which a view of every second need not spend
SILENT_S = 30.0
_ALL = Choice()
_BARS = "▁▂▃▄▅▆▇█"
_COURSE = 12  # bars in a row's course
_NO_LEAK = ("no leak so far", "green")
_STYLE = Style()
# Name and side of each column.
COLUMNS = (
    ("Rank", "right"), ("Pid", "right"), ("State", "left"), ("Gen", "right"), ("Items/s", "right"), ("Memory", "right"),
    ("Growth", "right"), ("Course", "left"), ("Found", "left"),
)  # fmt: skip
HISTORY_COLUMNS = tuple((name, "right") for name in ("Gen", "Time", "Items/s", "Memory", "Change"))


Words = tuple[str, str]  # a text and the style to show it in
Line = tuple[Words, ...]


@dataclass(frozen=True)
class Frame:
    """What one frame says: a title, a row of ``COLUMNS`` for each process, and lines below.

    ``history`` has a row of ``HISTORY_COLUMNS`` for each past generation of the process in the first row.
    """

    title: Line
    rows: tuple[Line, ...] = ()
    lines: tuple[Line, ...] = ()
    history: tuple[Line, ...] = ()


class Watched:
    """What the view knows: the run as far as it was read, and the newest findings of each process.

    Args:
        follower: reads the run.
        clock: Unix time in seconds.
        choice: what to show; all by default.
    """

    def __init__(self, follower: RunFollower, clock: Callable[[], float], choice: Choice = _ALL) -> None:
        self._follower = follower
        self._clock = clock
        self.choice = choice
        self._found: dict[int, tuple[Finding, ...]] = {}
        self._judged: dict[int, tuple[float, int]] = {}

    def look(self) -> bool:
        """Read what is new; tell whether anything was."""
        return self._follower.poll() > 0

    def now(self) -> float:
        """Return the time by the clock."""
        return self._clock()

    def judged_processes(self) -> list[ProcessRun]:
        """Return the processes that were chosen, judged anew where something was recorded, but every few seconds."""
        processes = list(filter(self.choice.takes, self._follower.run().processes))
        for process in processes:
            self._judge(process)
        return processes

    def found_in(self, process: ProcessRun) -> tuple[Finding, ...]:
        """Return the newest findings of a process."""
        return self._found.get(id(process), ())

    def frame(self) -> Frame:
        """Return the frame."""
        processes = self.judged_processes()
        path = clean(str(self._follower.path), _STYLE)
        if not processes:
            of_whom = "one of these ranks" if self._follower.run().processes else "a run"
            return Frame(((f"Waiting for {of_whom} in {path} ...", ""),))
        ordered = self._ordered(processes)
        rows = [self._row(one, processes) for one in ordered[:MAX_ROWS]]
        lines = [*self._findings(processes), *self._phases(ordered[0])]
        if len(processes) > MAX_ROWS:
            lines.append(((f"{len(processes) - MAX_ROWS:,} more processes", "dim"),))
        if n := self._follower.n_wrong:
            lines.append(((f"{n:,} line{'' if n == 1 else 's'} could not be read", "dim"),))
        return Frame(self._title(path, processes), tuple(rows), tuple(lines), tuple(self._history(ordered[0])))

    def _ordered(self, processes: Sequence[ProcessRun]) -> list[ProcessRun]:
        by_rank = _newest_first(processes, self._clock())
        if self.choice.sort == "rank":
            return by_rank
        return sorted(by_rank, key=self._figure, reverse=True)  # those alike stay in the order of their ranks

    def _figure(self, process: ProcessRun) -> float:
        if self.choice.sort == "rate":
            return _rate(process) or 0.0
        memory = self.choice.memory_of(process)
        if memory is None:
            return float("-inf")
        return memory.last - (memory.values[0] if self.choice.sort == "growth" else 0.0)

    def _judge(self, process: ProcessRun) -> None:
        now, key = self._clock(), id(process)
        judged_at, n_records = self._judged.get(key, (float("-inf"), -1))
        if process.n_records != n_records and now - judged_at >= JUDGE_EVERY_S:
            self._found[key] = tuple(filter(self.choice.takes_finding, find_leaks(process)))
            self._judged[key] = (now, process.n_records)

    def _title(self, path: str, processes: Sequence[ProcessRun]) -> Line:
        running = sum(state_of(p, processes, self._clock())[0] == "running" for p in processes)
        n_leaks = sum(f.verdict == "leak" for p in processes for f in self.found_in(p))
        where = f" in {clean(self.choice.phase, _STYLE)}" if self.choice.phase else ""
        words, style = (f"{n_leaks} leak{'' if n_leaks == 1 else 's'}", "bold red") if n_leaks else _NO_LEAK
        return ((f"{path}: {running} of {len(processes)} running, ", "bold"), (words + where, style))

    def _row(self, process: ProcessRun, processes: Sequence[ProcessRun]) -> Line:
        header = process.header
        memory = self.choice.memory_of(process)
        generation = Generations(process).name(process.generations[-1].ordinal) if process.generations else "-"
        size, growth, way = "-", "-", ""
        if memory is not None:
            size, growth = format_bytes(memory.last), format_signed_bytes(memory.last - memory.values[0])
            way = course(memory.values)
        return (
            (str(header.rank if header else "-"), ""), (str(header.pid if header else "-"), ""),
            state_of(process, processes, self._clock()), (clean(generation, _STYLE), ""), (_number(_rate(process)), ""),
            (size, ""), (growth, ""), (way, "cyan"), _found_words(self.found_in(process)),
        )  # fmt: skip

    def _findings(self, processes: Sequence[ProcessRun]) -> list[Line]:
        lines: list[Line] = []
        several = len(processes) > 1
        for process in processes:
            rank = f"rank {process.header.rank}: " if several and process.header else ""
            for one in self.found_in(process):
                style = "bold red" if one.verdict == "leak" else "yellow"
                lines.append(((f"{one.verdict.upper()} ", style), (f"{rank}{clean(one.summary, _STYLE)}", "")))
        hidden = len(lines) - MAX_FINDINGS
        more: list[Line] = [((f"{hidden} more findings: phaseprof report", "dim"),)]
        return lines[:MAX_FINDINGS] + (more if hidden > 0 else [])

    def _phases(self, process: ProcessRun) -> list[Line]:
        wanted, known = self.choice.phase, list(dict.fromkeys(process.phase_names))
        if wanted and wanted not in known:
            names = ", ".join(clean(name, _STYLE) for name in known) or "none so far"
            return [((f"No phase is called {clean(wanted, _STYLE)}; the phases are: {names}", "yellow"),)]
        metrics = charge_metrics(process)
        charges = sorted(phase_charges(process, metrics[0]), key=lambda row: -row.typical) if metrics else []
        shown = [row for row in charges if wanted in ("", row.phase)][:MAX_PHASES]
        said = ", ".join(f"{clean(row.phase, _STYLE)} {format_signed_bytes(row.typical)}" for row in shown)
        return [((f"A generation adds, by phase: {said}", "dim"),)] if said else []

    def _history(self, process: ProcessRun) -> list[Line]:
        names, memory = Generations(process), self.choice.memory_of(process)
        rows: list[Line] = []
        for one in ended_generations(process)[-self.choice.history :] if self.choice.history else ():
            size, change = figures_of(memory, one.ordinal)
            cells = (
                clean(names.name(one.ordinal), _STYLE), seconds_text(one), rate_text(one),
                format_bytes(size), format_signed_bytes(change),
            )  # fmt: skip
            rows.append(tuple((cell, "") for cell in cells))
        return rows


def ended_generations(process: ProcessRun) -> list[Generation]:
    """Return the generations that ended, oldest first."""
    return [one for one in process.generations if one.seconds is not None]


def figures_of(memory: Series | None, ordinal: int) -> tuple[float | None, float | None]:
    """Return memory in a generation and its change since the reading before, in bytes; ``None`` where not read."""
    if memory is None:
        return None, None
    size, before = value_at(memory, ordinal), value_at(memory, ordinal - 1)
    return size, None if size is None or before is None else size - before


def seconds_text(generation: Generation) -> str:
    """Say how long a generation took."""
    return "-" if generation.seconds is None else f"{generation.seconds:.3g} s"


def rate_text(generation: Generation) -> str:
    """Say how many items a generation did in a second."""
    return _number(_rate_of(generation))


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


def _rate(process: ProcessRun) -> float | None:
    rates = [_rate_of(one) for one in process.generations[-2:]]
    return next((rate for rate in reversed(rates) if rate is not None), None)


def _rate_of(generation: Generation) -> float | None:
    return generation.items / generation.seconds if generation.seconds and generation.items is not None else None


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


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
