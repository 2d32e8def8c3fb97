"""Names of other tools' metrics: what the same figure is called here, and in which unit it is.

Whose memory a name speaks of, and what of it, is looked up in ``metric_roles``; here are only the names that mean more,
or something else, than their words say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from phaseprof.analysis.imports.limits import fail
from phaseprof.analysis.imports.units import Units, factor_of, split_unit
from phaseprof.analysis.metric_roles import MEMORY_WORDS, Meaning, meaning_of, words_of

# What the system's monitor of an experiment tracker writes: percentages under plain names, and the device's own view.
_MONITOR_PERCENT = re.compile(r"(?:^|\.)(?:gpu\.(?:process\.)?\d+\.(?:memory|memoryAllocated)|system\.memory)\Z")
_MONITOR_USED = re.compile(r"(?:^|\.)gpu\.(process\.)?(\d+)\.memoryAllocatedBytes\Z")
# Counts that say what fills memory, though their names do not say memory.
_COUNTED = re.compile(
    r"(?:^|[^a-z])(n_objects|objects|blocks|fds|descriptors|threads|num_ooms|alloc_retries|segments)\Z"
)
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
# Names of ours below a device stay as they are.
_OURS_ON_DEVICE = re.compile(
    r"(?:peak_allocated|small_pool_active|large_pool_active|inactive_split|small_pool\.active|large_pool\.active)\Z"
)
_DEVICE_BEFORE = re.compile(r"(?i)(?:cuda|xpu|mps|gpu)[:._/]?\d*[./_](?=[a-z])")
# Counters of the system that vote under these names.
_COUNTERS = {
    "process_open_fds": "descriptors", "open_fds": "descriptors", "num_fds": "descriptors", "n_fds": "descriptors",
    "process_threads": "threads", "num_threads": "threads", "n_threads": "threads",
}  # fmt: skip
# Names of ours that mean objects in Python.
_RESERVED = re.compile(r"^(container|count|storages|untracked)/")
# Measures that have a name here: of a process, and of a device.  Any other keeps its own name.
_OF_PROCESS = {
    "rss": "rss_bytes", "uss": "uss_bytes", "pss": "pss_bytes", "anonymous": "anonymous_bytes",
    "address_space": "vms_bytes",
}  # fmt: skip
_OF_DEVICE = {
    "allocated": "allocated_bytes", "reserved": "reserved_bytes", "active": "active_bytes", "used": "used_bytes",
    "free": "free_bytes", "limit": "total_bytes",
}  # fmt: skip


@dataclass(frozen=True)
class Named:
    """What a foreign metric becomes: its name here, the factor to bytes (1 for counts), and what to tell about it."""

    metric: str
    factor: float = 1.0
    note: str = ""


def is_about_memory(name: str) -> bool:
    """Tell whether a column of a log that holds anything at all is a figure of memory or of what fills it."""
    return bool(
        MEMORY_WORDS.intersection(words_of(name))
        or split_unit(name)[1]
        or _ALLOCATOR.match(name.lower())
        or _MONITOR_USED.search(name)
        or _COUNTED.search(name.lower())
    )


def name_metric(name: str, units: Units, file: Path, *, has_unit: bool = False) -> Named | None:
    """Say what a foreign metric is here; ``None`` for a running total, which says nothing about what is held.

    Args:
        name: as the file writes it.
        units: what is known of units beyond the name.
        file: for messages.
        has_unit: its values carry their unit, so that the name need not say it; the factor is 1.

    Raises:
        ImportFailure: it is a size and its unit is not known.
    """
    allocator = _ALLOCATOR.match(name)
    if allocator and (allocator["pool"] or allocator["name"].startswith("num_")):
        ours = _ALLOCATOR_NAMES.get((allocator["name"], allocator["pool"], allocator["what"]))
        return Named(f"{_device_before(allocator['before'])}/{ours}") if ours else None
    monitored = _MONITOR_USED.search(name)
    if monitored:  # what the driver counts, context and caches included: not the allocator's figure
        return Named(f"cuda{monitored[2]}/{'process_' if monitored[1] else ''}used_bytes")
    return _name_size(name, units, file, has_unit=has_unit)


def _name_size(name: str, units: Units, file: Path, *, has_unit: bool) -> Named:
    meaning = meaning_of(name)
    stem, unit = split_unit(_RESERVED.sub(r"\1_", name))
    given = units.by_name.get(name)
    if name in units.totals:
        return Named(used_metric(meaning), units.totals[name] / 100)
    if has_unit:
        return Named(_rename(stem, meaning))
    if given is None and not unit and (meaning.is_percent or _MONITOR_PERCENT.search(name)):
        return Named(name if name.endswith("_percent") else f"{name}_percent")
    if given == 0 or (given is None and not unit and _is_count(name, meaning)):
        return Named(_COUNTERS.get(name.lower()) or _place(name))
    factor, note = _bytes_factor(name, unit, units, file) if given is None else (given, "")
    return Named(_rename(stem, meaning), factor, note)


def used_metric(meaning: Meaning) -> str:
    """Name the amount that an owner uses, where only its share of a total is known."""
    if meaning.owner in ("", "process", "container", "host"):
        return f"{meaning.owner or 'process'}_used_bytes"
    return f"{meaning.owner}/used_bytes"


def _is_count(name: str, meaning: Meaning) -> bool:
    return meaning.measure == "count" or not MEMORY_WORDS.intersection(words_of(name))


def _bytes_factor(name: str, unit: str, units: Units, file: Path) -> tuple[float, str]:
    if unit:
        return factor_of(unit, name, units)
    factor = units.implied if units.implied is not None else units.default
    if factor is None:
        rule = f"the unit of {name[:100]!r} is not known: neither its name nor the file says it"
        raise fail(file, rule, f"give it with --unit {name[:100]}=MiB (or bytes, GB, ...; count if it counts things)")
    return factor, ""


def _rename(stem: str, meaning: Meaning) -> str:
    """Name a size as it is named here where it means the same; otherwise keep its name and end it in ``_bytes``."""
    before = _DEVICE_BEFORE.search(stem)
    rest = stem[before.end() :] if before else ""
    if rest and _OURS_ON_DEVICE.match(rest.lower()):
        return f"{_device_before(before[0] if before else '')}/{_snake(rest)}_bytes"
    if meaning.owner not in ("", "process", "container", "host"):
        return _on_device(stem, meaning)
    plain = _OF_PROCESS.get(meaning.measure) if meaning.owner in ("", "process") else None
    if meaning.owner == "process" and words_of(stem)[-1:] in (("ram",), ("memory",)) and len(words_of(stem)) == 1:
        plain = "rss_bytes"
    return plain or (stem if stem.endswith("_bytes") else f"{stem}_bytes")


def _on_device(stem: str, meaning: Meaning) -> str:
    named = set(words_of(stem))
    if meaning.measure == "peak" and named & {"allocated", "alloc"}:
        return f"{meaning.owner}/peak_allocated_bytes"
    ours = _OF_DEVICE.get(meaning.measure)
    return f"{meaning.owner}/{ours}" if ours else _place(f"{stem}_bytes")


def _place(name: str) -> str:
    """Put a name that begins with a device in the form ``cuda0/active_blocks``."""
    before = _DEVICE_BEFORE.match(name)
    return f"{_device_before(before[0])}/{_snake(name[before.end() :])}" if before else name


def _snake(text: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower().replace(".", "_").replace("/", "_")


def _device_before(text: str) -> str:
    """Return the device that a prefix such as ``cuda:1.``, ``gpu.0.`` or ``device 2/`` names; ``cuda0`` if none."""
    kind = re.search(r"xpu|mps", text.lower())
    digits = re.findall(r"\d+", text)
    return f"{kind[0] if kind else 'cuda'}{digits[-1] if digits else '0'}"
