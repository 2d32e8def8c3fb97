"""Findings of a run whose generations are those of the clock, in words that fit."""

from __future__ import annotations

from dataclasses import replace

from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding


def tick_s(process: ProcessRun) -> float | None:
    """Seconds of a generation where the clock made them all; ``None`` where the program marked its own."""
    turns = process.generations
    return turns[-1].seconds if turns and all(turn.implied for turn in turns) else None


def by_the_clock(process: ProcessRun, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Say every so many seconds instead of a generation, and since which second."""
    tick = tick_s(process)
    return findings if tick is None else tuple(_in_seconds(finding, tick) for finding in findings)


def _in_seconds(finding: Finding, tick: float) -> Finding:
    text = finding.summary.replace(" a generation", f" every {tick:g} s")
    since = finding.since_ordinal
    if since is not None:
        text = text.replace(f" since generation {finding.since_generation}", f" since second {since * tick:g}")
    return replace(finding, summary=text)
