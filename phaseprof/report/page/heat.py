"""The heat map: what each phase added or gave back in each generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from phaseprof.recording.model import BUSY, COUNTED, OUTSIDE, ProcessRun
from phaseprof.recording.series import Sums
from phaseprof.records import Finding
from phaseprof.report.page.charts import Chart
from phaseprof.report.page.markup import Html, element
from phaseprof.report.words import is_bytes, metric_words, plural

MOST_COLUMNS = 240
# The colour scale ends where this share of the cells lies, so that one warm-up does not make all others pale.
_SCALE_AT = 0.97


@dataclass(frozen=True)
class PhaseCharge:
    """What one phase was charged with: the sum over the run, and the median of a generation after the first."""

    phase: str
    total: float
    typical: float


def charge_metrics(process: ProcessRun) -> list[str]:
    """Return the metrics that were charged to phases, private memory first, then accelerators."""
    inside = {metric for (_, metric), series in process.charges.items() if any(g >= 0 for g in series.generations)}
    found = inside - {BUSY}
    return sorted(found, key=lambda m: (m != "anonymous_bytes", not m.endswith("allocated_bytes"), m))


def charges_of(process: ProcessRun, metric: str) -> dict[str, Sums]:
    """Return the charges of a metric by phase, in the order in which phases were first used."""
    order = [*dict.fromkeys(process.phase_names), OUTSIDE, COUNTED]
    found = process.charges_of(metric)
    return dict(sorted(found.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order) - 1))


def phase_charges(process: ProcessRun, metric: str) -> list[PhaseCharge]:
    """Sum up what each phase was charged with."""
    rows = []
    for phase, series in charges_of(process, metric).items():
        inside = [(g, v) for g, v in series if g >= 0]
        later = [v for g, v in inside if g > inside[0][0]]
        if inside:
            typical = median(later) / series.stride if later else inside[0][1]
            rows.append(PhaseCharge(phase, sum(v for _, v in inside), typical))
    return rows


def heat_chart(process: ProcessRun) -> Chart | None:
    """Return the heat map of every charged metric."""
    views = [_view(process, metric) for metric in charge_metrics(process)]
    if not views:
        return None
    first = charge_metrics(process)[0]
    rows = phase_charges(process, first)
    top = max(rows, key=lambda row: row.total)
    caption = f"Change of {metric_words(first).lower()} while each phase ran; {top.phase} added most"
    return Chart("heat", "Which phase adds memory", caption, tuple(views), "short" if len(rows) < 9 else "tall")


def made_and_paid(process: ProcessRun, findings: Sequence[Finding]) -> list[Html]:
    """Say of a finding that names another phase than the one in which memory rose most why both are right."""
    metrics = charge_metrics(process)
    rows = phase_charges(process, metrics[0]) if metrics else []
    if not rows:
        return []
    top = max(rows, key=lambda row: row.total)
    others = dict.fromkeys(f.phase for f in findings if f.verdict == "leak" and f.phase not in (None, top.phase))
    known = {row.phase for row in rows}
    return [
        element(
            "p", "What stays is made in ", element("code", phase), f", but {metric_words(metrics[0]).lower()} rose "
            "most while ", element("code", top.phase), " ran. Both are true: a counter rises where memory is taken "
            "from the system, which need not be where the objects that stay are made.", class_="both",
        )
        for phase in others
        if phase in known and top.total > 0
    ]  # fmt: skip


def _view(process: ProcessRun, metric: str) -> Mapping[str, object]:
    charges = charges_of(process, metric)
    generations = sorted({g for series in charges.values() for g in series.generations if g >= 0})
    groups = _grouped(generations)
    column = {g: at for at, group in enumerate(groups) for g in group}
    cells: list[list[float | None]] = []
    for series in charges.values():
        row: list[float | None] = [None] * len(groups)
        for g, value in series:
            if g >= 0:
                at = column[g]
                row[at] = (row[at] or 0.0) + value
        cells.append(row)
    a_column = "" if len(groups) == len(generations) else f"; a column sums about {len(generations) // len(groups)}"
    return {
        "name": metric_words(metric), "kind": "heat", "unit": "bytes" if is_bytes(metric) else "count",
        "phases": list(charges), "from": [g[0] for g in groups], "to": [g[-1] for g in groups], "cells": cells,
        "limit": _limit(cells), "note": plural(len(generations), "generation") + a_column,
    }  # fmt: skip


def _grouped(generations: Sequence[int]) -> list[list[int]]:
    n = min(MOST_COLUMNS, len(generations))
    edges = np.linspace(0, len(generations), n + 1).astype(int).tolist()
    return [list(generations[begin:end]) for begin, end in pairwise(edges)]


def _limit(cells: Sequence[Sequence[float | None]]) -> float:
    sizes = sorted(abs(v) for row in cells for v in row if v)
    return sizes[min(len(sizes) - 1, int(_SCALE_AT * len(sizes)))] if sizes else 1.0
