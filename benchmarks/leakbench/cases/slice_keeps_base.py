"""The last row of each simulation is kept as a view, which holds the whole trajectory.

Arrays are not tracked by the collector.  The healthy build copies the rows into a table made in advance.
"""

import numpy as np

from leakbench import Case, Truth

GENERATIONS = 30
RUNS = 6


class ResultTable:
    def __init__(self):
        self.final_states = []
        self.table = np.zeros((GENERATIONS * RUNS, 32))


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(0)
        self.results = ResultTable()
        self.gain = np.full(32, 0.1)

    def simulate(self):
        noise = self.rng.standard_normal((1500, 32))
        return np.cumsum(noise * self.gain, axis=0)

    def generation(self, pp, index):
        with pp.phase("simulate"):
            for run in range(RUNS):
                final = self.simulate()[-1]
                if self.leaky:
                    self.results.final_states.append(final)
                self.results.table[index * RUNS + run] = final
        with pp.phase("tune_gain"):
            spread = self.results.table[: (index + 1) * RUNS].std(axis=0)
            self.gain *= np.clip(4.0 / (spread + 1e-6), 0.9, 1.1)


CASE = Case(
    name="slice_keeps_base",
    build=Trainer,
    truth=Truth(
        phase="simulate",
        kind="arrays",
        subject="ndarray",
        holder=("ResultTable", "final_states"),
        also=("container",),
        subject_also=("list",),
        site=("Trainer.simulate",),
    ),
    source="numpy/numpy#19091",
    generations=GENERATIONS,
)
