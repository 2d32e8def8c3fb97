"""Small pictures of a series that need no script: one line, its newest reading as a dot."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from phaseprof.report.page.markup import Html, element
from phaseprof.report.page.thinning import thin

WIDTH, HEIGHT, _EDGE = 240, 56, 5
_MOST = 240  # readings drawn, one a unit of width


def sparkline(generations: Sequence[int], values: Sequence[float], *, label: str) -> Html:
    """Draw a series as an inline SVG.

    Args:
        generations: (n,) ordinals, ascending.
        values: (n,) readings.
        label: what it shows, for those who cannot see it.
    """
    pairs = [(g, v) for g, v in zip(generations, values, strict=False) if isfinite(v)]
    if not pairs:
        return Html("")
    kept = [pairs[at] for at in thin([v for _, v in pairs], _MOST)]
    xs = _scaled([float(g) for g, _ in kept], _EDGE, WIDTH - _EDGE)
    ys = _scaled([v for _, v in kept], HEIGHT - _EDGE, _EDGE)
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    base = HEIGHT - _EDGE + 2
    area = f"{xs[0]:.1f},{base} {points} {xs[-1]:.1f},{base}"
    return element(
        "svg",
        element("polygon", points=Html(area), class_="area"),
        element("polyline", points=Html(points), class_="line"),
        element("circle", cx=f"{xs[-1]:.1f}", cy=f"{ys[-1]:.1f}", r=3.5, class_="dot"),
        class_="spark", viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=label,
    )  # fmt: skip


def _scaled(values: Sequence[float], low: float, high: float) -> list[float]:
    least, most = min(values), max(values)
    span = most - least
    if not span:
        return [high if len(values) == 1 and low < high else (low + high) / 2] * len(values)
    return [low + (v - least) / span * (high - low) for v in values]
