"""Times as logs write them: seconds since a start or 1970, in any scale, dates, clocks."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_DATE = re.compile(
    r"(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})"
    r"(?:[T _](?P<hour>\d{1,2})[:\-](?P<minute>\d{1,2})[:\-](?P<second>\d{1,2})(?:[.,](?P<part>\d{1,9}))?)?"
    r"\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?"
)
_DATE_OF_US = re.compile(r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{2,4})(?P<rest>.*)\Z")
_CLOCK = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2}):(?P<second>\d{2})(?:[.,](?P<part>\d{1,9}))?\s*(?P<half>[AP]M)?\Z"
)
DAY_S = 86400.0
# Numbers above are milliseconds, microseconds, nanoseconds: no second since 1970 is as large for 3,000 years.
_SCALES = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
_LATEST_S = 1e11


def read_time(text: str) -> float | None:
    """Read a time in seconds: since 1970 for dates, since midnight for a clock, else as the number says.

    A date without a zone is taken as UTC.  ``None`` where it is no time, or none that a run can have.

    >>> read_time("1700000000123"), read_time("1970-01-02T00:00:01.5Z"), read_time("00:01:02"), read_time("1e400")
    (1700000000.123, 86401.5, 62.0, None)
    """
    text = text.strip()[:64]
    try:
        return scaled(float(text))
    except ValueError:
        pass
    clock = _CLOCK.match(text)
    if clock:
        return _clock_s(clock)
    return read_date(text)


def scaled(number: float) -> float | None:
    """Bring a number to seconds; ``None`` where it can be no time."""
    for above, scale in _SCALES:
        if abs(number) >= above:
            number /= scale
            break
    return number if 0 <= number < _LATEST_S else None


def _clock_s(clock: re.Match[str]) -> float | None:
    hour, minute, second = (int(clock[name]) for name in ("hour", "minute", "second"))
    if clock["half"]:
        hour = hour % 12 + (12 if clock["half"] == "PM" else 0)
    if minute > 59 or second > 60:
        return None
    return hour * 3600.0 + minute * 60.0 + second + float(f"0.{clock['part'] or 0}")


def read_date(text: str) -> float | None:
    """Read a date, with a time of day if it has one, as seconds since 1970; ``None`` where it is none."""
    american = _DATE_OF_US.match(text)
    if american:
        year = american["year"] if len(american["year"]) == 4 else f"20{american['year'][-2:]}"
        text = f"{year}-{american['month']}-{american['day']}{american['rest']}"
    found = _DATE.match(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (
        int(found[name] or 0) for name in ("year", "month", "day", "hour", "minute", "second")
    )
    try:
        moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=_zone(found["zone"]))
        seconds = moment.timestamp()
    except (ValueError, OverflowError):
        return None
    return scaled(seconds + float(f"0.{found['part'] or 0}"))


def _zone(text: str | None) -> timezone:
    if not text or text[0] not in "+-":
        return timezone.utc
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))
