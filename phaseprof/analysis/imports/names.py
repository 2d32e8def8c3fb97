"""Names of other tools' metrics: what unit they are in, and what the same figure is called here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from phaseprof.analysis.imports.limits import fail
from phaseprof.errors import UsageError
from phaseprof.units import parse_bytes

_UNITS = {
    "bytes": "B", "byte": "B", "b": "B",
    "kb": "kB", "mb": "MB", "gb": "GB", "tb": "TB",
    "kib": "KiB", "mib": "MiB", "gib": "GiB", "tib": "TiB",
    "kilobytes": "kB", "megabytes": "MB", "gigabytes": "GB",
    "kibibytes": "KiB", "mebibytes": "MiB", "gibibytes": "GiB",
}  # fmt: skip
# Decimal by their letters, but most programs that write them divide by 1024: the factor is told beside the figures.
_DOUBTFUL = {"kB", "MB", "GB", "TB"}
_SIZE_WORDS = re.compile(r"(?:^|[^a-z])(mem|memory|rss|uss|pss|vms|alloc|allocated|reserved|heap|ram|vram)(?:[^a-z]|$)")
_COUNT_WORDS = re.compile(
    r"(?:^|[^a-z])(n|num|count|counts|blocks|segments|retries|ooms|objects|percent|pct|fraction|ratio)(?:[^a-z]|$)|%"
)
# What the system's monitor of an experiment tracker writes: percentages under plain names, and the device's own view.
_MONITOR_PERCENT = re.compile(r"(?:^|\.)(?:gpu\.(?:process\.)?\d+\.(?:memory|memoryAllocated)|system\.memory)\Z")
_MONITOR_USED = re.compile(r"(?:^|\.)gpu\.(process\.)?(\d+)\.memoryAllocatedBytes\Z")
# Counts that say what fills memory, though their names do not say memory.
_COUNTED = re.compile(r"(?:^|[^a-z])(n_objects|objects|blocks|fds|descriptors|threads|num_ooms|alloc_retries)\Z")
_ACCELERATOR = re.compile(r"(cuda|xpu|mps|gpu)[:._/]?(\d+)?[./_](?=[a-z])")
_ALLOCATOR = re.compile(
    r"(?P<before>.*?)(?P<name>allocated_bytes|reserved_bytes|active_bytes|inactive_split_bytes|active|segment"
    r"|num_alloc_retries|num_ooms)(?:\.(?P<pool>all|small_pool|large_pool)\.(?P<what>\w+))?\Z"
)
# (counter, pool, state) of torch.cuda.memory_stats to the name used here; every other one is a running total
# (allocated, freed), which grows for ever in a healthy program, or a figure that nothing here asks for.
_ALLOCATOR_NAMES = {
    ("allocated_bytes", "all", "current"): "allocated_bytes",
    ("allocated_bytes", "all", "peak"): "peak_allocated_bytes",
    ("reserved_bytes", "all", "current"): "reserved_bytes",
    ("active_bytes", "all", "current"): "active_bytes",
    ("active_bytes", "small_pool", "current"): "small_pool_active_bytes",
    ("active_bytes", "large_pool", "current"): "large_pool_active_bytes",
    ("active", "all", "current"): "active_blocks",
    ("segment", "all", "current"): "segments",
    ("inactive_split_bytes", "all", "current"): "inactive_split_bytes",
    ("num_alloc_retries", None, None): "alloc_retries",
    ("num_ooms", None, None): "ooms",
}
_SAME = {
    "rss": "rss_bytes", "process_rss": "rss_bytes", "resident": "rss_bytes", "memory_rss": "rss_bytes",
    "cpu_memory": "rss_bytes", "ram": "rss_bytes", "vms": "vms_bytes", "uss": "uss_bytes", "pss": "pss_bytes",
    "process_resident_memory": "rss_bytes", "process_virtual_memory": "vms_bytes",
    "anonymous": "anonymous_bytes",
}  # fmt: skip
_SAME_ON_DEVICE = {
    "allocated": "allocated_bytes", "memory_allocated": "allocated_bytes", "mem_allocated": "allocated_bytes",
    "alloc": "allocated_bytes", "memory_alloc": "allocated_bytes",
    "reserved": "reserved_bytes", "memory_reserved": "reserved_bytes", "mem_reserved": "reserved_bytes",
    "active": "active_bytes", "memory_active": "active_bytes",
    "max_memory_allocated": "peak_allocated_bytes", "max_allocated": "peak_allocated_bytes",
    "peak_allocated": "peak_allocated_bytes", "small_pool_active": "small_pool_active_bytes",
    "large_pool_active": "large_pool_active_bytes", "inactive_split": "inactive_split_bytes",
}  # fmt: skip


@dataclass(frozen=True)
class Named:
    """What a foreign metric becomes: its name here, the factor to bytes (1 for counts), and what to tell about it."""

    metric: str
    factor: float = 1.0
    note: str = ""


@dataclass
class Units:
    """Units that the user gave: for all metrics in doubt, and for single ones by name.

    Attributes:
        default: factor to bytes of a size whose name has no unit; ``None``: such a name is an error.
        by_name: foreign metric name to factor; 0 means that it counts things.
    """

    default: float | None = None
    by_name: dict[str, float] = field(default_factory=dict)


def parse_units(texts: list[str]) -> Units:
    """Read ``--unit`` texts: ``MiB`` for every size without a unit, ``NAME=GB`` for one, ``NAME=count`` for a count.

    Raises:
        UsageError: not a unit.
    """
    units = Units()
    for text in texts:
        name, equals, unit = text.rpartition("=")
        factor = 0.0 if unit.lower() in ("count", "counts") else _factor(unit, text)
        if equals:
            units.by_name[name] = factor
        elif factor:
            units.default = factor
        else:
            raise UsageError(f"--unit count needs a name (got {text!r}); write --unit NAME=count")
    return units


def _factor(unit: str, text: str) -> float:
    letters = _UNITS.get(unit.lower())
    if letters is None:
        raise UsageError(
            f"--unit must be bytes, kB, MB, GB, KiB, MiB or GiB, or NAME=UNIT or NAME=count (got {text!r}); "
            "write for example --unit gpu_mem=MiB"
        )
    return float(parse_bytes(f"1 {letters}"))


def is_about_memory(name: str) -> bool:
    """Tell whether a column of a log that holds anything at all is a figure of memory or of what fills it."""
    lowered = name.lower()
    return bool(
        _SIZE_WORDS.search(lowered)
        or _split_unit(lowered)[1]
        or _ALLOCATOR.match(lowered)
        or _MONITOR_USED.search(name)
        or _COUNTED.search(lowered)
    )


def name_metric(name: str, units: Units, file: Path) -> Named | None:
    """Say what a foreign metric is here; ``None`` for a running total, which says nothing about what is held.

    Raises:
        ImportFailure: it is a size and its unit is not known.
    """
    allocator = _ALLOCATOR.match(name)
    if allocator and (allocator["pool"] or allocator["name"].startswith("num_")):
        key = (allocator["name"], allocator["pool"], allocator["what"])
        ours = _ALLOCATOR_NAMES.get(key)
        return Named(f"{_device_of(allocator['before'])}/{ours}") if ours else None
    monitored = _MONITOR_USED.search(name)
    if monitored:  # what the driver counts, context and caches included: not the allocator's figure
        return Named(f"cuda{monitored[2]}/{'process_' if monitored[1] else ''}used_bytes")
    if _MONITOR_PERCENT.search(name):
        return Named(f"{name}_percent")
    given = units.by_name.get(name)
    stem, unit = _split_unit(name)
    if given == 0 or (given is None and not unit and _is_count(name)):
        return Named(_place(name))
    factor, note = _bytes_factor(name, unit, units, file) if given is None else (given, "")
    return Named(_rename(stem), factor, note)


def _bytes_factor(name: str, unit: str, units: Units, file: Path) -> tuple[float, str]:
    if not unit:
        if units.default is None:
            rule = f"the unit of {name!r} is not known: neither its name nor the file says it"
            raise fail(file, rule, f"say it with --unit {name}=MiB (or bytes, GB, ...; count if it counts things)")
        return units.default, ""
    factor = _factor(unit, unit)
    letters = _UNITS[unit.lower()]
    if letters not in _DOUBTFUL:
        return factor, ""
    if units.default is not None and units.default != factor:
        return units.default, ""
    binary = letters[0].upper() + "iB"
    told = f"{name} is read as {letters} (powers of 1000); if it was divided by 1024, say --unit {name}={binary}"
    return factor, told


def _is_count(name: str) -> bool:
    lowered = name.lower()
    return bool(_COUNT_WORDS.search(lowered)) or not _SIZE_WORDS.search(lowered)


def _split_unit(name: str) -> tuple[str, str]:
    """Part ``gpu_allocated_gb`` into stem and unit; also ``memory (MB)``, ``memory [GiB]`` and ``usedBytes``."""
    match = re.match(r"(.*?)\s*[(\[]\s*([A-Za-z]+)\s*[)\]]\Z", name) or re.match(r"(.*)[_./ -]([A-Za-z]+)\Z", name)
    if match and match[2].lower() in _UNITS and (len(match[2]) > 1):
        return match[1], match[2]
    camel = re.match(r"(.*[a-z])(Bytes|[kMGT]i?B)\Z", name)
    return (camel[1], camel[2]) if camel else (name, "")


def _rename(stem: str) -> str:
    """Name a size as it is named here where it means the same; otherwise keep its name and end it in ``_bytes``."""
    last = re.split(r"[./]", stem)[-1].lower()
    accelerator = _ACCELERATOR.search(stem.lower())
    if accelerator:
        on_device = stem.lower()[accelerator.end() :].replace(".", "_").replace("/", "_")
        ours = _SAME_ON_DEVICE.get(on_device) or _SAME_ON_DEVICE.get(_snake(stem[accelerator.end() :]))
        if ours:
            return f"{_device_of(accelerator[0])}/{ours}"
        return f"{_place(stem)}_bytes"
    return _SAME.get(last) or f"{stem}_bytes"


def _place(name: str) -> str:
    """Put a name that begins with a device in the form ``cuda0/active_blocks``."""
    accelerator = _ACCELERATOR.match(name)
    if not accelerator:
        return name
    return f"{_device_of(accelerator[0])}/{name[accelerator.end() :].replace('.', '_')}"


def _snake(text: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower()


def _device_of(text: str) -> str:
    """Return the device that a prefix such as ``cuda:1.``, ``gpu.0.`` or ``device 2/`` names; ``cuda0`` if none."""
    found = _ACCELERATOR.search(text.lower() + "x")
    kind, number = (found[1], found[2]) if found else ("cuda", None)
    if number is None:
        digits = re.findall(r"\d+", text)
        number = digits[-1] if digits else "0"
    return f"{'cuda' if kind == 'gpu' else kind}{number}"


def tell_running_totals(names: Mapping[str, Named | None]) -> str:
    """Say which metrics were left out because they only ever count up; empty if none was."""
    left = [name for name, named in names.items() if named is None]
    if not left:
        return ""
    shown = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
    return f"left out, since they are running totals or not asked for: {shown}"
