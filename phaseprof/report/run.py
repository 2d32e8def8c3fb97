"""The whole report of a recorded run: who ran, what is missing, every rank in short, then each in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phaseprof.errors import UsageError
from phaseprof.progress import Progress
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run
from phaseprof.records import Finding
from phaseprof.report.access import count_generations
from phaseprof.report.ranks import RankRow, death_lines, rank_lines, rank_row
from phaseprof.report.summary import SummaryReport, build_summary
from phaseprof.report.text import Report, Style, entry, join, section, to_plain
from phaseprof.units import format_duration

FORMAT = 1  # of to_dict(), raised when a field changes its meaning
MAX_SECTIONS = 8  # processes reported in full; the table covers them all
MAX_NOTES = 12


@dataclass(frozen=True)
class ProcessHeader:
    """Who wrote a recording and how it went.

    ``ended`` says why it stopped, ``None`` if its process just ended; ``death`` as in ``RankRow``.
    """

    rank: int
    world_size: int
    pid: int
    host: str
    argv: tuple[str, ...]
    phaseprof: str
    python: str
    torch: str
    duration_s: float
    n_generations: int
    n_records: int
    ended: str | None
    death: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ProcessSection:
    """One process in full."""

    header: ProcessHeader
    summary: SummaryReport


@dataclass(frozen=True)
class RunReport(Report):
    """A whole run: ``ranks`` covers every process, ``sections`` the first few, those with leaks before others."""

    path: str
    ranks: tuple[RankRow, ...]
    sections: tuple[ProcessSection, ...]
    left_out: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the report as JSON-ready data, versioned, with the findings of every section at the top."""
        findings = [to_plain(e.finding) for s in self.sections for e in s.summary.findings.entries]
        return {"format": FORMAT, "findings": findings, **super().to_dict()}

    def render(self, style: Style) -> str:
        """Lay the report out as text."""
        if not self.sections:
            return "Nothing was recorded: the run has no process."
        several = len(self.ranks) > 1
        died = death_lines(self.ranks, style) if several else []
        parts = [join(died, style)] if died else []
        left_out = [line for text in self.left_out for line in entry("Note", text, style, indent=0, name_width=9)]
        parts += [join(left_out, style)] if left_out else []
        parts += [section("RANKS", "ranks", rank_lines(self.ranks, style), style)] if several else []
        shown = self.sections if style.full else self._first_sections()
        for one in shown:
            parts += [join(_header_lines(one.header, style), style), one.summary.render(style)]
        if not style.full:
            parts.append("For every table: phaseprof report --full; for a page: --html FILE.")
        hidden = len(self.ranks) - len(shown)
        if hidden:
            parts.append(f"({hidden} more processes are in the table only; name a rank's file to report it in full)")
        return "\n\n".join(parts)

    def _first_sections(self) -> tuple[ProcessSection, ...]:
        """The processes that leak; where none does, the first."""
        leaking = {(row.rank, row.pid) for row in self.ranks if row.n_leaks}
        return tuple(one for one in self.sections if (one.header.rank, one.header.pid) in leaking) or self.sections[:1]


def _header_lines(h: ProcessHeader, style: Style) -> list[str]:
    where = f"rank {h.rank} of {h.world_size}, pid {h.pid}" + (f" on {h.host}" if h.host else "")
    versions = [
        f"phaseprof {h.phaseprof}",
        f"Python {h.python}" if h.python else "",
        f"torch {h.torch}" if h.torch else "",
    ]
    n = (
        f"{h.n_generations:,} generation{'s' if h.n_generations != 1 else ''}"
        if h.n_generations
        else "no generation was recorded"
    )
    length = f"{format_duration(h.duration_s)}, {n}"
    if h.ended is None and not h.death:
        length += ", not closed: still running"
    facts = [("Process", where), ("Command", " ".join(h.argv)), ("Versions", ", ".join(v for v in versions if v))]
    lines = entry("Died", f"{h.death}.", style, indent=0, name_width=9) if h.death else []
    for name, text in (*facts, ("Length", length)):
        lines += entry(name, text, style, indent=0, name_width=9)[:4] if text else []
    for note in h.notes[:MAX_NOTES]:
        lines += entry("Note", note, style, indent=0, name_width=9)
    if len(h.notes) > MAX_NOTES:
        lines += entry("Note", f"{len(h.notes) - MAX_NOTES} more notes in the recording", style, indent=0, name_width=9)
    return lines


def build_report(
    run: Run,
    findings: Sequence[Sequence[Finding]],
    *,
    ranks: Sequence[RankRow] | None = None,
    max_sections: int = MAX_SECTIONS,
    progress: Progress | None = None,
) -> RunReport:
    """Report a whole run.

    Args:
        run: the run.
        findings: the findings of each of ``run.processes``, in the same order.
        ranks: the row of each in the table, where they are made already.
        max_sections: processes reported in full, those with leaks first; the table covers every one.
        progress: told how many processes are done.

    Raises:
        UsageError: there are not as many lists of findings as processes.
    """
    if len(findings) != len(run.processes):
        raise UsageError(
            f"findings must hold one list for each process (got {len(findings)} for {len(run.processes)} processes); "
            "pass an empty list for a process without findings"
        )
    pairs = list(zip(run.processes, findings, strict=True))
    rows = tuple(rank_row(process, found) for process, found in pairs) if ranks is None else tuple(ranks)
    order = sorted(range(len(pairs)), key=lambda at: (-rows[at].n_leaks, at))
    sections = []
    for done, at in enumerate(order[:max_sections]):
        if progress is not None:
            progress.update(done)
        process, found = pairs[at]
        sections.append(ProcessSection(_process_header(process, rows[at].death), build_summary(process, found)))
    return RunReport("" if run.path is None else str(run.path), rows, tuple(sections), tuple(run.left_out))


def _process_header(process: ProcessRun, death: str) -> ProcessHeader:
    h = process.header
    notes = tuple(dict.fromkeys(process.notes))  # one may be made at each look
    seconds = 0.0 if h is None else max(0.0, (process.last_ns - h.started_ns) / 1e9)
    ended = None if process.ended is None else process.ended.reason or "closed"
    counts = (seconds, count_generations(process), process.n_records, ended, death)
    if h is None:
        return ProcessHeader(0, 1, 0, "", (), "?", "", "", *counts, ("the recording has no header", *notes))
    return ProcessHeader(
        h.rank, h.world_size, h.pid, h.host, tuple(h.argv), h.phaseprof, h.python, h.torch, *counts, notes
    )
