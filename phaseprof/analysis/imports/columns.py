"""What the columns of a table are for: its axes, what splits it into processes and devices, and what it measures.

A known tool is a row of ``DIALECTS``: its columns and what they do not say.  Everything else is read off the names, so
that a table of an unknown tool is read as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from phaseprof.analysis.imports.names import is_about_memory
from phaseprof.analysis.metric_roles import meaning_of

# Names of columns as ``normal`` writes them, the better first.
STEPS = (
    "step", "global_step", "training_iteration", "iteration", "iterations", "iter", "generation", "gen",
    "rollout", "round", "update", "n_updates", "num_updates", "total_timesteps", "timesteps_total", "timesteps",
    "num_timesteps", "env_steps", "total_steps", "steps", "n_step", "epoch", "epochs", "episode", "episodes",
    "trial", "batch", "it", "turn", "tick", "sample", "frame", "seq",
)  # fmt: skip
TIMES = (
    "timestamp", "time_s", "wall_time", "walltime", "unix_time", "epoch_s", "time", "time_stamp", "datetime",
    "date_time", "elapsed_time", "elapsed", "elapsed_s", "time_elapsed", "time_total_s", "seconds", "runtime",
    "relative_time_process", "relative_time", "ts", "t", "date", "time_ms", "timestamp_ms", "sample_ts_s",
    "timestamp_ns",
)  # fmt: skip
_POINTS = ("point", "phase", "stage", "event", "label", "tag")
LABELS_OF_PROCESSES = (
    "host", "hostname", "node", "instance", "namespace", "pod", "pod_name", "container", "container_name",
    "container_id", "name", "service", "run", "run_id", "run_name", "run_uuid", "trial_id", "rank",
    "global_rank", "local_rank", "worker", "worker_id", "actor", "process", "process_name", "pid",
)  # fmt: skip
# What names a process only where nothing better does.
_PROCESSES_AT_NEED = ("command", "cmd", "comm", "user")
_DEVICES = (
    "gpu_index", "gpu_device_index", "gpu_idx", "gpu_id", "gpuid", "index", "gpu", "device_index", "device_id",
    "deviceid", "device", "minor_number", "uuid", "gpu_uuid", "pci_bus_id", "gpu_bus_id", "gpu_name",
)  # fmt: skip
# A table with a figure a row: what names it, what holds it, and in which unit it is.
_KEYS = ("metric", "metric_name", "key", "tag", "variable", "counter", "measurement", "series", "field", "name")
_VALUES = ("value", "val", "metric_value")
_UNIT_COLUMNS = ("unit", "units")
_TEXT_AT_THE_END = {"command", "cmd", "comm", "args", "process_name"}
_KIB, _MIB = 1024.0, 1024.0**2


@dataclass(frozen=True)
class Dialect:
    """A table of a known tool.

    Attributes:
        name: the tool, for messages.
        needs: columns of which all are there.
        one_of: columns of which one is there at least; empty: none is asked for.
        prefix: what the names of its figures leave out.
        implied: factor to bytes of figures without a unit; ``None``: it implies none.
        is_binary: it writes kB and MB and means powers of 1024.
        ignored: columns that look like an axis or a label and are none.
    """

    name: str
    needs: frozenset[str] = frozenset()
    one_of: frozenset[str] = frozenset()
    prefix: str = ""
    implied: float | None = None
    is_binary: bool = False
    ignored: frozenset[str] = frozenset()

    def fits(self, names: frozenset[str]) -> bool:
        """Whether a table with these columns is one of the tool."""
        return self.needs <= names and (not self.one_of or bool(self.one_of & names))


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


DIALECTS = (
    Dialect("psrecord", _set("elapsed_time real_mb"), is_binary=True),
    Dialect("pidstat", _set("pid minflt_s rss"), implied=_KIB, is_binary=True, ignored=_set("uid")),
    Dialect("top", _set("pid res virt"), implied=_KIB, is_binary=True, ignored=_set("time user pr s")),
    Dialect(
        "ps", _set("pid"), _set("rss rsz vsz pmem mem"), implied=_KIB, is_binary=True,
        ignored=_set("time start started stat user tty ppid"),
    ),
    Dialect(
        "sar", one_of=_set("kbmemused kbmemfree kbswpused"), prefix="system_", is_binary=True,
        ignored=_set("interval"),
    ),
    Dialect("nvidia-smi dmon", _set("gpu fb"), prefix="gpu/", implied=_MIB, ignored=_set("time mem bar1")),
    Dialect(
        "nvidia-smi", one_of=_set("memory_used_mib memory_used utilization_gpu utilization_gpu_% used_gpu_memory_mib"),
        prefix="gpu/", is_binary=True, implied=_MIB, ignored=_set("name"),
    ),
    Dialect("docker stats", one_of=_set("mem_usage_limit mem_usage memusage"), prefix="container_", is_binary=True),
    Dialect("kubectl top node", _set("memory_bytes memory%"), prefix="system_"),
    Dialect("kubectl top", _set("memory_bytes"), _set("cpu_cores pod name"), prefix="container_"),
    Dialect("free", _set("total used free available"), prefix="system_memory_"),
    Dialect("vmstat", _set("swpd free buff cache"), prefix="system_memory_", implied=_KIB),
)  # fmt: skip
_UNKNOWN = Dialect("")


@dataclass
class Plan:
    """Which column is what; -1 where the table has no such column."""

    dialect: Dialect
    names: tuple[str, ...]
    step: int = -1
    time: int = -1
    date: int = -1
    point: int = -1
    device: int = -1
    key: int = -1
    value: int = -1
    unit: int = -1
    processes: list[int] = field(default_factory=list)
    metrics: list[tuple[int, str, str]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def normal(name: str) -> str:
    """Write a column's name in small letters, words joined by underscores; of a path, the whole.

    >>> normal("MEM USAGE / LIMIT"), normal("Time_stamp"), normal("# Time"), normal("memory.used [MiB]")
    ('mem_usage_limit', 'time_stamp', 'time', 'memory_used_mib')
    """
    return re.sub(r"[^a-z0-9%]+", "_", name.lower()).strip("_")


def dialect_of(names: Sequence[str]) -> Dialect:
    """Find the tool whose table has these columns."""
    normals = frozenset(map(normal, names)) | frozenset(normal(name).replace("%", "").strip("_") for name in names)
    return next((dialect for dialect in DIALECTS if dialect.fits(normals)), _UNKNOWN)


def plan_columns(names: Sequence[str]) -> Plan:
    """Say what each column is for.

    Columns of a tracker's chart are named ``run - metric``, so each run becomes a process.
    """
    dialect = dialect_of(names)
    normals = ["" if normal(name) in dialect.ignored else normal(name) for name in names]
    plan = Plan(dialect, tuple(names), step=_first(normals, STEPS, by_end=True))
    plan.time, plan.date = _time_columns(normals, plan.step)
    plan.value = _first(normals, _VALUES)
    if plan.value >= 0:
        plan.key, plan.unit = _first(normals, _KEYS), _first(normals, _UNIT_COLUMNS)
    plan.point = _first([name if at != plan.key else "" for at, name in enumerate(normals)], _POINTS)
    is_of_devices = dialect.prefix == "gpu/" or any(_is_of_device(name) for name in names)
    plan.device = _first(normals, _DEVICES) if is_of_devices else -1
    axes = {plan.step, plan.time, plan.date, plan.point, plan.device, plan.key, plan.value, plan.unit}
    plan.processes = [at for at, name in enumerate(normals) if name in LABELS_OF_PROCESSES and at not in axes]
    if not plan.processes:
        plan.processes = [at for at, name in enumerate(normals) if name in _PROCESSES_AT_NEED and at not in axes]
    _plan_metrics(plan, axes | set(plan.processes))
    return plan


def measures_by_row(plan: Plan) -> bool:
    """Whether each row holds one figure, named by a column, or by the file where there are axes and a value only."""
    return plan.value >= 0 and (plan.key >= 0 or (plan.step >= 0 and plan.time >= 0 and len(plan.names) <= 4))


def _is_of_device(name: str) -> bool:
    return meaning_of(name).owner not in ("", "process", "container", "host")


def _first(normals: Sequence[str], wanted: Sequence[str], *, by_end: bool = False) -> int:
    """Find the column with the best name; by its last part too, as in ``train/global_step`` or ``time/iterations``."""
    for name in wanted:
        if name in normals:
            return normals.index(name)
    for name in wanted if by_end else ():
        for at, found in enumerate(normals):
            if found.endswith(f"_{name}") and found.split("_")[0] in ("train", "trainer", "time", "rollout", "perf"):
                return at
    return -1


def _time_columns(normals: Sequence[str], step: int) -> tuple[int, int]:
    """Return the column of the time, and that of the date where the day stands apart."""
    free = [name if at != step else "" for at, name in enumerate(normals)]
    clock = next((at for at, name in enumerate(free) if re.match(r"\d\d_\d\d_\d\d(?:_[ap]m)?\Z", name)), -1)
    time = clock if clock >= 0 else _first(free, TIMES, by_end=True)
    date = free.index("date") if "date" in free and free.index("date") != time else -1
    return time, date if time >= 0 and normals[time] == "time" else -1


def _plan_metrics(plan: Plan, taken: set[int]) -> None:
    for at, name in enumerate(plan.names):
        run, _, metric = name.rpartition(" - ")
        if at in taken or normal(name) in plan.dialect.ignored:
            continue
        if metric.endswith(("__MIN", "__MAX")) or metric.startswith("_"):
            continue
        if is_metric(metric, plan.dialect):
            plan.metrics.append((at, run, metric))
        elif metric:
            plan.left_out.append(name)
    amounts = {meaning_of(plan.dialect.prefix + name).owner for _, _, name in plan.metrics if _is_amount(plan, name)}
    plan.metrics = [  # a share says nothing beside the amount that it is a share of
        one for one in plan.metrics
        if not (meaning_of(one[2]).is_percent and meaning_of(plan.dialect.prefix + one[2]).owner in amounts)
    ]  # fmt: skip


def _is_amount(plan: Plan, name: str) -> bool:
    return meaning_of(plan.dialect.prefix + name).is_held


def is_metric(name: str, dialect: Dialect) -> bool:
    """Whether a column of a table of this tool is a figure of memory."""
    if dialect.prefix == "system_memory_":
        return normal(name) in ("total", "used", "free", "shared", "available", "buff_cache", "swpd", "buff", "cache")
    return is_about_memory(name) or (dialect.is_binary and meaning_of(name).measure in ("rss", "address_space"))


def has_text_at_the_end(names: Sequence[str]) -> bool:
    """Whether the last column may hold blanks, as a command with its arguments does."""
    return bool(names) and normal(names[-1]) in _TEXT_AT_THE_END
