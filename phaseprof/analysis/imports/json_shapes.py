"""Where the rows are in a JSON document: known tools' documents, and lists, columns and nests of any other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from phaseprof.analysis.imports.columns import normal
from phaseprof.analysis.imports.limits import fail
from phaseprof.analysis.imports.names import is_about_memory
from phaseprof.analysis.imports.readings import NO_STEP
from phaseprof.units import MIB

Row = dict[str, object]
# How deep a document is searched for its rows, and how many of its lists are looked at.
_SEARCH_DEPTH = 6
_MOST_LISTS = 2000


@dataclass(frozen=True)
class Shape:
    """A document of a known tool.

    Attributes:
        name: the tool and its file, for messages.
        needs: keys of the document of which all are there.
        rows: takes the rows out, or raises a ``ValueError`` that says why there are none.
        is_binary: it writes MB and means powers of 1024.
    """

    name: str
    needs: frozenset[str]
    rows: Callable[[Row], Iterator[Row]]
    is_binary: bool = False

    def fits(self, document: Mapping[str, object]) -> bool:
        """Whether a document is one of the tool."""
        return self.needs <= document.keys()


def _trainer_state(document: Row) -> Iterator[Row]:
    yield from _dicts(document["log_history"])


def _scalene(document: Row) -> Iterator[Row]:
    for sample in _lists(document["samples"]):
        if len(sample) >= 2:
            yield {"timestamp_ns": sample[0], "footprint_mb": sample[1]}


def _sysstat(document: Row) -> Iterator[Row]:
    sysstat = document["sysstat"]
    hosts = sysstat.get("hosts") if isinstance(sysstat, dict) else None
    for host in _dicts(hosts):
        for row in _dicts(host.get("statistics")):
            at, memory = row.get("timestamp"), row.get("memory")
            if isinstance(at, dict) and isinstance(memory, dict):
                named = {f"system_{key}_kib": value for key, value in memory.items() if "percent" not in key}
                yield {"timestamp": f"{at.get('date')} {at.get('time')}", **named}


def _prometheus_answer(document: Row) -> Iterator[Row]:
    data = document["data"]
    for series in _dicts(data.get("result") if isinstance(data, dict) else None):
        metric = series.get("metric")
        labels = dict(metric) if isinstance(metric, dict) else {}
        name = str(labels.pop("__name__", "value_bytes"))
        points = series.get("values") or [series.get("value")]
        for point in _lists(points):
            if len(point) == 2:
                yield {"time_s": point[0], "key": name, "value": point[1], **labels}


def _torch_trace(document: Row) -> Iterator[Row]:
    """Yield what was allocated at the end of each step that the trace marks (``ProfilerStep#3``)."""
    events = sorted(
        (event for event in _dicts(document["traceEvents"]) if isinstance(event.get("ts"), int | float)),
        key=lambda event: float(str(event["ts"])),
    )
    steps = _steps_of(events)
    memory = [event for event in events if event.get("name") == "[memory]" and isinstance(event.get("args"), dict)]
    if not memory:
        raise ValueError("it has no memory events: record with profile_memory=True")
    if not steps:  # one step then, with no reading that another could be compared with
        steps = [(NO_STEP, float(str(event["ts"])), float(str(event["ts"]))) for event in memory]
    for number, began, ended in steps:
        newest: dict[str, Row] = {}
        for event in memory:
            if began <= float(str(event["ts"])) <= ended:
                args = event["args"]
                if isinstance(args, dict):
                    newest[str(args.get("Device Id", -1))] = args
        for device, args in newest.items():
            named = "cpu" if device == "-1" else f"cuda{device}"
            yield {
                "step": number, "time_s": ended / 1e6, f"{_owner(named)}allocated_bytes": args.get("Total Allocated"),
                **({f"{named}.reserved_bytes": args.get("Total Reserved")} if named != "cpu" else {}),
            }  # fmt: skip


def _owner(device: str) -> str:
    return "process_memory_" if device == "cpu" else f"{device}."


def _steps_of(events: Sequence[Row]) -> list[tuple[float, float, float]]:
    found: dict[int, tuple[float, float]] = {}
    for event in events:
        name, _, number = str(event.get("name")).partition("#")
        if name == "ProfilerStep" and number.isdigit() and isinstance(event.get("dur"), int | float):
            began = float(str(event["ts"]))
            found[int(number[:9])] = (began, began + float(str(event["dur"])))
    return [(number, *span) for number, span in sorted(found.items())]


SHAPES = (
    Shape("Transformers' trainer_state.json", frozenset({"log_history"}), _trainer_state),
    Shape("a Scalene profile", frozenset({"samples", "max_footprint_mb"}), _scalene, is_binary=True),
    Shape("sadf -j", frozenset({"sysstat"}), _sysstat),
    Shape("a Prometheus response", frozenset({"status", "data"}), _prometheus_answer),
    Shape("a torch.profiler trace", frozenset({"traceEvents"}), _torch_trace),
)
# Documents that hold no readings over time, and what to import instead.
_REFUSED = (
    (
        ("total_num_allocations", "top_locations_by_size"),
        "memray stats are totals of a whole run and have no readings over time",
        "import memray's own .bin file where memray is installed, or log rss_bytes by step",
    ),
    (("nbformat", "cells"), "it seems to be a notebook, which holds no table of readings", "export its log"),
    (("$schema",), "it seems to be a schema or a configuration", "give the log itself"),
    (("runs", "version", "$schema"), "it seems to be SARIF", "give the log itself"),
)  # fmt: skip


def refuse_foreign(row: Mapping[str, object], file: Path) -> None:
    """Refuse a document that is known to hold no readings.

    Raises:
        ImportFailure: it is one.
    """
    for keys, rule, next_step in _REFUSED:
        if any(key in row for key in keys):
            raise fail(file, rule, next_step)


def shape_of(document: object) -> Shape | None:
    """Find the tool that wrote a document."""
    if not isinstance(document, dict):
        return None
    return next((shape for shape in SHAPES if shape.fits(document)), None)


def implied_unit(row: Mapping[str, object]) -> float | None:
    """Return the factor to bytes that the tool implies which wrote a row, as gpustat does MiB."""
    return MIB if {"gpus", "query_time"} <= row.keys() else None


def rows_in(document: object) -> list[Row] | None:
    """Find the rows of a document of no known tool.

    Rows are a list of objects, the document itself, a list of objects in it, or lists of equal length in it (columns).
    ``None``: it is a list that holds other things than objects.
    """
    if isinstance(document, list):
        return list(document) if all(isinstance(row, dict) for row in document) else None
    if not isinstance(document, dict):
        return None
    columns = _columns(document)
    if columns:
        return columns
    return _rows_below(document) or [document]


def _columns(document: Row) -> list[Row]:
    """Turn columns of equal length into rows, where one of them is about memory."""
    lists = {key: value for key, value in document.items() if isinstance(value, list) and value}
    split = document.get("columns"), document.get("data")
    if isinstance(split[0], list) and isinstance(split[1], list):  # as pandas writes a table
        return [dict(zip(map(str, split[0]), row, strict=False)) for row in split[1] if isinstance(row, list)]
    lengths = {len(value) for value in lists.values()}
    is_flat = all(not isinstance(value[0], list | dict) for value in lists.values())
    if len(lengths) != 1 or not is_flat or not any(map(is_about_memory, lists)):
        return []
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def _rows_below(document: Row) -> list[Row]:
    """Find the longest list of objects below a document of which one is about memory, where there are two or more."""
    best: list[Row] = []
    queue: list[tuple[object, int]] = [(document, 0)]
    looked = 0
    while queue and looked < _MOST_LISTS:
        value, depth = queue.pop(0)
        looked += 1
        if isinstance(value, dict) and depth < _SEARCH_DEPTH:
            queue.extend((inner, depth + 1) for inner in value.values() if isinstance(inner, dict | list))
        elif isinstance(value, list) and value:
            rows = [row for row in value if isinstance(row, dict)]
            if len(rows) == len(value) > max(1, len(best)) and any(map(is_about_memory, _keys(rows[0]))):
                best = rows
    return best


def _keys(row: Row, prefix: str = "", depth: int = 0) -> Iterator[str]:
    for key, value in row.items():
        if isinstance(value, dict) and depth < _SEARCH_DEPTH:
            yield from _keys(value, f"{prefix}{key}.", depth + 1)
        else:
            yield prefix + key


def _dicts(value: object) -> Iterator[Row]:
    if isinstance(value, list):
        yield from (row for row in value if isinstance(row, dict))


def _lists(value: object) -> Iterator[list[object]]:
    if isinstance(value, list):
        yield from (row for row in value if isinstance(row, list))


def is_settings(key: str) -> bool:
    """Whether what lies below a key of a row are settings, not readings."""
    return normal(key) in ("config", "hparams", "hyperparameters", "hyperparams", "args", "params", "settings")
