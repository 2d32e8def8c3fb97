"""Failed episodes are stored as exceptions; the traceback keeps the frame and the trajectory in it."""

import time

import numpy as np

from leakbench import Case, Truth


class SimulationDiverged(RuntimeError):
    pass


def simulate(rng, seed):
    trajectory = rng.normal(size=(400, 128))
    if seed % 2:
        raise SimulationDiverged(f"seed {seed}: {trajectory[-1, 0]:.3f}")
    return float(trajectory.sum())


class Collector:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(6)
        self.failures = []

    def generation(self, pp, index):
        returns = []
        with pp.phase("rollout"):
            for seed in range(4):
                try:
                    returns.append(simulate(self.rng, seed))
                except SimulationDiverged as error:
                    self.failures[len(self.failures) if self.leaky else 0 :] = [error if self.leaky else type(error)]
            time.sleep(0.2)
        with pp.phase("update"):
            float(np.mean(returns))
            time.sleep(0.1)
        with pp.phase("log"):
            f"{len(self.failures)} failures"
            time.sleep(0.05)


CASE = Case(
    name="blind_kept_failures",
    build=Collector,
    truth=Truth(
        phase="rollout",
        kind="arrays",
        subject="ndarray",
        holder=("failures",),
        also=("objects", "native"),
        subject_also=("SimulationDiverged", "frame", "traceback"),
    ),
    source="synthetic",
    generations=24,
)
