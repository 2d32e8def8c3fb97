"""Text rendering: one place that knows widths, headings, columns and what a terminal takes."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import isfinite
from typing import ClassVar

from phaseprof.report.notebook import preformatted, rich_text
from phaseprof.units import format_bytes, format_signed_bytes

RULE_WIDTH = 70  # the width of the rules around a heading; text below may use the whole width
_MORE = "    "  # leads the rest of a broken line
MAX_LABEL = 2000  # characters of a label that are looked at; the rest cannot be shown anyway

_ICONS = {
    "snapshot": "🔍 ", "process": "💾 ", "gpu": "🎮 ", "counts": "📊 ", "trend": "📊 ", "growth": "📈 ", "large": "🐘 ",
    "bad": "❌ ", "good": "✅ ", "warning": "⚠️ ", "cost": "⏱️ ", "findings": "🚨 ", "explained": "🧮 ", "ranks": "🗂️ ",
    "phases": "🧭 ",
}  # fmt: skip
_MARKS = {"arrow": ("→", "->"), "ellipsis": ("…", "..."), "warning": ("⚠️", "!")}


@dataclass(frozen=True)
class Style:
    """How text is laid out: with Unicode or plain ASCII, at most ``width`` columns wide.

    ``full`` asks summaries for every table; without it they are one screen: verdict, phases, cost.
    """

    unicode: bool = True
    width: int = 80
    full: bool = True

    def icon(self, name: str) -> str:
        """Return the symbol that leads a heading, with its space, or nothing in ASCII."""
        return _ICONS[name] if self.unicode else ""

    def mark(self, name: str) -> str:
        """Return a mark within a line: arrow, ellipsis, warning."""
        return _MARKS[name][0 if self.unicode else 1]


def style_for(stream: object, environ: Mapping[str, str]) -> Style:
    """Choose the style for a stream: Unicode where its encoding takes it and nobody asked for plain text.

    Args:
        stream: where the text will go; a stream without an encoding is text in memory, which takes everything.
        environ: ``PHASEPROF_ASCII`` or ``NO_COLOR`` set, or ``TERM=dumb``, ask for plain text; ``COLUMNS`` narrower
            than 80 narrows the text, down to 50.
    """
    encoding = getattr(stream, "encoding", None) or "utf-8"
    plain = environ.get("PHASEPROF_ASCII", "") not in ("", "0") or bool(environ.get("NO_COLOR"))
    plain = plain or environ.get("TERM") == "dumb"
    columns = environ.get("COLUMNS", "")
    width = int(columns) if columns.isascii() and columns.isdigit() else 80
    return Style(unicode=not plain and _takes_unicode(encoding), width=min(80, max(50, width)))


def _takes_unicode(encoding: str) -> bool:
    try:
        "🔍→…".encode(encoding)
    except (LookupError, UnicodeEncodeError):
        return False
    return True


class Report:
    """Base of every report: frozen data that renders itself; holds no state of its own.

    ``derived`` names the properties that :meth:`to_dict` gives beside the fields.
    """

    derived: ClassVar[tuple[str, ...]] = ()

    def render(self, style: Style) -> str:
        """Return the report as text, without a final newline."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, object]:
        """Return the report as JSON-ready data: lists, text keys, ``None`` for numbers that are not finite."""
        names: list[str] = [f.name for f in fields(self)] if is_dataclass(self) else []
        return {name: to_plain(getattr(self, name)) for name in (*names, *self.derived)}

    def __str__(self) -> str:
        return self.render(style_for(sys.stdout, os.environ))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return preformatted(self.render(Style()))

    def __rich__(self) -> object:
        return rich_text(str(self))


