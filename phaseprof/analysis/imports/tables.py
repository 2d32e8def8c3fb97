"""Tables of any tool: columns parted by anything, names in a header or a comment, a time or a step or only rows."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from phaseprof.analysis.imports.builder import Builder, tell_left_out
from phaseprof.analysis.imports.columns import measures_by_row
from phaseprof.analysis.imports.layouts import Layout, banner_date, clean, find_layout, is_aside, layouts_of
from phaseprof.analysis.imports.limits import fail, iter_lines
from phaseprof.analysis.imports.names import is_about_memory
from phaseprof.analysis.imports.readings import NO_TIME, Readings
from phaseprof.analysis.imports.sequence import Sequencer
from phaseprof.analysis.imports.times import read_date, read_time
from phaseprof.analysis.imports.units import NO_VALUE, Quantity, Units, factor_of, read_quantity, split_unit
from phaseprof.analysis.metric_roles import HELD, Meaning, meaning_of

_HEAD_LINES = 300
# More processes than this are no processes: the column that splits them is something else.
_MOST_PROCESSES = 4096
_MOST_BYTES = 2.0**63


# The foreign name of a figure, the run that its column names, and what stands in its cell.
_Figure = tuple[str, str, Quantity]


class BadRowError(Exception):
    """A row that cannot be taken in; the text says why."""


def read_table(file: Path, units: Units) -> list[Readings] | None:
    """Read a table; ``None`` where the file is none that measures memory.

    Rows that break their table are left out, and the first of them is told with its line number.

    Raises:
        ImportFailure: most rows are broken, or the unit of a size is not known.
    """
    head = [clean(text) for _, text in itertools.islice(iter_lines(file), _HEAD_LINES)]
    layout = find_layout(head)
    if layout is None:
        return None
    rows = [cells for text in head if not is_aside(text) and layout.fits(text) and (cells := layout.cells(text))]
    reader = TableReader(file, units, layout, rows)
    lines: Iterable[tuple[int, str]] = iter_lines(file)
    if reader.is_newest_first:
        lines = _oldest_first(list(lines), layout)
    for line, text in lines:
        reader.take(line, clean(text))
    return reader.finish()


def _oldest_first(lines: list[tuple[int, str]], layout: Layout) -> list[tuple[int, str]]:
    begin = next((at for at, (_, text) in enumerate(lines) if _is_header(clean(text), layout)), 0)
    return [*lines[: begin + 1], *reversed(lines[begin + 1 :])]


def _is_header(text: str, layout: Layout) -> bool:
    return text.lstrip("# ").rstrip() == layout.header


class TableReader:
    """Takes rows in, one after the other.

    Args:
        file: for messages.
        units: what is known of units.
        layout: how rows are cut, and what the columns are for.
        head: the first rows, cut.
        prefix: what the names leave out beyond what the tool's do.
    """

    def __init__(
        self, file: Path, units: Units, layout: Layout, head: Sequence[Sequence[str]], *, prefix: str = ""
    ) -> None:
        self._file = file
        self._layout: Layout | None = layout
        self._first = layout
        dialect = layout.plan.dialect
        self._units = units.of_format(implied=dialect.implied, is_binary=dialect.is_binary)
        self._builder = Builder(file, self._units, point=dialect.name or "history")
        self._sequence = Sequencer()
        self._devices: dict[str, int] = {}
        self._day_s = 0.0
        self._begun = False
        self._taken = 0
        self._skipped: list[tuple[int, str]] = []
        self._n_skipped = 0
        self._prefix = prefix or dialect.prefix
        self._labels = _labels_of(layout, head)
        self.is_newest_first = _is_newest_first(layout, head, self._labels)
        self._left_out = dict.fromkeys(layout.plan.left_out)
        self._n_devices = _devices_a_reading(layout, head, self._labels)
        self._n_rows = 0

    def take(self, line: int, text: str) -> None:
        """Take in one line, whatever it is."""
        if is_aside(text):
            self._day_s = read_date(banner_date(text)) or self._day_s
        elif _is_header(text, self._first):
            self._begun, self._layout = True, self._first
        elif self._begun and not text.startswith("#"):
            self._take_row(line, text)

    def _take_row(self, line: int, text: str) -> None:
        if self._is_names(text):
            self._layout = next((layout for layout in layouts_of(text) if layout.split is str.split), None)
            return
        if self._layout is not None:
            self.take_cells(line, self._layout.cells(text), got=len(self._layout.split(text)))

    def take_cells(self, line: int, cells: list[str] | None, *, got: int = 0) -> None:
        """Take in a row that is cut already; ``None`` where the number of its cells, ``got``, is wrong."""
        layout = self._layout or self._first
        try:
            if cells is None:
                raise BadRowError(f"there must be {len(layout.plan.names)} fields (got {got})")
            if layout.split is str.split and not _is_row(layout, cells):
                raise BadRowError("it is not a row of the table")
            self._add_row(layout, cells, line=line)
            self._taken += 1
        except BadRowError as error:
            self._n_skipped += 1
            if len(self._skipped) < 3:
                self._skipped.append((line, str(error)))

    def _is_names(self, text: str) -> bool:
        """Whether a line begins another table, as the blocks of sysstat do: words, but for the clock before them."""
        if self._first.split is not str.split:
            return False
        cells = text.split()
        return len(cells) > 1 and not any(re.match(r"[-+.]?\d|<|\[", cell) for cell in cells[1:])

    def _add_row(self, layout: Layout, cells: list[str], *, line: int) -> None:
        plan = layout.plan
        process = " ".join(_label(plan.names[at], cells[at]) for at in self._labels if at < len(cells) and cells[at])
        if process not in self._builder.processes and len(self._builder.processes) >= _MOST_PROCESSES:
            rule = f"its columns split it into over {_MOST_PROCESSES:,} processes"
            raise fail(self._file, rule, "keep the rows of the processes that matter", line=line)
        point = cells[plan.point] if plan.point >= 0 else ""
        device = cells[plan.device] if plan.device >= 0 else ""
        if self._n_devices > 1:
            device = str(self._n_rows % self._n_devices)
        self._n_rows += 1
        figures = self._figures(layout, cells)
        key = (process, device, point, next(iter(figures))[0] if plan.key >= 0 and figures else "")
        time_s = self._time(layout, cells, key)
        step = self._sequence.step(key, _number_of_step(cells[plan.step]) if plan.step >= 0 else None)
        for name, run, quantity in figures:
            self._builder.add(
                self._named(layout, name, device), *_in_bytes(quantity), step=step, point=point, time_s=time_s,
                process=run or process,
            )  # fmt: skip

    def _figures(self, layout: Layout, cells: list[str]) -> list[_Figure]:
        plan = layout.plan
        if measures_by_row(plan):
            name = cells[plan.key] if plan.key >= 0 else self._file.name.split(".")[0]
            if not is_about_memory(name):
                self._left_out.setdefault(name[:100])
                return []
            unit = cells[plan.unit] if plan.unit >= 0 else ""
            found = [(name, "", cells[plan.value] + unit)]
        else:
            found = [(name, run, cells[at]) for at, run, name in plan.metrics]
        figures = [(name, run, q) for name, run, text in found if (q := _quantity(text, name)) is not None]
        return [self._amount(figure, figures) for figure in figures]

    def _amount(self, figure: _Figure, figures: Sequence[_Figure]) -> _Figure:
        """Turn a share into an amount where the same row says what it is a share of."""
        name, run, quantity = figure
        meaning = meaning_of(self._prefix + name)
        if not (meaning.is_percent and meaning.measure in HELD) or name in self._units.totals:
            return figure
        for other, _, total in figures:
            if meaning_of(self._prefix + other) == Meaning(meaning.owner, "limit"):
                unit = split_unit(other)[1]
                factor = total.factor or (factor_of(unit, other, self._units)[0] if unit else self._units.implied)
                if factor:
                    owner = meaning.owner.replace("cuda", "gpu.") or "process"
                    amount = Quantity(quantity.number / 100 * total.number * factor, 1.0)
                    return f"{owner}.memory_used", run, amount
        return figure

    def _named(self, layout: Layout, name: str, device: str) -> str:
        """Complete a name by what its table leaves out."""
        prefix = self._prefix
        if not device or (meaning_of(name).owner not in ("", "process") and not _is_bare_device(name)):
            return prefix + name if prefix and meaning_of(name).owner in ("", "process") else name
        return f"gpu.{self._device(device)}.{name}"

    def _device(self, text: str) -> int:
        number = re.search(r"(?:^|[^0-9a-zA-Z]|gpu|card|cuda)(\d{1,3})\Z", text.strip().lower())
        if number:
            return int(number[1])
        return self._devices.setdefault(text, len(self._devices))

    def _time(self, layout: Layout, cells: list[str], key: tuple[str, ...]) -> float:
        plan = layout.plan
        if plan.time < 0 or cells[plan.time].lower() in NO_VALUE - {"inf", "-inf"}:
            return NO_TIME
        text = cells[plan.time]
        time_s = read_time(text)
        if time_s is None:
            raise BadRowError(f"{plan.names[plan.time]} must be a time (got {text[:40]!r})")
        day_s = read_date(cells[plan.date]) if plan.date >= 0 else self._day_s
        return self._sequence.time(
            key, time_s + (day_s or 0.0), is_clock=":" in text and plan.date < 0 and time_s < 86401
        )

    def finish(self) -> list[Readings]:
        """Return what was taken in, with notes on what was not."""
        is_prose = self._first.split is str.split  # tables of a terminal stand between other lines
        if self._n_skipped and (not self._taken or (self._n_skipped > self._taken and not is_prose)):
            line, why = self._skipped[0]
            raise fail(self._file, f"{why}, as in {self._n_skipped:,} lines", "fix or remove them", line=line)
        if self._skipped:
            told = "; ".join(f"line {line}: {why}" for line, why in self._skipped)
            more = f" and {self._n_skipped - len(self._skipped)} more" if self._n_skipped > len(self._skipped) else ""
            self._builder.notes.append(f"left out, because they are not rows of the table: {told}{more}")
        if self._left_out:
            self._builder.notes.append(tell_left_out(list(self._left_out)))
        if self.is_newest_first:
            self._builder.notes.append("the newest row comes first, so the file is read from its end")
        return self._builder.finish()


def _is_row(layout: Layout, cells: list[str]) -> bool:
    """Whether a line that has as many words as the table has columns is one of its rows: numbers stand under PID."""
    return all(cells[at].isdigit() for at in layout.plan.processes if layout.plan.names[at].lower() == "pid")


def _is_bare_device(name: str) -> bool:
    """Whether a name speaks of some device without saying which."""
    return not any(character.isdigit() for character in name)


def _label(name: str, text: str) -> str:
    return f"{name.strip().lower()} {text}" if text.isdigit() else text[:100]


def _quantity(text: str, name: str) -> Quantity | None:
    if text.strip().lower() in NO_VALUE:
        return None
    quantity = read_quantity(text)
    if quantity is None:
        raise BadRowError(f"{name} must be a number (got {text[:40]!r})")
    if not math.isfinite(quantity.number) or abs(quantity.number * (quantity.factor or 1.0)) > _MOST_BYTES:
        raise BadRowError(f"{name} is more than any memory holds (got {text[:40]!r})")
    return quantity


def _in_bytes(quantity: Quantity) -> tuple[float, bool]:
    """Return a value, and whether it is in bytes already."""
    if quantity.factor is None:
        return quantity.number, False
    return quantity.number * quantity.factor, True


def _number_of_step(text: str) -> float | None:
    if text.lower() in NO_VALUE:
        return None
    try:
        step = float(text)
    except ValueError as error:
        raise BadRowError(f"the step must be a number (got {text[:40]!r})") from error
    if not 0 <= step <= 2**53:
        raise BadRowError(f"the step must be from 0 to 2**53 (got {text[:40]!r})")
    return step


def _labels_of(layout: Layout, rows: Sequence[Sequence[str]]) -> list[int]:
    """Choose the columns that split the table: those whose words recur from row to row."""
    found = []
    for at in layout.plan.processes:
        texts = [row[at] for row in rows]
        if len(rows) < 4 or len(set(texts)) <= len(texts) / 2:
            found.append(at)
    return found


def _devices_a_reading(layout: Layout, rows: Sequence[Sequence[str]], labels: Sequence[int]) -> int:
    """Count the rows of a table of devices that were read together, where no column says which is which.

    They follow each other at one time, or within a part of the time between two readings; 1 where it is not plain.
    """
    plan = layout.plan
    if plan.dialect.prefix != "gpu/" or plan.device >= 0 or plan.time < 0 or labels:
        return 1
    times = [read_time(row[plan.time]) or 0.0 for row in rows]
    gaps = [b - a for a, b in itertools.pairwise(times)]
    if len(gaps) < 4:
        return 1
    usual = max(gaps) / 4
    sizes = [len(list(group)) + 1 for is_near, group in itertools.groupby(gaps, lambda gap: gap < usual) if is_near]
    n_near = sum(gap < usual for gap in gaps)
    is_even = len(set(sizes[:-1])) == 1 and n_near * sizes[0] >= (sizes[0] - 1) * (len(gaps) - sizes[0])
    return sizes[0] if len(sizes) > 1 and is_even else 1


def _is_newest_first(layout: Layout, rows: Sequence[Sequence[str]], labels: Sequence[int]) -> bool:
    """Whether the axis of the first rows only ever falls."""
    at = layout.plan.step if layout.plan.step >= 0 else layout.plan.time
    if at < 0:
        return False
    first = [rows[0][label] for label in labels] if rows else []
    axis = [read_time(row[at]) for row in rows if [row[label] for label in labels] == first]
    known = [value for value in axis if value is not None]
    falls = sum(b < a for a, b in itertools.pairwise(known))
    return falls >= 3 and falls > 0.9 * (len(known) - 1) and known[-1] < known[0]
