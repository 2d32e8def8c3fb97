"""Each simulator registers its own close with atexit, and that registry keeps every simulator alive.

The registry is not visible to the collector.  The healthy build uses a finalizer that does not hold it.
"""

import atexit
import weakref

import numpy as np

from leakbench import Case, Truth


class Connection:
    def __init__(self):
        self.open = True

    def close(self):
        self.open = False


class RobotSimulator:
    def __init__(self, rng, leaky):
        self.heightmap = rng.random((128, 256))
        self.connection = Connection()
        if leaky:
            atexit.register(self.close)
        else:
            weakref.finalize(self, self.connection.close)

    def close(self):
        self.connection.close()

    def rollout(self, rng):
        rows = rng.integers(0, len(self.heightmap), 200)
        return self.heightmap[rows].mean(axis=1)


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(0)
        self.weights = np.zeros(200)

    def generation(self, pp, index):
        with pp.phase("make_simulators"):
            simulators = [RobotSimulator(self.rng, self.leaky) for _ in range(4)]
        with pp.phase("collect"):
            returns = np.array([simulator.rollout(self.rng) for simulator in simulators])
        with pp.phase("train_step"):
            self.weights += 0.01 * (returns.mean(axis=0) - self.weights)


CASE = Case(
    name="exit_registry",
    build=Trainer,
    truth=Truth(
        phase="make_simulators",
        kind="objects",
        subject="RobotSimulator",
        also=("arrays",),
        subject_also=("ndarray", "Connection"),
        site=("Trainer.generation", "RobotSimulator.__init__"),
    ),
    source="zauberzeug/rosys PR#443; ARM-software/devlib#676; duburcqa/jiminy#679",
)
