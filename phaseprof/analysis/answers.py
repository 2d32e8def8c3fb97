"""What a whole recording answers to the question whether it leaks; to have not looked is no "no leak"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from phaseprof.analysis.symptoms import n_votes, voting_series
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.series import Series
from phaseprof.records import Finding
from phaseprof.verdict import TOO_SHORT

Answer = Literal["leak", "filling", "no leak", "too short", "not judged"]

# Of the generations of a run, the share that the readings of one counter must span for a word about the whole.
LOOKED_AT = 0.5


def answer(process: ProcessRun, findings: Sequence[Finding]) -> Answer:
    """Sum up a recording.

    Args:
        process: the recording.
        findings: what was found in it.

    Returns:
        ``"leak"`` or ``"filling"`` by the findings; ``"too short"`` with fewer than 6 readings;
        ``"not judged"`` where no counter that can vote was read, or none over half of the run; else ``"no leak"``.
    """
    verdicts = {finding.verdict for finding in findings}
    if "leak" in verdicts:
        return "leak"
    longest, votes = max(map(len, process.series.values()), default=0), n_votes(process)
    if longest < TOO_SHORT or 0 < votes < TOO_SHORT:
        return "too short"
    if not _was_looked_at(process):
        return "not judged"
    return "filling" if "filling" in verdicts else "no leak"


def _was_looked_at(process: ProcessRun) -> bool:
    """Whether some counter that can vote was read often enough, and over enough of the run."""
    whole = max((_span(series) for series in process.series.values()), default=0)
    votes = (series for _, _, series in voting_series(process) if len(series) >= TOO_SHORT)
    return any(_span(series) >= LOOKED_AT * whole for series in votes)


def _span(series: Series) -> int:
    return series.generations[-1] - series.generations[0] if len(series) else 0