def to_plain(value: object) -> object:
    """Turn nested reports, records, tuples and mappings into lists and dicts that every JSON encoder takes."""
    if isinstance(value, Report):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_plain(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value


def char_width(char: str) -> int:
    """Return the columns that one character takes: 0, 1 or 2."""
    if char < "\u0300":
        return 1
    if unicodedata.combining(char):
        return 0
    if char == "\ufe0f":  # asks for the emoji form of the character before it, which is then two columns wide
        return 1
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def text_width(text: str) -> int:
    """Return the columns that a line takes on a terminal."""
    return len(text) if text.isascii() else sum(map(char_width, text))


def clean(text: str, style: Style) -> str:
    """Make foreign text safe to print on one line: no control or direction characters, ASCII where that is asked.

    A label may hold anything, also escape sequences that would repaint the terminal.
    """
    if len(text) > 2 * MAX_LABEL:
        text = text[:MAX_LABEL] + text[-MAX_LABEL:]
    if not (text.isascii() and text.isprintable()):
        safe = (" " if unicodedata.category(c)[0] in "CZ" else c for c in text)
        text = " ".join("".join(safe).split())
    if not style.unicode:
        text = text.encode("ascii", "backslashreplace").decode("ascii")
    return text


def fit(text: str, width: int, style: Style) -> str:
    """Clean a text and shorten it in the middle to ``width`` columns, since both ends of a name tell it apart."""
    text = clean(text, style)
    if text_width(text) <= width:
        return text
    ellipsis = style.mark("ellipsis")
    room = width - len(ellipsis)
    if room <= 0:
        return _head(text, width)
    tail = _head(text[::-1], room // 3)[::-1]
    return _head(text, room - text_width(tail)) + ellipsis + tail


def _head(text: str, width: int) -> str:
    used = 0
    for at, char in enumerate(text):
        used += char_width(char)
        if used > width:
            return text[:at]
    return text


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Fill a text with spaces to ``width`` columns, before it if ``right``."""
    space = " " * (width - text_width(text))
    return space + text if right else text + space


def wrap(text: str, width: int, style: Style) -> list[str]:
    """Break a text into lines of at most ``width`` columns, at spaces where there are any."""
    lines = [""]
    for word in clean(text, style).split(" "):
        if text_width(lines[-1]) + 1 + text_width(word) <= width and lines[-1]:
            lines[-1] += " " + word
            continue
        rest = word
        while rest:
            head = _head(rest, width) or rest[0]
            lines.append(head)
            rest = rest[len(head) :]
    return lines[1:] or [""]


def entry(name: str, text: str, style: Style, *, indent: int = 3, name_width: int = 10) -> list[str]:
    """Lay out ``name: text``, the text wrapped beside its name."""
    first = " " * indent + pad(f"{name}:", name_width)
    lines = wrap(text, style.width - text_width(first) - 1, style)
    return [f"{first if at == 0 else ' ' * text_width(first)} {line}" for at, line in enumerate(lines)]


def rule(style: Style, *, width: int = RULE_WIDTH, char: str = "=") -> str:
    """Return a horizontal rule."""
    return char * min(width, style.width)


def heading(title: str, icon: str, style: Style, *, width: int = RULE_WIDTH) -> list[str]:
    """Return a heading between two rules."""
    line = fit((style.icon(icon) if icon else "") + title, style.width, style)
    return [rule(style, width=width), line, rule(style, width=width)]


def section(title: str, icon: str, body: Sequence[str], style: Style, *, width: int = RULE_WIDTH) -> str:
    """Return a heading, its body and a closing rule as one text."""
    return join([*heading(title, icon, style, width=width), *body, rule(style, width=width)], style)


def join(lines: Iterable[str], style: Style) -> str:
    """Join laid-out lines; one that is too wide for a narrow terminal, or holds a large figure, goes on below."""
    return "\n".join(part for line in lines for part in _break(line, style))


def _break(line: str, style: Style) -> list[str]:
    if text_width(line) <= style.width:
        return [line]
    head, arrow, note = line.partition("  <- ")
    if arrow and head.strip():
        return [*_break(head, style), *_break(f"{_MORE}<- {note}", style)]
    start = _head(line, style.width)
    cut = start.rfind(" ", len(_MORE) + 1)
    if cut < style.width // 3:
        cut = len(start)
    return [start[:cut].rstrip(), *_break(_MORE + line[cut:].lstrip(), style)]


@dataclass(frozen=True)
class Column:
    """One column of a table: its title, least width, and on which side its cells stand (the first always left)."""

    title: str
    width: int = 12
    right: bool = True


def columns(
    layout: Sequence[Column], rows: Sequence[Sequence[str]], style: Style, *, notes: Sequence[str] = ()
) -> list[str]:
    """Lay out a table: titles, dashes, rows; the first column stands left, and is shortened to what the others leave.

    Args:
        layout: the columns; the first holds names.
        rows: cells as text, one for each column.
        style: its width bounds each line, notes included as far as they fit.
        notes: text behind a row, by its index, or under it where it does not fit; empty for none.
    """
    widths = [max([c.width, len(c.title), *(text_width(row[at]) for row in rows)]) for at, c in enumerate(layout)]
    others = sum(widths[1:]) + len(widths) - 1
    longest = max([layout[0].width, *(text_width(clean(row[0], style)) for row in rows)])
    widths[0] = max(8, min(longest, style.width - others))
    lines = [_row([c.title for c in layout], layout, widths, style)]
    lines.append(" ".join("-" * width for width in widths))
    for at, row in enumerate(rows):
        lines += _with_note(_row(row, layout, widths, style), notes[at] if at < len(notes) else "", style)
    return [line.rstrip() for line in lines]


def _with_note(line: str, note: str, style: Style) -> list[str]:
    if not note:
        return [line]
    if text_width(line) + 2 + text_width(clean(note, style)) <= style.width:
        return [f"{line}  {clean(note, style)}"]
    return [line, _MORE + fit(note, style.width - len(_MORE), style)]


def _row(cells: Sequence[str], layout: Sequence[Column], widths: Sequence[int], style: Style) -> str:
    fitted = (fit(cell, width, style) for cell, width in zip(cells, widths, strict=True))
    sides = (column.right and at > 0 for at, column in enumerate(layout))
    return " ".join(pad(t, w, right=right) for t, w, right in zip(fitted, widths, sides, strict=True))


def elide(n_rows: int, *, head: int = 12, tail: int = 18) -> tuple[int, int]:
    """Return how many first and last rows of a long list are shown; everything when it is not long."""
    return (n_rows, 0) if n_rows <= head + tail + 1 else (head, tail)


def bytes_cell(n_bytes: float, width: int = 8) -> str:
    """Write bytes with the number's last digit at column ``width``, so that numbers stand under each other."""
    number, _, unit = format_bytes(n_bytes).partition(" ")
    return f"{number:>{width}} {unit}"


def change_cell(n_bytes: float, width: int = 8) -> str:
    """Write a change in bytes, signed, laid out like :func:`bytes_cell`."""
    number, _, unit = format_signed_bytes(n_bytes).partition(" ")
    return f"{number:>{width}} {unit}"


def count_text(value: float) -> str:
    """Write a count: whole where it is whole, and never in exponent form."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def times_text(n: int) -> str:
    """Write how often something happened.

    >>> times_text(1), times_text(1200)
    ('once', '1,200 times')
    """
    return "once" if n == 1 else f"{n:,} times"
