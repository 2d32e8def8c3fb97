"""The processes of a run beside each other: which leak, which grow unlike the others, and a table of all."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

import psutil

from phaseprof.analysis.deaths import death_of
from phaseprof.analysis.paths import place_of_growth, places_of
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding
from phaseprof.report.access import count_generations, memory_point, series_of
from phaseprof.report.text import RULE_WIDTH, Column, Style, columns, elide, entry, wrap
from phaseprof.report.words import listed
from phaseprof.units import format_bytes, format_signed_bytes

# A rank grows unlike the others from so many deviations (their median, as of a normal spread) and so many bytes on.
_DEVIATIONS, _NORMAL, _LEAST_BYTES, _LEAST_SHARE = 5.0, 1.4826, 1 << 20, 0.1
_MOST_NAMED = 8
# Of the ranks that died, so many are told of in full.
_MOST_DEATHS = 3


@dataclass(frozen=True)
class RankRow:
    """One process in the table over all: its newest and its largest memory, and what was found first.

    ``death`` says how and where it ended, in one sentence, if it did not reach its end, and is empty if it did or still
    runs here; ``has_cause`` whether that tells why.  ``began_s`` and ``ended_s`` are Unix times, 0 if not known.
    """

    rank: int
    pid: int
    n_generations: int
    ram_bytes: float | None
    growth_bytes: float | None
    n_leaks: int
    first_finding: str
    death: str = ""
    has_cause: bool = False
    began_s: float = 0.0
    ended_s: float = 0.0


def rank_row(process: ProcessRun, findings: Sequence[Finding]) -> RankRow:
    """Return the row of one process."""
    process.fold()
    h, ram = process.header, series_of(process, "rss_bytes", point=memory_point(process))
    growth = None if ram is None else ram.last - ram.values[0]
    leaks = sum(f.verdict == "leak" for f in findings)
    first = findings[0] if findings else None
    named = "" if first is None else " ".join(filter(None, (first.verdict, first.phase, first.subject or first.kind)))
    return RankRow(
        h.rank if h else 0, h.pid if h else 0, count_generations(process),
        None if ram is None else ram.last, growth, leaks, named, *_death(process, findings), *_lived(process),
    )  # fmt: skip


def _lived(process: ProcessRun) -> tuple[float, float]:
    h = process.header
    return (0.0, 0.0) if h is None else (h.started_unix_s, h.started_unix_s + (process.last_ns - h.started_ns) / 1e9)


def _death(process: ProcessRun, findings: Sequence[Finding]) -> tuple[str, bool]:
    """How, where and with what leaking a process ended, and whether that tells why."""
    death = death_of(process)
    if death is None or (process.ended is None and _is_running(process.header)):
        return "", False
    what = _what_grew(process, findings)
    return f"{death.describe()}; {what}" if what else death.describe(), death.has_cause


def _what_grew(process: ProcessRun, findings: Sequence[Finding]) -> str:
    """The first leak in a few words; without one, the place where most lay, or came, by the last look."""
    leak, told = next((f for f in findings if f.verdict == "leak"), None), process.places
    if leak is not None:
        where = place_of_growth(leak.holder)
        return f"{leak.subject or leak.kind}{f' in {where}' if where else ''} leaked"
    row = told.rows[0] if told is not None and told.rows else None
    if told is None or row is None or row.bytes <= 0 or not _name_of(row.steps):
        return ""
    return f"most {'came to' if told.since < told.g else 'lay in'} {_name_of(row.steps)} ({format_bytes(row.bytes)})"


def _name_of(steps: Sequence[str]) -> str:
    places = places_of(tuple(steps))
    return places[-1].name if places else ""


def _is_running(header: fmt.Header | None) -> bool:
    """Whether the process that wrote a recording is running here: that number, begun before the recording."""
    if header is None or header.host != socket.gethostname():
        return False
    try:
        return bool(psutil.Process(header.pid).create_time() <= header.started_unix_s + 1)
    except psutil.Error:
        return False


def died(rows: Sequence[RankRow]) -> list[RankRow]:
    """Return the processes that did not reach their end, those first of which it is known why.

    Where its rank does not tell which one died, as of a forked child, its number is said.
    """
    by_pid = len(rows) > 1 and not _have_ranks(rows)
    dead = [replace(row, death=f"process {row.pid}, {row.death}") if by_pid else row for row in rows if row.death]
    return sorted(dead, key=lambda row: not row.has_cause)


def death_lines(rows: Sequence[RankRow], style: Style) -> list[str]:
    """Say which processes died; where it is known why one did, the others were told to end, most likely."""
    dead = died(rows)
    told = [row for row in dead if row.has_cause][:_MOST_DEATHS] or dead[:1]
    rest = dead[len(told) :]
    texts = [f"{row.death}." for row in told]
    if rest:
        texts.append(f"{_named(rest, rows).lower()} did not reach {'its' if len(rest) == 1 else 'their'} end either.")
    return [line for text in texts for line in entry("Died", text, style, indent=0, name_width=9)]


def unlike_others(rows: Sequence[RankRow]) -> list[RankRow]:
    """Return the processes whose memory grew unlike the median one's, the farthest first; of fewer than three, none.

    >>> rows = [RankRow(rank, rank, 9, None, growth, 0, "") for rank, growth in enumerate([1e6, 1e6, 9e7, 1.1e6])]
    >>> [row.rank for row in unlike_others(rows)]
    [2]
    """
    grown = [(row, row.growth_bytes) for row in rows if row.growth_bytes is not None]
    if len(grown) < 3:
        return []
    middle = median(growth for _, growth in grown)
    spread = median(abs(growth - middle) for _, growth in grown)
    bound = max(_DEVIATIONS * _NORMAL * spread, _LEAST_SHARE * abs(middle), _LEAST_BYTES)
    far = [(abs(growth - middle), row) for row, growth in grown if abs(growth - middle) > bound]
    return [row for _, row in sorted(far, key=lambda pair: -pair[0])]


def in_order(rows: Sequence[RankRow]) -> list[RankRow]:
    """Those that leak first, then those that grow unlike the others, then the rest as they come."""
    unlike = {id(row) for row in unlike_others(rows)}
    return sorted(rows, key=lambda row: (-row.n_leaks, id(row) not in unlike))


def rank_lines(rows: Sequence[RankRow], style: Style) -> list[str]:
    """Say what a reader of many processes asks first, then list them."""
    texts = filter(None, (_who_leaks(rows), _who_differs(rows), several_runs(rows)))
    sentences = [line for text in texts for line in wrap(text, min(RULE_WIDTH, style.width), style)]
    return [*sentences, *([""] if sentences else []), *_table(in_order(rows), style)]


def several_runs(rows: Sequence[RankRow]) -> str:
    """Say so where some processes had ended before others began: several runs may have gone into one folder.

    >>> row = RankRow(0, 7, 9, None, None, 0, "", began_s=10.0, ended_s=20.0)
    >>> several_runs([row, replace(row, began_s=30.0, ended_s=40.0)])
    'These are 2 runs, or parts of one, since they ran one after the other; give each run a folder of its own.'
    >>> several_runs([row, replace(row, began_s=15.0, ended_s=40.0)])
    ''
    """
    n, until = 0, 0.0
    for row in sorted(rows, key=lambda row: row.began_s):
        n += row.began_s > until
        until = max(until, row.ended_s)
    if n < 2:
        return ""
    what = f"These are {n} runs, or parts of one, since they ran one after the other"
    return f"{what}; give each run a folder of its own."


def _who_leaks(rows: Sequence[RankRow]) -> str:
    leaking = [row for row in rows if row.n_leaks]
    if not leaking:
        return ""  # whether that is for want of leaks or of readings is told for each process
    rest = len(rows) - len(leaking)
    # One that was too short to judge may be among them, so they are not said to be free of leaks.
    number = "" if rest == 1 else f" {rest:,}"
    others = "" if not rest else f"; no leak was found in the other{number}"
    return f"{_named(leaking, rows)} of {len(rows):,} {'leaks' if len(leaking) == 1 else 'leak'}{others}."


def _who_differs(rows: Sequence[RankRow]) -> str:
    unlike = unlike_others(rows)
    if not unlike:
        return ""
    middle = median(row.growth_bytes for row in rows if row.growth_bytes is not None)
    first = unlike[0]
    grew = format_signed_bytes(first.growth_bytes or 0.0)
    who, unit = _named([first], rows).lower(), "rank" if _have_ranks(rows) else "process"
    text = f"Memory of {who} changed by {grew}, of the median {unit} by {format_signed_bytes(middle)}"
    if len(unlike) == 1:
        return f"{text}."
    return f"{text}; {_named(unlike[1:], rows).lower()} {'differs' if len(unlike) == 2 else 'differ'}, too."


def _have_ranks(rows: Sequence[RankRow]) -> bool:
    """Whether the processes are told apart by their ranks; workers have that of the process they work for."""
    return len({row.rank for row in rows}) == len(rows)


def _named(rows: Sequence[RankRow], among: Sequence[RankRow]) -> str:
    by_rank = _have_ranks(among)
    numbers = [str(row.rank if by_rank else row.pid) for row in rows[:_MOST_NAMED]]
    if len(rows) > _MOST_NAMED:
        numbers.append(f"{len(rows) - _MOST_NAMED:,} more")
    if len(numbers) == 1:
        return f"{'Rank' if by_rank else 'Process'} {numbers[0]}"
    return f"{'Ranks' if by_rank else 'Processes'} {listed(numbers)}"


def _table(rows: Sequence[RankRow], style: Style) -> list[str]:
    head, tail = elide(len(rows))
    shown = [*rows[:head], *rows[len(rows) - tail :]]
    layout = (
        Column("Rank", 4), Column("Pid", 8), Column("Gens", 6), Column("RAM", 11), Column("Growth", 11),
        Column("Leaks", 5),
    )  # fmt: skip
    cells = [
        (str(r.rank), str(r.pid), str(r.n_generations), format_bytes(r.ram_bytes), format_bytes(r.growth_bytes),
         str(r.n_leaks))
        for r in shown
    ]  # fmt: skip
    notes = [f"<- {r.first_finding}" if r.first_finding else "" for r in shown]
    lines = columns(layout, cells, style, notes=notes)
    if tail:
        lines.insert(
            len(columns(layout, cells[:head], style, notes=notes)), f"... ({len(rows) - head - tail:,} more processes)"
        )
    return lines
