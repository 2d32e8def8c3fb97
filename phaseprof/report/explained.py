"""RSS GROWTH EXPLAINED: the parts that the growth of resident memory falls into, each counted once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from phaseprof.recording.model import ProcessRun
from phaseprof.recording.series import Series
from phaseprof.report.access import Generations, memory_point, metrics_under, series_of, value_at
from phaseprof.report.text import Report, Style, change_cell, clean, entry, pad, section
from phaseprof.units import MIB, format_signed_bytes

# The mean block of CPython's small-object allocator: 32 bytes in a heap of floats, 72 in one of dicts and strings,
# 83 to 92 after importing numpy or torch (sys._debugmallocstats, CPython 3.11).  Only blocks can be read cheaply.
BYTES_A_BLOCK = 72
_NAME_WIDTH = 42
_NOT_TRACKED = ", not tracked"

TRACKED, STORAGES, ARRAYS, PYTHON, SLACK = (
    "tracked names", "torch storages (cpu)", "numpy arrays", "Python heap (estimate)", "allocator slack (malloc)",
)  # fmt: skip


@dataclass(frozen=True)
class Term:
    """One part of the growth; ``None`` where it was not measured, which is not zero."""

    name: str
    growth_bytes: float | None


@dataclass(frozen=True)
class ExplainedReport(Report):
    """The growth of resident memory between two generations, as a sum.

    Attributes:
        first: the generation it is counted from, by the user's number; ``None`` if there were not two readings.
        last: the generation it is counted to.
        total_name: what is explained: RSS, or anonymous memory where RSS was not read.
        total_bytes: its growth.
        terms: the parts, each counted once: tracked names first, and of storages, arrays and Python objects what is
            not tracked.
        malloc_other_bytes: growth of malloc's blocks in use beyond storages and arrays: native code, and Python
            objects over 512 bytes, tracked ones too.
    """

    derived = ("explained_bytes", "unattributed_bytes")

    first: str | None
    last: str | None
    total_name: str
    total_bytes: float
    terms: tuple[Term, ...]
    malloc_other_bytes: float | None = None

    @property
    def explained_bytes(self) -> float:
        """Sum of the parts that were measured."""
        return sum(term.growth_bytes for term in self.terms if term.growth_bytes is not None)

    @property
    def unattributed_bytes(self) -> float:
        """What is left of the growth; negative where counted memory is not resident, such as untouched pages."""
        return self.total_bytes - self.explained_bytes

    def render(self, style: Style) -> str:
        """Lay the sum out as text."""
        return section("RSS GROWTH EXPLAINED", "explained", self._body(style), style)

    def _body(self, style: Style) -> list[str]:
        if self.first is None or self.last is None:
            return ["Memory was not read in two generations: there is no growth to explain."]
        lines = [_term_line(t.name, t.growth_bytes, style) for t in self.terms]
        lines.append(_term_line("unattributed", self.unattributed_bytes, style))
        lines.append("   " + "-" * (_NAME_WIDTH + 13))
        title = f"growth of {self.total_name}, generation {self.first} to {self.last}"
        lines.append(_term_line(title, self.total_bytes, style))
        return lines + self._notes(style)

    def _notes(self, style: Style) -> list[str]:
        missing = [term.name.removesuffix(_NOT_TRACKED) for term in self.terms if term.growth_bytes is None]
        notes = [f"the unattributed part includes what was not measured: {', '.join(missing)}"] if missing else []
        if self.malloc_other_bytes is not None and self.unattributed_bytes > 0.1 * abs(self.total_bytes) + MIB:
            grown = format_signed_bytes(self.malloc_other_bytes)
            notes.append(f"by malloc's own count, blocks in use other than storages and arrays changed by {grown}")
        if self.unattributed_bytes < 0:
            notes.append("the parts exceed the growth: some of what they count is not resident, or already was before")
        return [line for note in notes for line in entry("Note", note, style, name_width=5)]


def _term_line(name: str, growth: float | None, style: Style) -> str:
    title = pad(clean(name, style)[:_NAME_WIDTH], _NAME_WIDTH)
    return f"   {title}{'not measured' if growth is None else change_cell(growth, 9)}"


def build_explained(process: ProcessRun) -> ExplainedReport:
    """Explain the growth of resident memory at the ends of generations.

    Storages, arrays and slack lie in malloc's heap and the Python heap beside it, so nothing is counted twice; arrays
    that share a storage's memory are the exception that the census must leave out.
    """
    process.fold()
    at = memory_point(process)
    name, total = "RSS", series_of(process, "rss_bytes", point=at)
    if total is None:
        name, total = "anonymous memory", series_of(process, "anonymous_bytes", point=at)
    window = _window(process, total)
    if total is None or window is None:
        return ExplainedReport(None, None, name, 0.0, ())

    def grown(series: Series | None) -> float | None:
        return _growth(series, *window)

    names = Generations(process)
    return ExplainedReport(
        names.name(window[0]), names.name(window[1]), name, grown(total) or 0.0, _terms(process, name, grown),
        _malloc_other(process, grown),
    )  # fmt: skip


_Grown = Callable[[Series | None], "float | None"]


def _terms(process: ProcessRun, total: str, grown: _Grown) -> tuple[Term, ...]:
    blocks = grown(series_of(process, "python_blocks"))
    tracked = _tracked(process, grown)
    live = [
        Term(STORAGES, grown(series_of(process, "storages/cpu_bytes"))),
        Term(ARRAYS, grown(series_of(process, "arrays_bytes"))),
        Term(PYTHON, None if blocks is None else blocks * BYTES_A_BLOCK),
    ]
    terms = [Term(TRACKED, tracked), *_without(live, tracked)] if tracked and tracked > 0 else live
    terms.append(Term(SLACK, grown(series_of(process, "malloc_free_bytes"))))
    if total == "RSS":
        shared = series_of(process, "file_and_shm_bytes", point=memory_point(process))
        terms.append(Term("file and shared pages", grown(shared)))
    return tuple(terms)


def _without(parts: list[Term], tracked: float) -> list[Term]:
    """Take what the tracked names grew by out of the parts that they lie in, the largest first: each byte counts once.

    Of which part a tracked byte is, was not recorded. The sum is right whichever it is.
    """
    left = tracked
    rest: dict[str, float | None] = {}
    for part in sorted(parts, key=lambda term: -(term.growth_bytes or 0.0)):
        taken = min(left, max(0.0, part.growth_bytes or 0.0))
        rest[part.name] = None if part.growth_bytes is None else part.growth_bytes - taken
        left -= taken
    return [Term(f"{part.name}{_NOT_TRACKED}", rest[part.name]) for part in parts]


def _tracked(process: ProcessRun, grown: _Grown) -> float | None:
    together = grown(series_of(process, "tracked_total_bytes"))  # where names overlap, each byte counts once
    if together is not None:
        return together
    changes = [grown(series) for series in metrics_under(process, "tracked/").values()]
    known = [change for change in changes if change is not None]
    return sum(known) if known else None


def _malloc_other(process: ProcessRun, grown: _Grown) -> float | None:
    parts = [grown(series_of(process, m)) for m in ("malloc_in_use_bytes", "storages/cpu_bytes", "arrays_bytes")]
    in_use, storages, arrays = parts
    return None if in_use is None else in_use - (storages or 0.0) - (arrays or 0.0)


def _window(process: ProcessRun, total: Series | None) -> tuple[int, int] | None:
    """Return the generations that every measured part covers."""
    metrics = ("storages/cpu_bytes", "arrays_bytes", "python_blocks", "malloc_free_bytes", "malloc_in_use_bytes")
    measured = [s for s in (total, *(series_of(process, m) for m in metrics)) if s is not None and len(s) > 1]
    if total is None or len(total) < 2:
        return None
    first = max(s.generations[0] for s in measured)
    last = min(s.generations[-1] for s in measured)
    return (first, last) if first < last else (total.generations[0], total.generations[-1])


def _growth(series: Series | None, first: int, last: int) -> float | None:
    """Return the change between two generations, ``None`` where the series does not reach from one to the other."""
    if series is None or len(series) < 2:
        return None
    before, after = value_at(series, first), value_at(series, last)
    return None if before is None or after is None or series.generations[-1] <= first else after - before
