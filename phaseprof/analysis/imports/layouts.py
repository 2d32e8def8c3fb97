"""How a table is written: what parts its columns, and where its names stand."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from phaseprof.analysis.imports.columns import Plan, has_text_at_the_end, measures_by_row, plan_columns
from phaseprof.analysis.imports.units import NO_VALUE, read_quantity

Split = Callable[[str], list[str]]
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9])")
# A clock of twelve hours is one field.
_HALF_DAY = re.compile(r"^(\s*#?\s*\d\d:\d\d:\d\d) ([AP]M)\b")
_BANNER = re.compile(r"Linux \S+.*\(\d+ CPU\)\s*\Z")
_BANNER_DATE = re.compile(r"\s(\d{1,2}/\d{1,2}/\d{2,4}|\d{4}-\d{2}-\d{2})\s")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+\Z")
_RULE = re.compile(r"[-+=|\s:]+\Z")
# Lines at the head of a file among which the names must stand.
_HEAD_LINES = 60


def clean(text: str) -> str:
    """Take out what a terminal was told, and join a clock with its half of the day."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return _HALF_DAY.sub(r"\1\2", text)


def is_aside(text: str) -> bool:
    """Whether a line is blank, a rule, the banner of sysstat, or its averages."""
    return (
        not text.strip()
        or text.startswith(("Average:", "Average ", "Summary:"))
        or "LINUX RESTART" in text
        or bool(_RULE.match(text))
        or bool(_BANNER.match(text))
    )


def banner_date(text: str) -> str:
    """Return the day that the banner of sysstat names, or ""."""
    found = _BANNER_DATE.search(text) if _BANNER.match(text) else None
    return found[1] if found else ""


def _by(delimiter: str) -> Split:
    def split(text: str) -> list[str]:
        try:
            cells = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True))
        except (csv.Error, StopIteration):
            return []
        return [cell.strip() for cell in cells]

    return split


def _by_semicolons(text: str) -> list[str]:
    """Cut at semicolons, which programs write where a comma parts the decimals."""
    cells = _by(";")(text)
    return [cell.replace(",", ".") if _DECIMAL_COMMA.match(cell) else cell for cell in cells] if cells[1:] else cells


def _by_bars(text: str) -> list[str]:
    return [cell.strip() for cell in text.strip().strip("|").split("|")]


def _by_wide_gaps(text: str) -> list[str]:
    return re.split(r"\s{2,}|\t", text.strip())


# How names are parted, and how rows are: names may hold single blanks where numbers have none.
_WAYS: tuple[tuple[Split, Split], ...] = (
    (_by("\t"), _by("\t")), (_by_semicolons, _by_semicolons), (_by(","), _by(",")), (_by_bars, _by_bars),
    (_by_wide_gaps, _by_wide_gaps), (str.split, str.split), (_by_wide_gaps, str.split),
)  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """A way to read rows.

    Attributes:
        split: cuts a line into cells.
        plan: what its columns are for.
        header: the line of names as it is written, without what marks a comment.
    """

    split: Split
    plan: Plan
    header: str

    def cells(self, text: str) -> list[str] | None:
        """Cut a row; ``None`` where the number of its cells is wrong."""
        cells = self.split(text)
        wanted = len(self.plan.names)
        if len(cells) > wanted and has_text_at_the_end(self.plan.names):
            cells = [*cells[: wanted - 1], " ".join(cells[wanted - 1 :])]
        if len(cells) == wanted + 1 and not cells[-1]:
            cells.pop()  # each line ends in the delimiter
        return cells if len(cells) == wanted else None

    def fits(self, text: str) -> bool:
        """Whether a line is a row of this table that measures something."""
        cells = self.cells(text)
        if cells is None:
            return False
        figures = (
            [cells[self.plan.value]] if measures_by_row(self.plan) else [cells[at] for at, _, _ in self.plan.metrics]
        )
        numbers = [read_quantity(cell) is not None for cell in figures if cell.lower() not in NO_VALUE]
        return all(numbers) and (any(numbers) or any(read_quantity(cell) is not None for cell in cells))


def find_layout(lines: Sequence[str]) -> Layout | None:
    """Find the names of a table near its head, and the way in which the row after them can be read."""
    for at, text in enumerate(lines[:_HEAD_LINES]):
        if is_aside(text):
            continue
        after = [line for line in lines[at + 1 : at + 20] if not is_aside(line) and not line.startswith("#")]
        fitting = [layout for layout in layouts_of(text) if any(map(layout.fits, after[:5]))]
        if fitting:  # where several ways can read the rows, the one that yields the columns of a known tool is right
            return next((layout for layout in fitting if layout.plan.dialect.name), fitting[0])
    return None


def layouts_of(text: str) -> Iterator[Layout]:
    """Yield the ways in which a line may be the names of a table that measures memory."""
    header = text.lstrip("# ").rstrip()
    for split_names, split_rows in _WAYS:
        names = split_names(header)
        if not names or sum(read_quantity(name) is not None for name in names) > len(names) / 3:
            continue
        plan = plan_columns(names)
        if measures_by_row(plan) or (plan.metrics and not any(_is_sentence(name) for _, _, name in plan.metrics)):
            yield Layout(split_rows, plan, header)
            if plan.dialect.name == "free":  # its rows have a name, its names none for them
                yield Layout(split_rows, plan_columns(["name", *names]), header)


def _is_sentence(name: str) -> bool:
    """Whether what would be a name holds a number with a unit, or more words than a name has."""
    return len(name) > 200 or len(name.split()) > 6 or bool(re.search(r"=\s*\d|:\s+\d", name))
