"""Streams a recording's files as they were written, one record at a time, with names put to numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from phaseprof.errors import RecordingError
from phaseprof.recording import format as fmt
from phaseprof.recording.model import PROCESS_METRICS, point_name
from phaseprof.recording.reader import find_recordings

_MAX_LINE = 1 << 26
_MOST_DIGITS = 13  # times the size of a page, bytes that fit into 64 bits


@dataclass(frozen=True)
class Reading:
    """All figures read at one point: time in the process's nanoseconds, generation ordinal or -1, metric to value."""

    t: int
    g: int
    point: str
    values: Mapping[str, float]


@dataclass
class ProcessStream:
    """One process's files in the order they were written, and what has been learned while reading them.

    Attributes:
        name: file name without endings, for example ``rank0-pid123``.
        labels: number to label, complete once a record uses it.
        indices: ordinal to the user's own index of the generation, for those begun so far.
    """

    name: str
    files: list[Path]
    header: fmt.Header | None = None
    labels: dict[int, fmt.Label] = field(default_factory=dict)
    indices: dict[int, int | str] = field(default_factory=dict)

    def unix_s(self, t: int) -> float:
        """Turn a record's time into seconds of wall-clock time; of an import without dates, since its start."""
        header = self.header
        return (t - header.started_ns) / 1e9 + header.started_unix_s if header else t / 1e9

    def records(self) -> Iterator[fmt.Record]:
        """Yield every record; lines that cannot be read are left out, as the report does, which counts them."""
        for file in self.files:
            for line in _lines(file):
                try:
                    record = fmt.decode(line)
                except fmt.WRONG:
                    continue
                if isinstance(record, fmt.Header):
                    self.header = self.header or record
                elif isinstance(record, fmt.Label):
                    self.labels[record.id] = record
                elif isinstance(record, fmt.GenerationBegin):
                    self.indices[record.g] = record.index if record.index != "" else record.g
                yield record

    def reading(self, record: fmt.Record) -> Reading | None:
        """Return the figures of a point or metrics record, ``None`` for records without any."""
        if isinstance(record, fmt.Metrics):
            return Reading(record.t, record.g, record.at, record.v)
        if not isinstance(record, fmt.Point):
            return None
        values = self._point_values(record)
        return Reading(record.t, record.g, self.point_name(record), values) if values else None

    def point_name(self, point: fmt.Point) -> str:
        """Name a point as the model names it."""
        label = self.labels.get(point.a)
        name, role = (label.name, label.role) if label else (f"label {point.a}", "checkpoint")
        return point_name(name, point.e, role)

    def _point_values(self, point: fmt.Point) -> dict[str, float]:
        values: dict[str, float] = {}
        fields = [int(text) for text in point.m.split(None, 3)[:3] if _is_number(text)]
        if len(fields) >= 2:
            page = self.header.page_bytes if self.header else 4096
            vms, rss, *shared = (pages * page for pages in fields)
            # Where the shared part was not read, what depends on it is missing and not zero.
            values.update(zip(PROCESS_METRICS, (vms, rss, *shared, *(rss - part for part in shared)), strict=False))
        for device, counters in (point.d or {}).items():
            for name, value in zip(fmt.DEVICE_COUNTERS, counters, strict=False):
                if value >= 0:
                    values[f"{device}/{name}"] = value
        return values


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


def open_streams(run: Path) -> list[ProcessStream]:
    """Return one stream a process of a run's folder or file, lowest rank first; nothing is read yet.

    Raises:
        RecordingError: there is no recording.
    """
    groups = find_recordings(run)
    if not groups:
        raise RecordingError(f"cannot read {run}: it holds no recording; give the folder of a recorded run")
    streams: list[ProcessStream] = []
    for name, found in groups.items():
        files = [file for file in found if isinstance(file, Path)]
        # Rotated parts repeat one header; another one under the same name is another recording.
        by_header: dict[bytes, ProcessStream] = {}
        for file in files:
            header = next(_lines(file), b"")
            called = f"{name}-{len(by_header) + 1}" if by_header else name
            by_header.setdefault(header, ProcessStream(called, [])).files.append(file)
        streams += by_header.values()
    return sorted(streams, key=lambda stream: [int(number) for number in re.findall(r"\d+", stream.name)])


def _lines(file: Path) -> Iterator[bytes]:
    try:
        with file.open("rb") as stream:
            while line := stream.readline(_MAX_LINE):
                yield line
    except OSError as error:
        raise RecordingError(f"cannot read {file}: {error.strerror}; check its permissions") from error
