"""Metrics in plain words, and readings in their units."""

from __future__ import annotations

from collections.abc import Sequence

from phaseprof.report.access import short_name
from phaseprof.report.text import count_text
from phaseprof.units import format_bytes, rate_text

_WORDS = {
    "anonymous_bytes": "Private memory (anonymous)",
    "rss_bytes": "Resident memory (RSS)",
    "file_and_shm_bytes": "Mapped files and shared memory",
    "vms_bytes": "Address space (VMS)",
    "available_bytes": "Memory left until the limit",
    "limit_bytes": "The memory limit",
    "arrays_bytes": "numpy arrays",
    "arrays_count": "numpy arrays (count)",
    "python_blocks": "Python heap blocks",
    "malloc_in_use_bytes": "Memory in use (malloc)",
    "malloc_free_bytes": "Free memory inside the heap (malloc)",
    "malloc_arenas_bytes": "Memory taken from the system (malloc)",
    "malloc_given_back_bytes": "Memory given back by a trim (malloc)",
    "waiting_bytes": "Memory waiting for the collector",
    "after_full_collection": "Follows a full collection",
    "gc/gc_collected": "Objects collected",
    "gc/gc_uncollectable": "Objects that cannot be collected",
    "gc/gc_frozen": "Objects frozen (gc.freeze)",
    "gc/gc_collections_0": "Collections of generation 0",
    "gc/gc_collections_1": "Collections of generation 1",
    "gc/gc_collections_2": "Full collections",
    "waited_s": "Time spent waiting for a processor",
    "mapped_regions": "Mapped regions",
    "limit_used_bytes": "Memory counted against the limit",
    "limit_available_bytes": "Memory left until the limit of the container",
    "host_available_bytes": "Free memory on the host",
    "items_per_s": "Items per second",
    "generation_seconds": "Time per generation",
    "graph_nodes": "autograd nodes kept",
    "graph_bytes": "bytes saved in autograd graphs",
    "graph_tensors": "tensors with a graph",
    "n_objects": "Python objects",
    "descriptors": "Open file descriptors",
    "threads": "Threads",
    "python_threads": "Python threads",
    "children": "Child processes",
    "zombie_children": "Zombie child processes (ended, not waited for)",
    "children_private_bytes": "Private memory of child processes",
    "children_faulted_bytes": "Pages touched by worker processes",
    "children_grown_bytes": "Growth of child processes",
    "shm_bytes": "Shared memory",
    "shm_resident_bytes": "Shared memory, resident",
    "shm_segments": "Shared memory segments",
    "shm_user_bytes": "Shared memory of this user",
    "shm_user_segments": "Shared memory segments of this user",
    "pinned_bytes": "Pinned host memory",
    "tracked_total_bytes": "All tracked names together",
    "active_bytes": "Active memory",
    "small_pool_bytes": "Small pool, active",
    "large_pool_bytes": "Large pool, active",
    "active_blocks": "Active blocks",
    "reserved_bytes": "Reserved memory",
    "inactive_split_bytes": "Inactive split",
    "segments": "Segments",
}
_COUNTERS = {
    "allocated_bytes": "allocated",
    "reserved_bytes": "reserved",
    "active_bytes": "active",
    "small_pool_active_bytes": "small pool, active",
    "large_pool_active_bytes": "large pool, active",
    "active_blocks": "active blocks",
    "inactive_split_bytes": "inactive split",
    "peak_allocated_bytes": "peak allocated",
    "alloc_retries": "allocation retries",
    "ooms": "out-of-memory errors",
    "limit_bytes": "memory in all",
    "free_bytes": "memory free to every process",
    "available_bytes": "memory left for this process",
}
_FAMILIES = {
    "peak": "Peak while {} ran (sampled)", "watched": "{} objects", "count": "{} objects", "tracked": "{} (tracked)",
    "container": "items in {}",
}  # fmt: skip
TENSORS_FOR = {
    "parameters": "Parameters", "gradients": "Gradients", "optimizer_state": "Optimizer state",
    "with_graph": "Activations kept for backward", "inputs": "Inputs kept for backward", "other": "Other tensors",
}  # fmt: skip
_SIZED = {"storages": "torch storages on {}", "untracked": "{} objects"}  # read as bytes and as a count


def metric_words(metric: str) -> str:
    """Name a metric for people; one that is not known keeps its own name.

    >>> metric_words("rss_bytes"), metric_words("cuda0/active_blocks"), metric_words("count/pkg.Env")
    ('Resident memory (RSS)', 'cuda0: active blocks', 'Env objects')
    """
    if metric in _WORDS:
        return _WORDS[metric]
    family, _, rest = metric.partition("/")
    if family in _SIZED and rest:
        name, _, unit = rest.rpartition("_")
        return _SIZED[family].format(name) + (" (count)" if unit == "count" else "")
    if family == "tensors" and rest:
        where, _, category = rest.removesuffix("_bytes").rpartition("/")
        return f"{TENSORS_FOR.get(category, category)} on {where}"
    if family in _FAMILIES and rest:
        name = rest.partition("@")[0]
        name = name.removesuffix("_bytes") if family == "peak" else name
        return _FAMILIES[family].format(short_name(name) if family in ("watched", "count") else name)
    device, _, counter = metric.rpartition("/")
    return f"{device}: {_COUNTERS[counter]}" if device and counter in _COUNTERS else metric


def is_bytes(metric: str) -> bool:
    """Tell whether a metric's readings are bytes."""
    return metric.endswith("_bytes") or metric.startswith("tracked/")


def reading(metric: str, value: float) -> str:
    """Write a reading in the unit that its metric's name says.

    >>> reading("rss_bytes", 2048.0), reading("items_per_s", 223921.4), reading("watched/Env", 3.0)
    ('2.00 KiB', '223,900', '3')
    """
    if metric == "items_per_s":
        return rate_text(value)
    if metric == "generation_seconds":
        return f"{value:.3g} s"
    return format_bytes(value) if is_bytes(metric) else count_text(value)


def plural(n: int, noun: str) -> str:
    """Write a count and its noun.

    >>> plural(1, "leak"), plural(1200, "leak")
    ('1 leak', '1,200 leaks')
    """
    return f"{n:,} {noun}{'' if n == 1 else 'es' if noun.endswith('s') else 's'}"


def listed(words: Sequence[str]) -> str:
    """Write words one after the other as a sentence does.

    >>> listed(["train"]), listed(["train", "evaluate", "evolve"])
    ('train', 'train, evaluate and evolve')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def drawn_words(drawn: int, there_are: int, noun: str) -> str:
    """Say that a chart draws fewer things than there are; nothing where it draws them all.

    >>> drawn_words(12, 1030, "tracked name"), drawn_words(3, 3, "process")
    ('12 of 1,030 tracked names drawn', '')
    """
    return f"{drawn:,} of {plural(there_are, noun)} drawn" if drawn < there_are else ""


def clauses(*words: str) -> str:
    """Put clauses one after the other; empty ones are left out.

    >>> clauses("memory of each process", "", "8 of 9 processes drawn")
    'memory of each process; 8 of 9 processes drawn'
    """
    return "; ".join(filter(None, words))


def capital(words: str) -> str:
    """Begin with a capital letter, as titles do.

    >>> capital("small pool")
    'Small pool'
    """
    return words[:1].upper() + words[1:]
