"""Text that Prometheus scrapes, and OpenMetrics: one scrape after the other, each a step."""

from __future__ import annotations

import re
from pathlib import Path

from phaseprof.analysis.imports.builder import Builder, tell_left_out
from phaseprof.analysis.imports.limits import fail, iter_lines
from phaseprof.analysis.imports.names import is_about_memory
from phaseprof.analysis.imports.readings import NO_TIME, Readings
from phaseprof.analysis.imports.sequence import Sequencer
from phaseprof.analysis.imports.times import scaled
from phaseprof.analysis.imports.units import Units
from phaseprof.analysis.metric_roles import meaning_of
from phaseprof.analysis.open_names import PREFIX, metric_of

_COMMENT = re.compile(rb"^# (?:HELP|TYPE|UNIT) [a-zA-Z_:]", re.MULTILINE)
_SAMPLE = re.compile(
    r"(?P<name>[a-zA-Z_:][\w:.]*)\s*(?:\{(?P<labels>.*)\})?\s+(?P<value>[-+.\w]+)(?:\s+(?P<time>[-+.\deE]+))?(?:\s+#.*)?\s*\Z"
)
_LABEL = re.compile(r'(?P<name>[a-zA-Z_]\w*)\s*=\s*"(?P<value>(?:[^"\\]|\\.)*)"')
# Labels that say on which machine, in which container or process; any other names a part of the metric.
_PROCESSES = ("instance", "host", "node", "namespace", "pod", "container", "name", "job", "rank", "pid", "worker")
_DEVICES = ("gpu", "device", "gpu_id", "minor_number")
# Samples of one metric of which each is a count since the start, or a part of a distribution.
_NO_GAUGES = ("_total", "_bucket", "_sum", "_count", "_created")
_MOST_BYTES = 2.0**63


def is_prometheus(start: bytes) -> bool:
    """Tell whether a file is text of Prometheus's, by its comments."""
    return bool(_COMMENT.search(start[:4096]))


def read_prometheus(file: Path, units: Units) -> list[Readings]:
    """Read scrapes that follow each other: a sample that comes again begins the next step.

    Raises:
        ImportFailure: a sample cannot be read, or none is about memory.
    """
    builder = Builder(file, units, point="scrape")
    sequence = Sequencer()
    left: dict[str, None] = {}
    for line, text in iter_lines(file):
        if not text.strip() or text.startswith("#"):
            continue
        sample = _SAMPLE.match(text.strip())
        value = _number(sample["value"]) if sample else None
        if sample is None or value is None:
            rule = f"a sample must be a name, labels and a number (got {text[:60]!r})"
            raise fail(file, rule, "fix or remove it", line=line)
        name = sample["name"]
        if name.endswith(_NO_GAUGES) or not is_about_memory(name):
            left.setdefault(name)
            continue
        if abs(value) > _MOST_BYTES:
            raise fail(file, f"{name} is more than any memory holds (got {value:g})", "fix or remove it", line=line)
        labels = {label["name"]: label["value"] for label in _LABEL.finditer(sample["labels"] or "")}
        time_s = scaled(float(sample["time"])) if sample["time"] and _number(sample["time"]) is not None else None
        point = labels.pop("point", "") if name.startswith(PREFIX) else ""
        process, metric = _process_of(name, labels), _metric_of(name, labels)
        builder.add(
            metric, value, step=sequence.step((process, point, metric)), point=point,
            time_s=NO_TIME if time_s is None else time_s, process=process,
        )  # fmt: skip
    if not builder.processes:
        told = ", ".join(list(left)[:8]) or "nothing"
        raise fail(file, f"it is Prometheus text, and none of its gauges is about memory (got {told})", "add one")
    if left:
        builder.notes.append(tell_left_out(list(left)))
    return builder.finish()


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _process_of(metric: str, labels: dict[str, str]) -> str:
    names = [name for name in _PROCESSES if name != "name" or meaning_of(metric).owner == "container"]
    named = [(name, labels[name]) for name in names if labels.get(name)]
    return " ".join(f"{name} {value}" if value.isdigit() else value[:100] for name, value in named)


def _metric_of(name: str, labels: dict[str, str]) -> str:
    """Name a sample: a device by its label, and any part of the metric by what other labels say."""
    if name.startswith(PREFIX):
        return metric_of(name, labels)
    device = next((labels[label] for label in _DEVICES if label in labels), "")
    rest = [value for label, value in labels.items() if label not in (*_PROCESSES, *_DEVICES, "UUID", "modelName")]
    part = "".join(f"/{value[:60]}" for value in rest if value)
    digits = re.search(r"\d{1,3}\Z", device)
    if device and meaning_of(name).owner != "process":
        return f"gpu.{digits[0] if digits else 0}.{name}{part}"
    return f"{part[1:]}/{name}" if part else name
