"""Temporary files of an export come with an open descriptor that nobody closes; removing them frees no space."""

import os
import tempfile
import time

import numpy as np

from leakbench import Case, Truth


class Exporter:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(16)

    def export(self, policy):
        descriptor, path = tempfile.mkstemp(suffix=".npy")
        np.save(path, policy)
        size = os.path.getsize(path)
        os.unlink(path)
        if not self.leaky:
            os.close(descriptor)
        return size

    def generation(self, pp, index):
        with pp.phase("train"):
            policies = self.rng.random((5, 12_000))
            time.sleep(0.15)
        with pp.phase("export"):
            sum(self.export(policy) for policy in policies)
            time.sleep(0.1)
        with pp.phase("evaluate"):
            policies.mean()
            time.sleep(0.1)


CASE = Case(
    name="blind_export_files",
    build=Exporter,
    truth=Truth(phase="export", kind="descriptors"),
    source="synthetic",
    generations=24,
)
