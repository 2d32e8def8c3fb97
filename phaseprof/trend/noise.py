"""Series with noise, such as resident memory: the simplest curve that fits, and a trend that chance does not explain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phaseprof.trend.robust import Floats, drift_test, mann_kendall, persistence, theil_sen
from phaseprof.trend.shape import Outcome

ALPHA = 0.01  # a rise less likely than this by chance is a rise
KNEES = 24  # positions at which a bend or step is tried
CLEAR = 6.0  # Bayesian information criterion: strong evidence (Kass & Raftery 1995)
LEAST_TAIL = 7


@dataclass(frozen=True)
class _Fit:
    name: str
    knee: int
    error: float
    size: int


def judge_noisy(x: Floats, y: Floats) -> Outcome:
    """Judge a series whose readings scatter around a curve.

    Args:
        x: (n,) positions, warm-up already cut.
        y: (n,) values.

    Method: a rise must pass ``rise_chance``; the curve is the one of least Bayesian information criterion among a line, a
    step, a rise that ends and a bend, on as many effective readings as the autocorrelation leaves. Smallest n: 7 for a
    leak. Cost: O(n^2).
    """
    p = rise_chance(y)
    if len(y) < LEAST_TAIL:
        return Outcome("stable", "flat", p=p, limit=float(np.median(y)))
    fit = best_curve(x, y)
    if p >= ALPHA:
        return _judge_rest(x, y, fit, p)
    if fit.name == "step":
        return Outcome("step", "step", since=float(x[fit.knee]), p=p, limit=float(np.median(y[fit.knee :])))
    if fit.name == "line":
        return Outcome("leak", "linear", since=float(x[0]), p=p)
    return _judge_bend(x, y, fit, p)


def rise_chance(y: Floats) -> float:
    """Return how likely a rise like this is by chance, whatever the noise: white, autocorrelated or a random walk.

    The smaller of the corrected Mann-Kendall test's p and the drift test's, doubled for asking twice.
    """
    tau, p = mann_kendall(y)
    return min(1.0, 2 * min(p / 2 if tau > 0 else 1.0, drift_test(y)))


def best_curve(x: Floats, y: Floats) -> _Fit:
    """Return the curve that explains the series best for its number of parameters."""
    unit = (x - x[0]) / (x[-1] - x[0])
    one = np.ones_like(unit)
    line = _Fit("line", 0, _error([one, unit], y), 2)
    fits = [line]
    for knee in np.unique(np.linspace(2, len(x) - 3, KNEES).astype(int)):
        bend = np.maximum(unit - unit[knee], 0)
        fits.append(_Fit("step", int(knee), _error([one, (np.arange(len(x)) >= knee) * 1.0], y), 3))
        fits.append(_Fit("ends", int(knee), _error([one, unit - bend], y), 3))
        fits.append(_Fit("bend", int(knee), _error([one, unit, bend], y), 4))
    best = min(fits, key=lambda fit: fit.error)
    rho = persistence(_residuals(x, y, best))
    readings = max(5.0, len(x) * (1 - rho) / (1 + rho))
    floor = 1e-18 * float(np.ptp(y)) ** 2 * len(x)
    score = {id(fit): readings * np.log(fit.error + floor) + fit.size * np.log(readings) for fit in fits}
    winner = min(fits, key=lambda fit: float(score[id(fit)]))
    return winner if score[id(line)] - score[id(winner)] > CLEAR else line


def _residuals(x: Floats, y: Floats, fit: _Fit) -> Floats:
    """What a bent line with the knee of ``fit`` leaves: the richest curve, so that no trend is taken for persistence."""
    unit = (x - x[0]) / (x[-1] - x[0])
    bend = np.maximum(unit - unit[fit.knee], 0)
    if fit.name == "step":
        bend = (np.arange(len(x)) >= fit.knee) * 1.0
    columns = np.column_stack([np.ones_like(unit), unit, bend])
    return np.asarray(y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0], dtype=np.float64)


def _error(columns: list[Floats], y: Floats) -> float:
    matrix = np.column_stack(columns)
    rest = y - matrix @ np.linalg.lstsq(matrix, y, rcond=None)[0]
    return float(rest @ rest)


def _judge_rest(x: Floats, y: Floats, fit: _Fit, p: float) -> Outcome:
    """Name a series that does not rise for sure: at rest, or come to rest after a rise or step far above its noise."""
    before, after = y[: fit.knee], y[fit.knee :]
    scatter = float(np.std(_residuals(x, y, fit)))
    if fit.name in ("step", "ends") and float(np.median(after) - before.min()) > 4 * scatter and len(after) >= LEAST_TAIL:
        verdict, shape = ("step", "step") if fit.name == "step" else ("plateau", "saturating")
        return Outcome(verdict, shape, since=float(x[fit.knee if fit.name == "step" else 0]), p=p, limit=float(np.median(after)))
    return Outcome("stable", "flat", p=p, limit=float(np.median(y)))


def _judge_bend(x: Floats, y: Floats, fit: _Fit, p: float) -> Outcome:
    """Ask the part after the knee: does it still rise?"""
    knee = fit.knee
    if len(x) - knee < LEAST_TAIL:
        return Outcome("growing", "linear", since=float(x[0]), p=p)
    tail_x, tail_y = x[knee:], y[knee:]
    before = theil_sen(x[: knee + 1], y[: knee + 1])[0]
    after = theil_sen(tail_x, tail_y)[0]
    tail_p = rise_chance(tail_y)
    if tail_p >= 0.05 or after <= 0:
        return Outcome("plateau", "saturating", since=float(x[0]), p=p, limit=float(np.median(tail_y)))
    late = before < 0.2 * after
    shape = "superlinear" if after > 1.5 * before and not late else "linear"
    return Outcome("leak", shape, knee, float(x[knee] if late else x[0]), max(p, tail_p))
