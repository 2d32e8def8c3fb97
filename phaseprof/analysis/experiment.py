"""Experiments: runs that differ in one setting, and whether their growth follows it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from phaseprof.analysis.compare import GROWS, Z_95, Comparison, Slope
from phaseprof.errors import UsageError

Scaling = Literal["proportional", "independent", "partly", "undecided", "only where", "does not apply"]

# Allocators round sizes up: slopes of exactly proportional needs may be a few per cent off the ratio of the settings.
_ROUNDING = 0.02
_SAME_EXPONENT = 0.1
_TOO_WIDE = 0.35  # half width of the exponent's interval: 0 and 1 could not be told apart with any safety


@dataclass(frozen=True)
class Experiment:
    """Runs with their settings.

    Attributes:
        comparison: the runs side by side.
        parameter: the one setting that differs; empty if several do.
        values: one a run, as text.
        changed: every setting that differs.
        scaling: how the headline's slope follows the parameter: *proportional*, *independent* of it, *partly* (a power
            or an offset), *undecided* (intervals too wide), *only where* (grows for some values only), or
            *does not apply* (no number, or several settings changed).
        exponent: slope goes with the parameter to this power, with its 95 % interval; ``None`` if not fitted.
        offset_share: share of the first run's slope that does not depend on the parameter; from three values on.
    """

    comparison: Comparison
    parameter: str
    values: tuple[str, ...]
    changed: tuple[str, ...]
    scaling: Scaling
    exponent: tuple[float, float, float] | None = None
    offset_share: float | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the experiment as JSON-ready data, format 1."""
        return {"format": 1, **asdict(self), "comparison": self.comparison.to_dict()}


def judge_experiment(comparison: Comparison, settings: Sequence[Mapping[str, str]]) -> Experiment:
    """Test whether growth is proportional to the setting that differs, in runs that were compared already.

    Args:
        comparison: runs or series of CUDA snapshots side by side.
        settings: one mapping a run from setting to value.

    Raises:
        UsageError: no setting differs, or a run lacks one that another has.

    Method: the exponent b in slope = k * value**b by weighted least squares on logarithms, weights from the slopes'
    intervals and 2 % for the rounding of allocators; proportional when the interval of b holds 1 and not 0, or b is
    within 0.1 of it.  With three or more values also slope = a + k * value.  Smallest n: two values.
    """
    changed = _changed(settings, comparison.names)
    parameter = changed[0] if len(changed) == 1 else ""
    values = tuple(
        setting[parameter] if parameter else ", ".join(f"{k}={setting[k]}" for k in changed) for setting in settings
    )
    numbers = _numbers(values) if parameter else None
    if comparison.headline is None or numbers is None:
        return Experiment(comparison, parameter, values, changed, "does not apply")
    slopes = comparison.headline.slopes
    if comparison.is_too_short:
        return Experiment(comparison, parameter, values, changed, "undecided")
    if not all(slope.verdict in GROWS and slope.slope > 0 for slope in slopes):
        some = any(slope.verdict in GROWS for slope in slopes)
        return Experiment(comparison, parameter, values, changed, "only where" if some else "independent")
    exponent = fit_exponent(numbers, slopes)
    offset = _offset_share(numbers, slopes) if len(set(numbers)) > 2 else None
    return Experiment(comparison, parameter, values, changed, scaling_of(exponent), exponent, offset)


def _changed(settings: Sequence[Mapping[str, str]], names: Sequence[str]) -> tuple[str, ...]:
    keys = list(dict.fromkeys(key for setting in settings for key in setting))
    for setting, name in zip(settings, names, strict=True):
        missing = [key for key in keys if key not in setting]
        if missing:
            raise UsageError(f"{name} has no value for {missing[0]!r}; give every run the same settings, as k=v:RUN")
    changed = tuple(key for key in keys if len({setting[key] for setting in settings}) > 1)
    if not changed:
        raise UsageError(
            f"a setting must differ between runs (got {dict(settings[0])} for all); use diff for equal ones"
        )
    return changed


def _numbers(values: Sequence[str]) -> list[float] | None:
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return None
    return numbers if all(math.isfinite(number) and number > 0 for number in numbers) else None


def fit_exponent(numbers: Sequence[float], slopes: Sequence[Slope]) -> tuple[float, float, float]:
    """Fit slope = k * number**b; return b and its 95 % interval.

    Args:
        numbers: (n,) values of the setting, above zero, at least two different ones.
        slopes: (n,) slopes, above zero.
    """
    x = np.log(np.array(numbers))
    y = np.log(np.array([slope.slope for slope in slopes]))
    variance = np.array([(slope.error / slope.slope) ** 2 + _ROUNDING**2 for slope in slopes])
    weights = 1 / variance
    centre = float(weights @ x / weights.sum())
    spread = float(weights @ (x - centre) ** 2)
    exponent = float(weights @ ((x - centre) * y)) / spread
    half = Z_95 / math.sqrt(spread)
    return exponent, exponent - half, exponent + half


def scaling_of(exponent: tuple[float, float, float]) -> Scaling:
    """Put a word to an exponent and its interval."""
    middle, low, high = exponent
    if (high - low) / 2 > _TOO_WIDE:
        return "undecided"
    if abs(middle - 1) <= _SAME_EXPONENT or low <= 1 <= high:
        return "proportional"
    if abs(middle) <= _SAME_EXPONENT or low <= 0 <= high:
        return "independent"
    return "partly"


def _offset_share(numbers: Sequence[float], slopes: Sequence[Slope]) -> float:
    """Fit slope = a + k * number and return a as a share of the first slope."""
    x = np.array(numbers)
    y = np.array([slope.slope for slope in slopes])
    k, a = np.polyfit(x, y, 1)
    return float(a / (a + k * x[0])) if a + k * x[0] else 0.0
