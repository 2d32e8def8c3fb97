"""Files of other memory profilers: mprof's ``.dat`` text, and memray's capture where memray is installed."""

from __future__ import annotations

import importlib
import math
from pathlib import Path

from phaseprof.analysis.imports.limits import fail, iter_lines
from phaseprof.analysis.imports.readings import Readings
from phaseprof.units import MIB

_MPROF_FIELDS = {"MEM": 3, "CHLD": 4, "FUNC": 6}
# memray's own record of time, resident and heap memory is kept about every 10 ms.
_MEMRAY_POINT = "sample"


def is_mprof(start: bytes) -> bool:
    """Tell whether a file begins as mprof writes it."""
    return start.startswith((b"CMDLINE ", b"MEM ", b"FUNC ", b"CHLD "))


def read_mprof(file: Path) -> list[Readings]:
    """Read mprof's samples (MiB): one generation a sample, children as processes of their own, functions as points.

    Raises:
        ImportFailure: a line with the wrong number of fields, or a field that is not a number.
    """
    main = Readings(file)
    children: dict[str, Readings] = {}
    samples = 0
    for line, text in iter_lines(file):
        kind, _, rest = text.partition(" ")
        wanted = _MPROF_FIELDS.get(kind)
        if wanted is None:  # CMDLINE, and what later releases may add
            continue
        fields = text.split()
        if len(fields) != wanted:
            raise fail(file, f"{kind} must have {wanted - 1} fields (got {len(rest.split())})", "remove it", line=line)
        if kind == "MEM":
            mib, time_s = _numbers(fields[1:], file, line=line)
            main.add(samples, "sample", "rss_bytes", mib * MIB, time_s=time_s)
            samples += 1
        elif kind == "CHLD":
            mib, time_s = _numbers(fields[2:], file, line=line)
            child = children.setdefault(fields[1], Readings(file, f"child {fields[1]}"))
            child.add(max(samples - 1, 0), "sample", "rss_bytes", mib * MIB, time_s=time_s)
        else:
            before, began_s, after, ended_s = _numbers(fields[2:], file, line=line)
            at = max(samples - 1, 0)
            main.add(at, f"{fields[1]}: start", "rss_bytes", before * MIB, time_s=began_s)
            main.add(at, f"after {fields[1]}", "rss_bytes", after * MIB, time_s=ended_s)
    if not len(main):
        raise fail(file, "it has no MEM line", "give the .dat file of an mprof run")
    return [main, *children.values()]


def _numbers(fields: list[str], file: Path, *, line: int) -> list[float]:
    try:
        numbers = [float(text) for text in fields]
    except ValueError as error:
        raise fail(file, f"fields must be numbers (got {' '.join(fields)!r})", "remove it", line=line) from error
    if not all(map(math.isfinite, numbers)):
        raise fail(file, f"fields must be finite (got {' '.join(fields)!r})", "remove it", line=line)
    return numbers


def is_memray(start: bytes) -> bool:
    """Tell whether a file is memray's own capture."""
    packed = start.startswith(b"\x04\x22\x4d\x18")  # an LZ4 frame, which the file is unless compression was off
    return b"memray" in start[: 32 if packed else 6]


def read_memray(file: Path) -> list[Readings]:
    """Read the resident and heap memory over time that memray samples, through memray's own reader.

    Raises:
        ImportFailure: memray is not installed, or it refuses the file.
    """
    try:
        reader = importlib.import_module("memray").FileReader
    except ImportError as error:
        rule = "a memray capture can only be read by memray, which is not installed"
        raise fail(file, rule, "pip install memray, or log rss_bytes by step as CSV") from error
    readings = Readings(file)
    try:
        with reader(str(file)) as capture:
            for at, sample in enumerate(capture.get_memory_snapshots()):
                time_s = sample.time / 1000
                readings.add(at, _MEMRAY_POINT, "rss_bytes", sample.rss, time_s=time_s)
                readings.add(at, _MEMRAY_POINT, "heap_bytes", sample.heap, time_s=time_s)
    except (OSError, ValueError, RuntimeError) as error:
        raise fail(file, f"memray cannot read it ({error})", "record it again with this release of memray") from error
    if not len(readings):
        raise fail(file, "it holds no memory samples", "record for longer than one sampling interval")
    return [readings]
