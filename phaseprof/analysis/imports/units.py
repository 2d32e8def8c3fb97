"""Units of foreign figures: in a name, in a header, in a cell, by the format, or as the user says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from phaseprof.errors import UsageError
from phaseprof.units import parse_bytes

UNITS = {
    "bytes": "B", "byte": "B", "b": "B",
    "kb": "kB", "mb": "MB", "gb": "GB", "tb": "TB",
    "kib": "KiB", "mib": "MiB", "gib": "GiB", "tib": "TiB",
    "kilobytes": "kB", "megabytes": "MB", "gigabytes": "GB",
    "kibibytes": "KiB", "mebibytes": "MiB", "gibibytes": "GiB",
}  # fmt: skip
# Decimal by their letters, but most programs that write them divide by 1024: the factor is told beside the figures.
_DOUBTFUL = {"kB", "MB", "GB", "TB"}
# Letters that stand behind a number only: Kubernetes writes Mi, top writes m.
_BEHIND_NUMBERS = {"ki": "KiB", "mi": "MiB", "gi": "GiB", "ti": "TiB", "k": "KiB", "m": "MiB", "g": "GiB", "t": "TiB"}
_NUMBER = r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?"
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*([A-Za-z]+|%)?(?:\s*/\s*({_NUMBER})\s*([A-Za-z]+)?)?\s*\Z")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?\Z")
_LONGEST_CELL = 100
# What stands in a cell, in small letters, where nothing was measured.
NO_VALUE = frozenset({
    "", "-", "--", "nan", "null", "none", "n/a", "[n/a]", "[not supported]", "<unknown>", "inf", "-inf", "infinity",
    "-infinity",
})  # fmt: skip
# Sysstat writes the unit before the word.
_KB_BEFORE = re.compile(r"kb(?:mem|avail|swp|buff|cach|comm|act|inact|dirty|anon|slab|kstack|pgtbl|vmused)")


@dataclass(frozen=True)
class Units:
    """What is known of units beyond names: what the user said, and what the format implies.

    Attributes:
        default: factor to bytes of a size whose name has no unit; ``None``: such a name is an error.
        by_name: foreign metric name to factor; 0 means that it counts things.
        totals: foreign name of a percentage to the bytes that are 100 percent.
        implied: as ``default``, where the format of the file says it, so that nothing is in doubt.
        is_binary: the format writes MB and means powers of 1024.
    """

    default: float | None = None
    by_name: dict[str, float] = field(default_factory=dict)
    totals: dict[str, float] = field(default_factory=dict)
    implied: float | None = None
    is_binary: bool = False

    def of_format(self, *, implied: float | None = None, is_binary: bool = False) -> Units:
        """Return the units with what a format implies."""
        return replace(self, implied=implied, is_binary=is_binary)


def parse_units(texts: list[str]) -> Units:
    """Read ``--unit`` texts.

    ``MiB`` is for every size without a unit, ``NAME=GB`` for one, ``NAME=count`` says that it counts things, and
    ``NAME=32GiB`` that it is a percentage of so much.

    Raises:
        UsageError: not a unit.
    """
    units = Units()
    for text in texts:
        name, equals, unit = text.rpartition("=")
        if equals and unit[:1].isdigit():
            units.totals[name] = float(parse_bytes(unit))
            continue
        factor = 0.0 if unit.lower() in ("count", "counts") else _factor(unit, text)
        if equals:
            units.by_name[name] = factor
        elif factor:
            units = replace(units, default=factor)
        else:
            raise UsageError(f"--unit count needs a name (got {text!r}); write --unit NAME=count")
    return units


def _factor(unit: str, text: str) -> float:
    letters = UNITS.get(unit.lower())
    if letters is None:
        raise UsageError(
            f"--unit must be bytes, kB, MB, GB, KiB, MiB or GiB, or NAME=UNIT, NAME=count or NAME=TOTAL (got "
            f"{text!r}); write for example --unit gpu_mem=MiB"
        )
    return float(parse_bytes(f"1 {letters}"))


def split_unit(name: str) -> tuple[str, str]:
    """Part a name into stem and unit, which is empty where the name has none.

    >>> split_unit("gpu_allocated_gb"), split_unit("memory (MB)"), split_unit("usedBytes"), split_unit("rss_mb_mean")
    (('gpu_allocated', 'gb'), ('memory', 'MB'), ('used', 'Bytes'), ('rss_mb_mean', 'mb'))
    """
    match = re.match(r"(.*?)\s*[(\[]\s*([A-Za-z]+)\s*[)\]]\Z", name) or re.match(r"(.*)[_./ -]([A-Za-z]+)\Z", name)
    if match and match[2].lower() in UNITS and len(match[2]) > 1:
        return match[1], match[2]
    camel = re.match(r"(.*[a-z])(Bytes|[kKMGT]i?B)\Z", name)
    if camel:
        return camel[1], camel[2]
    if _KB_BEFORE.match(name.lower()):
        return name, "kb"
    # Behind another word, as in rss_mb_mean, the unit is as good; the name then stays whole.
    inside = re.search(r"(?:^|[_./ -])([kmgt]i?b|bytes)(?=[_./ -])", name, re.IGNORECASE)
    return (name, inside[1]) if inside else (name, "")


def factor_of(unit: str, name: str, units: Units) -> tuple[float, str]:
    """Return the factor to bytes of a unit's letters, and what to say of it where the letters are in doubt."""
    letters = UNITS[unit.lower()]
    factor = _factor(unit, unit)
    if letters not in _DOUBTFUL:
        return factor, ""
    binary = letters[0].upper() + "iB"
    if units.is_binary:
        return float(parse_bytes(f"1 {binary}")), ""
    if units.default is not None and units.default != factor:
        return units.default, ""
    told = f"{name} is read as {letters} (powers of 1000); if it was divided by 1024, say --unit {name}={binary}"
    return factor, told


@dataclass(frozen=True)
class Quantity:
    """A cell that holds a number.

    Attributes:
        number: as written.
        factor: to bytes, where a unit stands behind the number; ``None``: there is none.
        is_percent: the unit is %.
        limit_bytes: what stands behind a slash, as in ``37MiB / 7GiB``; ``None``: nothing does.
    """

    number: float
    factor: float | None = None
    is_percent: bool = False
    limit_bytes: float | None = None


def read_quantity(text: str) -> Quantity | None:
    """Read a number with or without a unit; ``None`` where the cell holds none.

    >>> read_quantity("37.85MiB / 7.668GiB").limit_bytes, read_quantity("1020Mi").factor
    (8233452306.432, 1048576.0)
    """
    match = _QUANTITY.match(text) if len(text) <= _LONGEST_CELL else None
    if match is None:
        return None
    number = _number(match[1])
    unit = (match[2] or "").lower()
    if number is None or (unit and unit != "%" and _behind(unit) is None):
        return None
    limit, limit_factor = _number(match[3] or ""), _behind((match[4] or "").lower())
    return Quantity(
        number, _behind(unit), unit == "%", limit * limit_factor if limit is not None and limit_factor else None
    )  # fmt: skip


def _behind(unit: str) -> float | None:
    letters = UNITS.get(unit) or _BEHIND_NUMBERS.get(unit)
    return float(parse_bytes(f"1 {letters}")) if letters else None


def _number(text: str) -> float | None:
    if "," in text:
        if not _THOUSANDS.match(text):
            return None
        text = text.replace(",", "")
    try:
        return float(text)
    except ValueError:
        return None
