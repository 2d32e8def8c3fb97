"""Rows of every benchmark in one form, the machine they were measured on, and the table of both.

A benchmark's ``rows(quick)`` gives dicts with ``name``, ``ours``, ``peer``, ``peer_name``, ``ratio`` (peer over ours)
and ``bound`` (the least ratio to reach); where they say something, also ``unit`` (``s`` if left out), ``most`` (what
``ours`` may be at most, in that unit) and ``note``.
"""

from __future__ import annotations

import datetime
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from tabulate import tabulate

from phaseprof.units import format_bytes

HEADERS = ("What", "phaseprof", "Peer", "Peer takes", "Ratio", "Bound", "Met", "Note")
PACKAGES = ("phaseprof", "torch", "numpy", "psutil", "objgraph", "guppy3", "pympler")


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes:
        group: the benchmark it comes from.
        name: what is measured.
        ours: phaseprof's figure, in ``unit``.
        peer: the peer's; ``None`` where nobody does the same.
        unit: ``s`` or ``bytes``.
        ratio: peer over ours.
        least: the ratio to reach; ``None``: none was promised.
        most: the most that ``ours`` may be; ``None``: no such promise.
    """

    group: str
    name: str
    ours: float
    peer: float | None
    peer_name: str
    unit: str
    ratio: float | None
    least: float | None
    most: float | None
    note: str

    @property
    def met(self) -> bool | None:
        """Whether every bound holds; ``None`` where none was promised."""
        held = [self.ratio >= self.least] if self.ratio is not None and self.least is not None else []
        held += [self.ours <= self.most] if self.most is not None else []
        return all(held) if held else None

    def cells(self) -> tuple[str, ...]:
        """Return the row as text, in the order of ``HEADERS``."""
        bounds = [f"{self.least:.3g}x"] if self.least is not None else []
        bounds += [f"at most {show(self.most, self.unit)}"] if self.most is not None else []
        return (
            self.name,
            show(self.ours, self.unit),
            self.peer_name,
            "" if self.peer is None else show(self.peer, self.unit),
            "" if self.ratio is None else f"{self.ratio:.3g}x",
            ", ".join(bounds),
            {True: "yes", False: "NO", None: ""}[self.met],
            self.note,
        )


def make_row(group: str, found: Mapping[str, object]) -> Row:
    """Take one dict of a benchmark."""
    ours = _number(found["ours"])
    if ours is None:
        raise TypeError(f"{group}: ours must be a number (got {found['ours']!r})")
    return Row(
        group=group,
        name=str(found["name"]),
        ours=ours,
        peer=_number(found.get("peer")),
        peer_name=str(found.get("peer_name") or ""),
        unit=str(found.get("unit") or "s"),
        ratio=_number(found.get("ratio")),
        least=_number(found.get("bound")),
        most=_number(found.get("most")),
        note=str(found.get("note") or ""),
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def show(value: float, unit: str) -> str:
    """Write a figure in the unit that reads best.

    >>> show(0.0000042, "s"), show(0.0305, "s"), show(2.5, "s"), show(0.0, "bytes")
    ('4.20 µs', '30.5 ms', '2.50 s', '0 B')
    """
    if unit == "bytes":
        return str(format_bytes(round(value)))
    scale, short = next(((s, n) for s, n in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")) if value >= s), (1e-9, "ns"))
    return f"{value / scale:.3g} {short}" if value / scale >= 10 else f"{value / scale:.2f} {short}"


def render(rows: Sequence[Row], *, markdown: bool) -> str:
    """Return the one table."""
    cells = [row.cells() for row in rows]
    form = "github" if markdown else "simple"
    return str(tabulate(cells, headers=HEADERS, tablefmt=form, disable_numparse=True, maxcolwidths=None))


def verdict_line(rows: Sequence[Row]) -> str:
    """Say how many bounds are met, and name those that are not."""
    promised = [row for row in rows if row.met is not None]
    missed = [row.name for row in promised if not row.met]
    tail = f"; not met: {', '.join(missed)}" if missed else ""
    return f"{len(promised) - len(missed)} of {len(promised)} bounds met{tail}."


def machine_lines(*, quick: bool, today: datetime.date | None = None) -> list[str]:
    """Say where and when this was measured."""
    versions = ", ".join(f"{name} {version}" for name in PACKAGES if (version := _version_of(name)))
    load = f"load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else "load unknown"
    return [
        f"Date: {today or datetime.date.today()}{' (quick: heaps too small for the bounds)' if quick else ''}",
        f"Machine: {_processor()}, {os.cpu_count()} CPUs, {platform.system()} {platform.release()}, {load}",
        f"Python {platform.python_version()} ({sys.implementation.name}); {versions}",
    ]


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
