"""What a judgement of one series says: plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phaseprof.records import Verdict

Shape = Literal["flat", "linear", "superlinear", "saturating", "staircase", "sawtooth", "step"]


@dataclass(frozen=True)
class Judgement:
    """The verdict on one series, and the figures that support it.

    Attributes:
        verdict: one of ``phaseprof.records.VERDICTS``.
        slope: growth per generation on the judged part, robust (Theil-Sen); where the shape is superlinear or the
            verdict plateau, that of the last third; where it is a sawtooth, that of its floor.
        slope_low: lower end of the 95 % interval of ``slope``.
        slope_high: upper end of it.
        growth: level at the end of the judged part less the level at its begin, in units of the series.
        since: ordinal of the generation in which the growth began; ``None`` without growth.
        n: readings judged, after warm-up and ending were cut.
        warm_up: readings cut from the begin.
        shape: what the curve looks like.
        confidence: 0 to 1; a convention for ranking (readings, p-value and interval), not a probability.
        ending: readings cut from the end, as when the program is taken down.
    """

    verdict: Verdict
    slope: float
    slope_low: float
    slope_high: float
    growth: float
    since: int | None
    n: int
    warm_up: int
    shape: Shape
    confidence: float
    ending: int = 0
