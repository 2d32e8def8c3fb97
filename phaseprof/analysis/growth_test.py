"""Words for an assertion on growth: what of a recording's findings breaks it."""

from __future__ import annotations

from collections.abc import Sequence

from phaseprof.records import Finding


def describe_growth(findings: Sequence[Finding], max_objects: float) -> str:
    """Return what grows faster than is tolerated, as one text; empty if nothing does."""
    rising = [f for f in findings if f.verdict in ("leak", "growing")]
    return "; ".join(f.summary for f in rising if f.slope_unit != "objects/generation" or f.slope > max_objects)
