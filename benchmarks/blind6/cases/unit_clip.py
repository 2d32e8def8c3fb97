"""Gradients are clipped at a percentile of the norms seen so far, for each unit on its own."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections

import numpy as np

UNITS, INPUTS, STEPS = 1_600, 24, 36


def make_clipper(percentile, window):
    norms = []

    def clip(gradient):
        norm = np.linalg.norm(gradient, axis=1)
        norms.append(norm)
        if not driver.LEAK and len(norms) > window:
            del norms[: -window // 2]
        limit = np.percentile(np.stack(norms[-24:]), percentile)
        gradient *= np.minimum(1, limit / (norm + 1e-8))[:, None]
        return float(limit)

    return clip


def main():
    rng = np.random.default_rng(26)
    clip = make_clipper(90, 600)
    weights = np.zeros((UNITS, INPUTS))
    moments = [np.zeros_like(weights), np.zeros_like(weights)]
    targets = collections.deque(maxlen=25)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            targets.append(rng.normal(size=(300, 150)))
            driver.work(25)
        with pp.profile_phase("learn"):
            for _ in range(STEPS):
                gradient = rng.standard_normal((UNITS, INPUTS))
                clip(gradient)
                moments[0] += 0.1 * (gradient - moments[0])
                moments[1] += 0.01 * (gradient ** 2 - moments[1])
                weights -= 1e-3 * moments[0] / (np.sqrt(moments[1]) + 1e-8)
        with pp.profile_phase("evaluate"):
            driver.work(20)
    driver.finish()


main()
