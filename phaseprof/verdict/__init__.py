"""From a series of readings to a verdict: numbers only, no recording, no process, no clock."""

from __future__ import annotations

from phaseprof.verdict.envelope import lower_envelope
from phaseprof.verdict.judgement import Judgement, Shape
from phaseprof.verdict.judging import TOO_SHORT, judge
from phaseprof.verdict.robust import drift_test, mann_kendall, theil_sen
from phaseprof.verdict.series import thin

__all__ = [
    "TOO_SHORT", "Judgement", "Shape", "drift_test", "judge", "lower_envelope", "mann_kendall", "theil_sen", "thin",
]  # fmt: skip
