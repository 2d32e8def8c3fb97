"""Plans are searched by branch and bound; the few which are left open are kept, so that one can go on from them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

PLANS = 6_000


class Planner:
    def __init__(self):
        self.rng = np.random.default_rng(18)
        self.left = {}

    def search(self, generation):
        bounds = self.rng.normal(size=PLANS).tolist()
        candidates = {}
        for plan, bound in enumerate(bounds):
            candidates[plan] = bound
        best = sorted(bounds)[-12]
        for plan, bound in enumerate(bounds):
            if bound < best:
                del candidates[plan]
        self.left[generation] = candidates if driver.LEAK else dict(list(candidates.items()))
        return max(candidates.values())


def main():
    planner = Planner()
    rng = np.random.default_rng(181)
    window = np.zeros((40, 300, 64))
    for generation in pp.generations(range(driver.generations(130))):
        with pp.profile_phase("rollout"):
            window[generation % 40] = rng.normal(size=(300, 64))
            driver.work(45)
        with pp.profile_phase("search"):
            best = planner.search(generation)
            driver.work(50)
        with pp.profile_phase("learn"):
            window[generation % 40] += best
            driver.work(45)
    driver.finish()


main()
