"""What the name of a memory metric says: whose memory it is, what of it, and whether its growth speaks of a leak.

Recordings of our own know their metrics.  Logs of other tools name them as they like, so a name is cut into words and
the words are looked up in the tables below.  A new name of a known thing needs one word in one table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

# What a metric measures of its owner where that is an amount held now, best witness first.  Growth of anything else is
# no leak by itself: a high-water mark cannot fall, a limit is set, the address space costs nothing.
HELD = ("anonymous", "uss", "private", "pss", "allocated", "active", "rss", "working_set", "used", "reserved", "heap")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words to the measure that they name; the first row that has one of the words decides.
_MEASURES: tuple[tuple[str, frozenset[str]], ...] = (
    ("elsewhere", _words("disk network net io read write written sent recv received rx tx download upload bandwidth")),
    ("change", _words("delta diff growth rate increase change freed frees")),
    ("peak", _words("peak peaked max maximum hwm watermark maxrss highest")),
    ("free", _words("free available avail unused idle")),
    ("uss", frozenset({"uss"})),
    ("pss", frozenset({"pss"})),
    ("anonymous", _words("anonymous anon anonpg")),
    ("part", _words("file shared shr shm shmem")),
    ("rss", _words("rss resident res real")),
    ("private", frozenset({"private"})),
    ("swap", _words("swap swp swpd swapped")),
    ("part", _words(
        "cache cached buffers buff buffer dirty slab shared shr shm shmem inact inactive commit committed mapped "
        "file files kstack stack pgtbl text code lib split pool huge hugepages writeback kernel sock requested"
    )),
    ("heap", _words("heap tracemalloc malloc")),
    ("allocated", _words("allocated alloc allocation live")),
    ("reserved", frozenset({"reserved"})),
    ("active", frozenset({"active"})),
    ("working_set", frozenset({"working"})),
    ("used", _words("used usage use consumption footprint consumed util utilization utilisation")),
    ("limit", _words("limit limits total capacity quota budget size_limit")),
    ("used", _words("memory mem ram vram hbm rssmem framebuffer fb")),
)  # fmt: skip
_ADDRESS = _words("vms vsz virt virtual vmsize vmused")
_PERCENT = _words("percent percentage pct % fraction ratio util utilization utilisation")
_COUNT = _words("n num count counts number blocks segments retries ooms objects total_count calls fds")
_DEVICE = re.compile(r"(gpu|gpus|cuda|xpu|mps|tpu|hpu|npu|vram|hbm|nvidia|dcgm|fb|framebuffer|accelerator|device)\Z")
_OWNERS: tuple[tuple[str, frozenset[str]], ...] = (
    ("container", _words("container cgroup pod docker kubernetes k8s memcg")),
    ("process", _words("process proc rss uss pss resident maxrss python py program heap tracemalloc")),
    ("host", _words("system sys host node machine server")),
)  # fmt: skip
# Words that say that memory is meant at all.
MEMORY_WORDS = _words(
    "mem memory rss uss pss vms vsz alloc allocated reserved heap ram vram hbm resident maxrss footprint "
    "tracemalloc malloc res virt hwm fb framebuffer anonymous"
)
# Words that name nobody: what is left of a name without them says whose memory it is.
_FILLERS = _words(
    "current currently cur now in at of by the a my cpu size info stats stat metric metrics perf performance monitor "
    "monitoring resource resources train training trainer val valid validation test eval log logs step epoch end after "
    "before mean avg average last value values set main self total consumption usage used use memory mem ram bytes "
    "time iteration history sample run cores is per user"
)
_UNIT_WORDS = _words(
    "b byte bytes kb mb gb tb kib mib gib tib ki mi gi kilobytes megabytes gigabytes kibibytes mebibytes gibibytes"
)
# Words that are often written in one: kbmemused, VmRSS, gpumem, rssmb.
_JOINED = sorted(
    {
        *MEMORY_WORDS, *_UNIT_WORDS - {"b"}, "used", "free", "avail", "cached", "buffers", "commit", "dirty", "slab",
        "anonpg", "gpu", "cuda", "usage", "max", "peak", "total", "vm", "swp", "inact", "active", "limit", "shmem",
        "bytes", "ru", "percent", "kstack", "pgtbl", "cad", "size", "data",
    } - {"res"},
    key=len, reverse=True,
)  # fmt: skip
_WHOLE = re.compile(rf"(?:{'|'.join(_JOINED)}){{2,6}}\Z")
_ONE = re.compile("|".join(_JOINED))
_LONGEST_NAME = 300


@dataclass(frozen=True)
class Meaning:
    """What a name says.

    Attributes:
        owner: ``process``, ``container``, ``host``, a device such as ``cuda0``, or empty where it names nobody known.
        measure: one of ``HELD``, or another word, such as ``limit``.
        is_percent: it is a share of a total, not an amount.
    """

    owner: str
    measure: str
    is_percent: bool = False

    @property
    def is_held(self) -> bool:
        """Whether its growth can speak of a leak: an amount in bytes that somebody holds now."""
        return self.measure in HELD and not self.is_percent and bool(self.owner)


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Cut a name into lower-case words.

    >>> words_of("system.gpu.0.memoryAllocatedBytes"), words_of("kbmemused"), words_of("VmRSS (kB)")
    (('system', 'gpu', '0', 'memory', 'allocated', 'bytes'), ('kb', 'mem', 'used'), ('vm', 'rss', 'kb'))
    """
    text = re.sub(r"([kKMGT]i?B)(?![a-z])", lambda unit: f"_{unit[1].lower()}", name[:_LONGEST_NAME])
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text)
    found: list[str] = []
    for word in re.findall(r"[a-z]+|%|\d+", text.lower()):
        found.extend(_ONE.findall(word) if _WHOLE.match(word) else [word])
    return tuple(found)


