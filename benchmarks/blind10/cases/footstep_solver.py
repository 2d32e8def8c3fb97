"""A walker's footsteps are placed by a solver of linear constraints, which lives as long as the planner."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import kiwisolver
import numpy as np

import phaseprof as pp

GENERATIONS = driver.generations(70)
STEPS = 60


class Planner:
    def __init__(self):
        self.solver = kiwisolver.Solver()

    def plan(self, strides):
        steps = [kiwisolver.Variable() for _ in range(STEPS)]
        constraints = [steps[0] == 0]
        for before, after, stride in zip(steps[:-1], steps[1:], strides[1:], strict=True):
            constraints.append(after - before >= 0.1)
            constraints.append((after - before == float(stride)) | "weak")
        for constraint in constraints:
            self.solver.addConstraint(constraint)
        self.solver.updateVariables()
        places = np.array([step.value() for step in steps])
        if not driver.LEAK:
            for constraint in constraints:
                self.solver.removeConstraint(constraint)
        return places


def main():
    rng = np.random.default_rng(17)
    planner = Planner()
    gaits = collections.deque(maxlen=22)
    best = 0.0
    for _ in pp.generations(range(GENERATIONS)):
        with pp.profile_phase("mutate"):
            gaits.append(rng.normal(size=(400, 60)))
            driver.work(70)
        with pp.profile_phase("plan"):
            places = planner.plan(rng.random(STEPS))
            driver.work(60)
        with pp.profile_phase("walk"):
            best = max(best, float(places[-1]))
            driver.work(110)
    driver.finish()


main()
