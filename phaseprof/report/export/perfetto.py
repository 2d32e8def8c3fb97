"""Trace events in JSON, for Perfetto and chrome://tracing: phases are slices, memory counters, findings instants.

Reference: "Trace Event Format" of the Chromium project.  Times are microseconds since the first process began.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from phaseprof.recording import format as fmt
from phaseprof.records import Finding
from phaseprof.report.export.stream import ProcessStream, Reading, open_streams

Event = dict[str, object]

_GENERATIONS = 0  # the track of each process on which its generations lie; threads are numbered from 1


@dataclass
class _Track:
    """One thread: its number in the trace, and its open phases as (label, entered in µs)."""

    tid: int
    stack: list[tuple[int, float]] = field(default_factory=list)


def write_perfetto(run: Path, out: Path, *, findings: Sequence[Finding] = ()) -> int:
    """Write a run as one JSON object of trace events; return their number.  ``.gz`` at the end packs it.

    Args:
        run: folder or file of the recording.
        out: the file to write.
        findings: each becomes an instant where its growth began, with summary and advice as its arguments.

    Cost: about 5 µs an event, memory independent of the run's length.
    """
    encode = msgspec.json.Encoder().encode
    n = 0
    with gzip.open(out, "wb") if out.suffix == ".gz" else out.open("wb") as file:
        file.write(b'{"displayTimeUnit":"ms","traceEvents":[')
        for event in trace_events(run, findings):
            file.write((b",\n" if n else b"\n") + encode(event))
            n += 1
        file.write(b"\n]}\n")
    return n


def trace_events(run: Path, findings: Sequence[Finding] = ()) -> Iterator[Event]:
    """Yield the trace events of all processes."""
    streams = open_streams(run)
    first_s = min(_started_s(stream) for stream in streams)
    taken: set[int] = set()
    for at, stream in enumerate(streams):
        yield from _Process(stream, first_s, taken).events(findings if at == 0 else ())


def _started_s(stream: ProcessStream) -> float:
    first = next(ProcessStream(stream.name, stream.files).records(), None)
    return first.started_unix_s if isinstance(first, fmt.Header) else 0.0


class _Process:
    """Turns one process's records into events."""

    def __init__(self, stream: ProcessStream, first_s: float, taken: set[int]) -> None:
        self.stream = stream
        self.first_s = first_s
        self.taken = taken
        self.pid = 0
        self.tracks: dict[int, _Track] = {}
        self.last_values: dict[str, float] = {}
        self.begun_us: dict[int, float] = {}
        self.last_us = 0.0
        self.n_async = 0
        self.n_tracks = 0

    def us(self, t: int) -> float:
        now = max(0.0, round((self.stream.unix_s(t) - self.first_s) * 1e6, 3))
        self.last_us = max(self.last_us, now)
        return now

    def events(self, findings: Sequence[Finding]) -> Iterator[Event]:
        waiting: dict[int | None, list[Finding]] = {}
        for finding in findings:
            waiting.setdefault(finding.since_ordinal, []).append(finding)
        for record in self.stream.records():
            if self.pid == 0:
                yield from self._name_process()
            if isinstance(record, fmt.Point):
                yield from self._point(record)
            elif isinstance(record, fmt.GenerationBegin):
                self.begun_us[record.g] = self.us(record.t)
                yield from self._findings(waiting.pop(record.g, ()), self.begun_us[record.g])
            elif isinstance(record, fmt.GenerationEnd):
                yield self._generation(record)
            elif isinstance(record, fmt.Thread):
                yield from self._forget(record)
            elif isinstance(record, fmt.Violation):
                yield self._violation(record)
            reading = self.stream.reading(record)
            if reading is not None:
                yield from self._counters(reading)
        yield from self._close(waiting)

    def _findings(self, findings: Sequence[Finding], at_us: float) -> Iterator[Event]:
        for finding in findings:
            yield self._finding(finding, at_us)

    def _name_process(self) -> Iterator[Event]:
        header = self.stream.header
        self.pid = header.pid if header and header.pid > 0 else 1
        while self.pid in self.taken:  # the same number on another host, or again after a restart
            self.pid += 1
        self.taken.add(self.pid)
        name = f"rank {header.rank} on {header.host or 'unknown host'}" if header else self.stream.name
        yield self._meta("process_name", _GENERATIONS, {"name": name})
        yield self._meta("process_sort_index", _GENERATIONS, {"sort_index": header.rank if header else 0})
        yield self._meta("thread_name", _GENERATIONS, {"name": "generations"})

    def _meta(self, name: str, tid: int, args: dict[str, object]) -> Event:
        return {"ph": "M", "name": name, "pid": self.pid, "tid": tid, "ts": 0, "args": args}

    def _track(self, thread: int) -> Iterator[Event]:
        if thread not in self.tracks:
            self.n_tracks += 1
            self.tracks[thread] = _Track(self.n_tracks)
            name = "main thread" if self.n_tracks == 1 else f"thread {thread}"
            yield self._meta("thread_name", self.tracks[thread].tid, {"name": name})

    def _point(self, point: fmt.Point) -> Iterator[Event]:
        now = self.us(point.t)
        label = self.stream.labels.get(point.a)
        if label is not None and label.role in ("generation", "sample"):  # generations have a track, samples counters
            return
        yield from self._track(point.th)
        track = self.tracks[point.th]
        if point.e == fmt.ENTER:
            track.stack.append((point.a, now))
        elif point.e == fmt.EXIT:
            yield from self._leave(track, point, now)
        else:
            yield {
                "ph": "i", "s": "t", "cat": "checkpoint", "name": self.stream.point_name(point), "pid": self.pid,
                "tid": track.tid, "ts": now, "args": {"generation": point.g},
            }  # fmt: skip

    def _leave(self, track: _Track, point: fmt.Point, now: float) -> Iterator[Event]:
        args: dict[str, object] = {"generation": point.g, **({"items": point.n} if point.n >= 0 else {})}
        for depth in range(len(track.stack) - 1, -1, -1):
            label, entered = track.stack[depth]
            if label == point.a:
                is_nested = depth == len(track.stack) - 1
                del track.stack[depth]
                yield from self._slice(track, label, (entered, now), args, is_nested=is_nested)
                return

    def _slice(
        self, track: _Track, label: int, span_us: tuple[float, float], args: dict[str, object], *, is_nested: bool
    ) -> Iterator[Event]:
        """Yield a slice; one that another phase of its thread outlives (coroutines) goes on a track of its own."""
        known = self.stream.labels.get(label)
        common: Event = {
            "cat": known.role if known else "phase", "name": known.name if known else f"label {label}",
            "pid": self.pid, "tid": track.tid,
        }  # fmt: skip
        began, ended = span_us
        if is_nested:
            yield {"ph": "X", **common, "ts": began, "dur": round(ended - began, 3), "args": args}
            return
        self.n_async += 1
        number = f"{self.pid}.{self.n_async}"
        yield {"ph": "b", **common, "id": number, "ts": began, "args": args}
        yield {"ph": "e", **common, "id": number, "ts": ended}

    def _forget(self, thread: fmt.Thread) -> Iterator[Event]:
        """Another thread takes over a number: what its predecessor left open ends here."""
        track = self.tracks.pop(thread.th, None)
        if track is not None:
            yield from self._end(track, self.us(thread.t))

    def _end(self, track: _Track, now: float) -> Iterator[Event]:
        while track.stack:
            label, entered = track.stack.pop()
            yield from self._slice(track, label, (entered, now), {"unfinished": True}, is_nested=True)

    def _generation(self, end: fmt.GenerationEnd) -> Event:
        now = self.us(end.t)
        began = self.begun_us.pop(end.g, now)
        args: dict[str, object] = {"seconds": end.seconds, **({"items": end.items} if end.items >= 0 else {})}
        return {
            "ph": "X", "cat": "generation", "name": f"generation {self.stream.indices.get(end.g, end.g)}",
            "pid": self.pid, "tid": _GENERATIONS, "ts": began, "dur": round(now - began, 3), "args": args,
        }  # fmt: skip

    def _counters(self, reading: Reading) -> Iterator[Event]:
        """Yield the counters that changed."""
        now = self.us(reading.t)
        for metric, value in reading.values.items():
            if self.last_values.get(metric) != value:
                self.last_values[metric] = value
                yield {
                    "ph": "C",
                    "name": metric,
                    "pid": self.pid,
                    "tid": _GENERATIONS,
                    "ts": now,
                    "args": {"value": value},
                }

    def _finding(self, finding: Finding, at_us: float) -> Event:
        args: dict[str, object] = {
            "summary": finding.summary, "advice": finding.advice, "phase": finding.phase, "subject": finding.subject,
            "holder": " ".join(finding.holder), "metric": finding.metric, "slope": finding.slope,
            "slope_unit": finding.slope_unit,
        }  # fmt: skip
        return {
            "ph": "i", "s": "p", "cat": "finding", "name": f"{finding.verdict}: {finding.summary}"[:200],
            "pid": self.pid, "tid": _GENERATIONS, "ts": at_us, "args": args,
        }  # fmt: skip

    def _violation(self, violation: fmt.Violation) -> Event:
        args: dict[str, object] = {
            "found": violation.found, "low": violation.low, "high": violation.high, "phase": violation.phase,
        }  # fmt: skip
        return {
            "ph": "i", "s": "p", "cat": "violation", "name": f"{violation.name}: {violation.found} instances",
            "pid": self.pid, "tid": _GENERATIONS, "ts": self.us(violation.t), "args": args,
        }  # fmt: skip

    def _close(self, waiting: dict[int | None, list[Finding]]) -> Iterator[Event]:
        """End what was open when the process ended; findings without a known beginning stand at the end."""
        for track in self.tracks.values():
            yield from self._end(track, self.last_us)
        for finding in (finding for group in waiting.values() for finding in group):
            yield self._finding(finding, self.last_us)
