"""Bytes to text and back, honestly: KiB, MiB, GiB are powers of 1024; kB, MB, GB powers of 1000."""

from __future__ import annotations

import re

from phaseprof.errors import UsageError

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
KB, MB, GB, TB = 10**3, 10**6, 10**9, 10**12

_STEPS = ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"))
_DECIMAL_STEPS = ((TB, "TB"), (GB, "GB"), (MB, "MB"), (KB, "kB"))
_FACTORS = {
    "": 1, "b": 1, "byte": 1, "bytes": 1,
    "kib": KIB, "mib": MIB, "gib": GIB, "tib": TIB,
    "kb": KB, "mb": MB, "gb": GB, "tb": TB,
    "k": KIB, "m": MIB, "g": GIB, "t": TIB,
}  # fmt: skip
# All but line ends and tabs that a terminal acts upon, or that change the order in which text is shown: controls,
# directions, separators of lines, marks without a width, halves of characters.
_ACTING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"
)
_SECONDS = {"": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
_FORMULA = re.compile(r"'*[=+\-@\t]")
_NOTHING_BEHIND = re.compile(r" 0 (s|min|h)\Z")
_QUANTITY = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)\s*\Z")


def for_terminal(text: str) -> str:
    """Make a text safe to print: what a terminal would act upon, but for line ends and tabs, becomes a question mark.

    Every text that is printed passes here once, since names, files and notes may hold anything.

    >>> for_terminal("evil" + chr(27) + "[2Jname")
    'evil?[2Jname'
    """
    return text if text.isascii() and text.isprintable() else _ACTING.sub("?", text)


def safe_cell(value: object) -> object:
    """Keep a text in a table from being run by a spreadsheet: one that begins a formula gets a quote before it.

    >>> safe_cell("=cmd()"), safe_cell("'+1"), safe_cell("train"), safe_cell(-1.5), plain_cell("'=cmd()")
    ("'=cmd()", "''+1", 'train', -1.5, '=cmd()')
    """
    if not isinstance(value, str):
        return value
    text = value.replace("\r", " ")  # which not every writer of CSV quotes
    return f"'{text}" if _FORMULA.match(text) else text


def plain_cell(text: str) -> str:
    """Take away the quote that ``safe_cell`` gave."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def format_bytes(n_bytes: float | None) -> str:
    """Write a number of bytes with its binary unit; a dash for one that is not known.

    >>> format_bytes(512), format_bytes(1536), format_bytes(-3 * 1024**3), format_bytes(None)
    ('512 B', '1.50 KiB', '-3.00 GiB', '-')
    """
    if n_bytes is None:
        return "-"
    size = abs(n_bytes)
    for step, unit in _STEPS:
        # 1023.996 KiB would print as "1024.00 KiB": take the larger unit from where rounding would cross.
        if size >= step * (1 - 0.005 / 1024):
            return f"{n_bytes / step:.2f} {unit}"
    return f"{n_bytes:.0f} B"


def format_decimal_bytes(n_bytes: float) -> str:
    """Write a number of bytes with its decimal unit, for figures that stand beside a limit given in MB.

    >>> format_decimal_bytes(512), format_decimal_bytes(1_020_000), format_decimal_bytes(-5 * 10**9)
    ('512 B', '1.02 MB', '-5.00 GB')
    """
    size = abs(n_bytes)
    for step, unit in _DECIMAL_STEPS:
        if size >= step * (1 - 0.005 / 1000):
            return f"{n_bytes / step:.2f} {unit}"
    return f"{n_bytes:.0f} B"


def format_signed_bytes(n_bytes: float | None) -> str:
    """Write a change in bytes, always with its sign; a dash for one that is not known.

    >>> format_signed_bytes(2048), format_signed_bytes(0), format_signed_bytes(None)
    ('+2.00 KiB', '+0 B', '-')
    """
    return ("" if n_bytes is None or n_bytes < 0 else "+") + format_bytes(n_bytes)


def rate_text(value: float) -> str:
    """Write a rate to four digits, never in exponent form.

    >>> rate_text(223921.4), rate_text(15.0234), rate_text(0.123456)
    ('223,900', '15.02', '0.1235')
    """
    return f"{float(f'{value:.4g}'):,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def parse_bytes(text: str) -> int:
    """Read a quantity of bytes; ``MB`` is 10**6 and ``MiB`` 2**20, a bare ``M`` is 2**20 as in cgroup files.

    Raises:
        UsageError: the text is not a number with a known unit.

    >>> parse_bytes("10 MB"), parse_bytes("10 MiB"), parse_bytes("512")
    (10000000, 10485760, 512)
    """
    match = _QUANTITY.match(text)
    factor = _FACTORS.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise UsageError(f"a size is a number and a unit such as MB or MiB (got {text!r}); write for example '10 MiB'")
    return round(float(match[1]) * factor)


def parse_duration(text: str) -> float:
    """Read a duration in seconds: a number, with s, m or min, or h behind it.

    Raises:
        UsageError: the text is none.

    >>> parse_duration("60s"), parse_duration("2.5 min"), parse_duration("1h"), parse_duration("90")
    (60.0, 150.0, 3600.0, 90.0)
    """
    match = _QUANTITY.match(text)
    factor = _SECONDS.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise UsageError(f"a duration is a number and a unit: s, min or h (got {text!r}); write for example '60s'")
    return float(match[1]) * factor


def format_duration(seconds: float) -> str:
    """Write a duration in the two largest units that matter.

    >>> format_duration(0.25), format_duration(95), format_duration(3 * 3600 + 120), format_duration(200000)
    ('0.2 s', '1 min 35 s', '3 h 2 min', '2 d 7 h')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


# An estimate is given to about two digits: of each range of seconds, what its durations are rounded to.
_ROUNDED = ((10, 1), (100, 5), (600, 10), (7200, 60), (86400, 600), (864000, 3600), (float("inf"), 86400))


def format_estimate(seconds: float) -> str:
    """Write how long something will take, no more exactly than an estimate deserves.

    >>> format_estimate(8.3), format_estimate(331), format_estimate(1683), format_estimate(7300), format_estimate(1e6)
    ('8 s', '5 min 30 s', '28 min', '2 h', '12 d')
    """
    step = next(step for below, step in _ROUNDED if seconds < below)
    text = "a second" if seconds < 0.5 else format_duration(max(10, round(seconds / step) * step))
    if 0.5 <= seconds < 9.5:
        text = f"{round(seconds)} s"
    return _NOTHING_BEHIND.sub("", text)
