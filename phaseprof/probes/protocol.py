"""The seam between probes and whoever reads them: what a probe is, and what its price is."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from phaseprof.errors import ProbeUnavailable


class CostClass(enum.Enum):
    """How often a probe may be read; the benchmark of the probes holds each to it."""

    POINT = "point"
    """Microseconds: at every boundary."""
    GENERATION = "generation"
    """Tens of microseconds to milliseconds: once a generation."""


@runtime_checkable
class Probe(Protocol):
    """One source of counters.

    Constructing a probe raises :class:`phaseprof.errors.ProbeUnavailable` where it cannot work, with one clear line.
    Probes are not locked: one thread reads a probe at a time. After ``os.fork`` the child's probe speaks of the child.
    """

    @property
    def name(self) -> str:
        """Short name for warnings and reports, such as ``process``."""

    @property
    def cost(self) -> CostClass:
        """How often this probe may be read."""

    def read(self) -> Mapping[str, int | float]:
        """Read the counters now.

        Returns:
            Metric name to value; names ending ``_bytes`` are bytes, ``_s`` seconds, others counts. A figure that
            cannot be read is absent: a zero is a measured zero.

        Raises:
            ProbeUnavailable: the probe was closed or has stopped working; its figures are missing from now on.
        """

    def close(self) -> None:
        """Give back descriptors and hooks; may be called twice. Reading afterwards raises ``ProbeUnavailable``."""


class Closable:
    """What probes share that hold no descriptor and no hook: closing one only ends its reading."""

    _is_open = True

    def close(self) -> None:
        """Stop reading; may be called twice."""
        self._is_open = False

    def _require_open(self, what: str) -> None:
        if not self._is_open:
            raise ProbeUnavailable(f"cannot read {what}: the probe was closed")
