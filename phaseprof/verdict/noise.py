"""Series with noise, such as resident memory: the simplest curve that fits, and a rise that is no chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phaseprof.verdict.judgement import Shape
from phaseprof.verdict.robust import Floats, drift_test, mann_kendall, may_be_walk, middle, persistence, theil_sen
from phaseprof.verdict.shape import Outcome

ALPHA = 0.01  # a rise less likely than this by chance is a rise
KNEES = 24  # positions at which a bend or step is tried
DECAYS = (0.1, 0.2, 0.4)  # time constants of an exponential approach, as shares of the series
CLEAR = 6.0  # Bayesian information criterion: strong evidence (Kass & Raftery 1995)
LEAST_TAIL = 7
LATE, LEAST_LATE = 0.5, 4  # of the pace of all, that of the later part of a line; readings that can show it
LONG = 60  # readings of which a third can show alone that a line still rises


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

    Method: a rise must pass ``rise_chance``; the curve is the one of least Bayesian information criterion among a line,
    a step, a rise that ends, a bend and an exponential approach, on as many effective readings as the autocorrelation
    leaves. A line must rise in its later part as well. Smallest n: 7 for a leak. Cost: O(n^2).
    """
    p = rise_chance(x, y)
    if len(y) < LEAST_TAIL:
        return Outcome("stable", "flat", p=p)
    fit = best_curve(x, y)
    if p >= ALPHA:
        return _judge_rest(x, y, fit, p)
    if fit.name == "step":
        return Outcome("step", "step", since=float(x[fit.knee]), p=p)
    if fit.name == "decays":
        return _judge_decay(x, y, p)
    if fit.name == "line":
        rises = _rises_late(x, y)
        return Outcome("leak" if rises else "growing", "linear", since=float(x[0]), p=p)
    return _judge_bend(x, y, fit, p)


def _rises_late(x: Floats, y: Floats) -> bool:
    """Whether the later half of the time rises, or of many readings the last third, at half the pace of all or more.

    Too few readings cannot say, and do not speak against it.
    """
    late = int(np.searchsorted(x, (x[0] + x[-1]) / 2))
    if len(y) >= LONG:
        late = len(y) - len(y) // 3
    elif len(y) - late < LEAST_LATE:
        return True
    return theil_sen(x[late:], y[late:])[0] >= LATE * theil_sen(x, y)[0]


def rise_chance(x: Floats, y: Floats) -> float:
    """Return how likely a rise like this is by chance, whatever the noise: white, autocorrelated or a random walk.

    Where the series cannot be a random walk, the smaller of the corrected Mann-Kendall test's p and the drift test's,
    else the drift test's alone; doubled for asking twice. Smallest n: 7. Cost: O(n^2).
    """
    drift = drift_test(y, x)
    if may_be_walk(y, x):
        return min(1.0, 2 * drift)
    tau, p = mann_kendall(y, x)
    return min(1.0, 2 * min(p / 2 if tau > 0 else 1.0, drift))


def best_curve(x: Floats, y: Floats) -> _Fit:
    """Return the curve that explains the series best for its number of parameters."""
    unit = (x - x[0]) / (x[-1] - x[0])
    knees = np.unique(np.linspace(2, len(x) - 3, KNEES).astype(int))
    bends = np.maximum(unit[:, None] - unit[knees], 0)
    steps = (np.arange(len(x))[:, None] >= knees).astype(np.float64)
    approaches = 1 - np.exp(-unit[:, None] / np.array(DECAYS))
    level = np.ones((len(x), 1))
    line = _Fit("line", 0, float(_errors(level, unit[:, None], y)[0]), 2)
    fits = [line]
    by_knee = zip(
        knees.tolist(), _errors(level, steps, y), _errors(level, unit[:, None] - bends, y),
        _errors(np.column_stack([level, unit]), bends, y), strict=True,
    )  # fmt: skip
    for knee, step, ends, bend in by_knee:
        fits += [_Fit("step", knee, step, 3), _Fit("ends", knee, ends, 3), _Fit("bend", knee, bend, 4)]
    fits.extend(_Fit("decays", 0, error, 3) for error in _errors(level, approaches, y))
    best = min(fits, key=lambda fit: fit.error)
    rho = persistence(_residuals(x, y, best))
    readings = max(5.0, len(x) * (1 - rho) / (1 + rho))
    floor = 1e-18 * float(np.ptp(y)) ** 2 * len(x)
    score = {id(fit): readings * np.log(fit.error + floor) + fit.size * np.log(readings) for fit in fits}
    winner = min(fits, key=lambda fit: float(score[id(fit)]))
    return winner if score[id(line)] - score[id(winner)] > CLEAR else line


