"""Training is a phase of phases, and it is the encoding within it that keeps its features.

The innermost name is the one that helps.  The healthy build drops the features after the update.
"""

import numpy as np

from leakbench import Case, Truth


class FeatureExtractor:
    def __init__(self):
        self.features = []


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(0)
        self.extractor = FeatureExtractor()
        self.projection = self.rng.standard_normal((64, 64))

    def generation(self, pp, index):
        with pp.phase("train"):
            with pp.phase("sample"):
                batch = self.rng.standard_normal((256, 64))
            with pp.phase("encode"):
                for _ in range(4):
                    self.extractor.features.append(np.tanh(batch @ self.projection))
            with pp.phase("update"):
                self.projection -= 1e-3 * self.extractor.features[-1].mean(axis=0)
                if not self.leaky:
                    self.extractor.features.clear()
        with pp.phase("evaluate"):
            np.linalg.norm(self.projection)


CASE = Case(
    name="nested_phase",
    build=Trainer,
    truth=Truth(
        phase="encode",
        kind="arrays",
        subject="ndarray",
        holder=("FeatureExtractor", "features"),
        also=("container",),
        subject_also=("list",),
        site=("Trainer.generation",),
    ),
    source="synthetic",
)