@lru_cache(maxsize=4096)
def meaning_of(name: str) -> Meaning:
    """Look a name up.

    >>> meaning_of("gpu.1.memory_used [MiB]"), meaning_of("process_memory_mb"), meaning_of("container_memory_bytes")
    ... # doctest: +NORMALIZE_WHITESPACE
    (Meaning(owner='cuda1', measure='used', is_percent=False),
     Meaning(owner='process', measure='used', is_percent=False),
     Meaning(owner='container', measure='used', is_percent=False))
    """
    words = words_of(name)
    named = frozenset(words)
    is_percent = bool(named & _PERCENT)
    device = _device(words)
    measure = _measure(named)
    if device:
        return Meaning(device, measure, is_percent)
    if measure == "active":  # of an allocator blocks in use; of a system pages that were touched of late, files' too
        measure = "part"
    return Meaning(_owner(named, name, is_percent=is_percent), measure, is_percent)


def _measure(named: frozenset[str]) -> str:
    if named & _COUNT and not named & _UNIT_WORDS:
        return "count"
    if named & _ADDRESS and not named & {"used", "percent"}:
        return "address_space"
    return next((measure for measure, words in _MEASURES if named & words), "unknown")


def _owner(named: frozenset[str], name: str, *, is_percent: bool) -> str:
    for owner, words in _OWNERS:
        if named & words:
            return owner
    if {"virtual", "memory"} <= named and named & {"used", "percent"}:  # as psutil names the machine's
        return "host"
    if named & {"real", "private", "working"}:
        return "process"
    if name.lower().startswith("kb") or (is_percent and "ram" in named):  # as sysstat and RLlib name the machine's
        return "host"
    rest = {word for word in named if not word.isdigit()} - _FILLERS - _UNIT_WORDS - _PERCENT
    known = frozenset().union(*(words for _, words in _MEASURES)) | _ADDRESS | {"mem", "memory", "ram"}
    return "process" if named & MEMORY_WORDS and rest <= known else ""


def _device(words: Iterable[str]) -> str:
    """Return the device that a name speaks of, by torch's name for it, or "".

    >>> _device(("gpu", "mem")), _device(("gpu", "3", "mem")), _device(("mps", "mem")), _device(("rss",))
    ('cuda0', 'cuda3', 'mps0', '')
    """
    listed = list(words)
    for at, word in enumerate(listed):
        if _DEVICE.match(word) and (word != "device" or "memory" in listed or "mem" in listed):
            later = next((other for other in listed[at + 1 :] if other.isdigit()), "0")
            kind = word if word in ("xpu", "mps", "tpu", "hpu", "npu") else "cuda"
            return f"{kind}{int(later[:6])}"
    return ""