def _residuals(x: Floats, y: Floats, fit: _Fit) -> Floats:
    """What the richest curve with the knee of ``fit`` leaves, so that no bend is taken for persistence."""
    unit = (x - x[0]) / (x[-1] - x[0])
    bend = np.maximum(unit - unit[fit.knee], 0)
    if fit.name == "step":
        bend = (np.arange(len(x)) >= fit.knee) * 1.0
    columns = np.column_stack([np.ones_like(unit), unit, bend])
    return np.asarray(y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0], dtype=np.float64)


def _errors(base: Floats, candidates: Floats, y: Floats) -> list[float]:
    """Return the squared error that each candidate leaves if it is fitted together with the base.

    Args:
        base: (n, m) columns that are in every fit.
        candidates: (n, k) columns, one of them in each fit; none is a combination of the base.
        y: (n,) values.

    Method: what the base explains is taken off both sides, so one division fits a candidate (Frisch & Waugh 1933).
    """
    q = np.linalg.qr(base)[0]
    rest = y - q @ (q.T @ y)
    apart = candidates - q @ (q.T @ candidates)
    left = rest[:, None] - apart * (apart.T @ rest / np.einsum("nk,nk->k", apart, apart))
    errors: list[float] = np.einsum("nk,nk->k", left, left).tolist()
    return errors


def _judge_decay(x: Floats, y: Floats, p: float) -> Outcome:
    """An exponential approach: at its plateau once the last third adds less than a tenth."""
    third = len(y) // 3
    late = middle(y[-third:]) - middle(y[-2 * third : -third])
    if late < 0.1 * float(np.ptp(y)):
        return Outcome("plateau", "saturating", since=float(x[0]), p=p)
    return Outcome("growing", "saturating", since=float(x[0]), p=p)


def _judge_rest(x: Floats, y: Floats, fit: _Fit, p: float) -> Outcome:
    """Name a series that does not rise for sure: at rest, or come to rest after a rise or step far above its noise."""
    before, after = y[: fit.knee], y[fit.knee :]
    scatter = float(np.std(_residuals(x, y, fit)))
    clear = fit.knee > 0 and len(after) >= LEAST_TAIL and middle(after) - float(before.min()) > 4 * scatter
    if clear and fit.name == "step":
        return Outcome("step", "step", since=float(x[fit.knee]), p=p)
    if clear and fit.name == "ends":
        return Outcome("plateau", "saturating", since=float(x[0]), p=p)
    return Outcome("stable", "flat", p=p)


def _judge_bend(x: Floats, y: Floats, fit: _Fit, p: float) -> Outcome:
    """Ask the part after the knee: does it still rise?"""
    knee = fit.knee
    if len(x) - knee < LEAST_TAIL:
        return Outcome("growing", "linear", since=float(x[0]), p=p)
    tail_x, tail_y = x[knee:], y[knee:]
    before = theil_sen(x[: knee + 1], y[: knee + 1])[0]
    after = theil_sen(tail_x, tail_y)[0]
    tail_p = rise_chance(tail_x, tail_y)
    if tail_p >= ALPHA or after <= 0:
        return Outcome("plateau", "saturating", since=float(x[0]), p=p)
    late = before < 0.2 * after
    shape: Shape = "superlinear" if after > 1.5 * before and not late else "linear"
    return Outcome("leak", shape, float(x[knee]), float(x[knee] if late else x[0]), max(p, tail_p))
