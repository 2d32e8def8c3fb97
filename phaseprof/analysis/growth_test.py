"""Words for an assertion on growth: what of a recording's findings breaks it."""

from __future__ import annotations

from collections.abc import Sequence

from phaseprof.records import Finding

# The phase in which the function under test runs; what is born elsewhere is not its doing.
CALL = "call"


def describe_growth(findings: Sequence[Finding], max_objects: float, *, phase: str) -> str:
    """Return what leaks from a phase faster than is tolerated, as one text; empty if nothing does."""
    leaks = [finding for finding in findings if finding.verdict == "leak" and finding.phase == phase]
    return "; ".join(
        finding.summary
        for finding in leaks
        if finding.slope_unit != "objects/generation" or finding.slope > max_objects
    )
