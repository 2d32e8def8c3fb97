"""From a series of readings to a verdict: numbers only, no recording, no process, no clock."""

from __future__ import annotations

from phaseprof.trend.envelope import lower_envelope
from phaseprof.trend.judgement import Judgement, Shape
from phaseprof.trend.robust import drift_test, mann_kendall, theil_sen
from phaseprof.trend.series import thin
from phaseprof.trend.verdict import judge

__all__ = ["Judgement", "Shape", "drift_test", "judge", "lower_envelope", "mann_kendall", "theil_sen", "thin"]
