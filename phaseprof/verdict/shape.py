"""What is found out about a curve before a verdict: the parts that pass from one file of this package to the next."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from phaseprof.records import Verdict
from phaseprof.verdict.judgement import Shape
from phaseprof.verdict.robust import Floats, mann_kendall

SLOWER = 0.7  # of two halves; a logarithm from 3 to 30 has 0.45, an exponential less, a line 1
FASTER = 1.4
SURE = 0.02
PROOF = 2.0  # log likelihood: odds of 7 to 1


@dataclass(frozen=True)
class Outcome:
    """A verdict without its figures.

    ``begin``: position at which the judged part begins, ``None`` if with the first reading; ``since``: where growth
    began, or ``None``; ``p``: how likely the rise is chance; ``slope``: the slope and its interval where they are not
    those of the judged part.
    """

    verdict: Verdict
    shape: Shape
    begin: float | None = None
    since: float | None = None
    p: float = 1.0
    slope: tuple[float, float, float] | None = None


def halves(x: Floats, y: Floats) -> float:
    """Return growth in the second half of a rising series over that in the first; infinite from a standstill."""
    middle = (x[0] + x[-1]) / 2
    level = float(np.interp(middle, x, y))
    first, second = level - float(y[0]), float(y[-1]) - level
    if first <= 0:
        return float("inf") if second > 0 else 1.0
    return second / first


def trend_of_rate(x: Floats, y: Floats) -> int:
    """Return -1 if growth slows, 1 if it quickens, 0 if it keeps its pace or nobody can tell.

    Method: the halves must differ by 0.7 or 1.4, and either the increments have a monotone trend (Mann-Kendall,
    one-sided p below 0.02) or the mass of growth lies off the middle (``laplace``, 2 standard deviations).
    Assumptions: ``y`` does not fall. Smallest n: 7 readings, below that 0. Cost: O(n^2).
    """
    if len(x) < 7:
        return 0
    ratio = halves(x, y)
    if SLOWER < ratio < FASTER:
        return 0
    rates = np.diff(y) / np.diff(x)
    tau, p = mann_kendall(rates, independent=True)
    z = laplace(x, y)
    if ratio <= SLOWER and ((tau < 0 and p / 2 < SURE) or z < -2):
        return -1
    if ratio >= FASTER and ((tau > 0 and p / 2 < SURE) or z > 2):
        return 1
    return 0


def laplace(x: Floats, y: Floats) -> float:
    """Return Laplace's statistic: where the mass of growth lies, in standard deviations after the middle.

    Reference: Cox & Lewis 1966. Assumptions: growth comes in independent arrivals; their effective number is taken from
    the sizes. Smallest n: 4 arrivals. Cost: O(n).
    """
    rises = np.maximum(np.diff(y), 0)
    total = float(rises.sum())
    if total <= 0:
        return 0.0
    arrivals = total**2 / float(rises @ rises)
    middles = (x[1:] + x[:-1]) / 2
    centre = float(rises @ middles) / total
    return (centre - float(x[0] + x[-1]) / 2) / (float(x[-1] - x[0]) / math.sqrt(12 * arrivals))


def keeps_pace(x: Floats, y: Floats, start: float) -> bool:
    """Return whether the increments speak for a constant rate, against one that dies away as 1/t.

    Args:
        x: (n,) positions of the tail.
        y: (n,) values of the tail.
        start: position at which the whole series begins, from which t counts.

    Method: log likelihood ratio of the two one-parameter fits to the increments, normal errors; 2 or more is proof.
    Most saturation dies away faster than 1/t, the rate of a logarithm, so this is its best case. Smallest n: 7.
    """
    if len(x) < 7:
        return False
    rates = np.diff(y) / np.diff(x)
    middles = (x[1:] + x[:-1]) / 2 - start
    decay = 1 / np.maximum(middles, 0.5)
    flat_error = float(np.sum((rates - rates.mean()) ** 2))
    decay_error = float(np.sum((rates - decay * float(rates @ decay) / float(decay @ decay)) ** 2))
    if flat_error <= 1e-12 * float(rates @ rates):
        return True
    return len(rates) / 2 * float(np.log(decay_error / flat_error)) > PROOF
