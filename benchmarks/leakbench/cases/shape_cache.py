"""Kernels with scratch space are cached by the length of the sequence.

Healthy: lengths are rounded up to powers of two, so the number of entries is a logarithm.
Leaky: every new length adds an entry.
"""

import numpy as np

from leakbench import Case, Truth


class Kernel:
    def __init__(self, length):
        self.window = np.hanning(length)
        self.scratch = np.ones(length)

    def run(self, signal):
        np.multiply(signal, self.window[: len(signal)], out=self.scratch[: len(signal)])
        return float(self.scratch[: len(signal)].sum())


class KernelCache:
    def __init__(self):
        self.kernels = {}

    def get(self, length):
        if length not in self.kernels:
            self.kernels[length] = Kernel(length)
        return self.kernels[length]


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(0)
        self.cache = KernelCache()
        self.gain = 1.0

    def generation(self, pp, index):
        with pp.phase("collect"):
            signals = [self.rng.standard_normal(n) for n in self.rng.integers(1000, 60_000, 4)]
        with pp.phase("filter"):
            sums = []
            for signal in signals:
                length = len(signal) if self.leaky else 1 << (len(signal) - 1).bit_length()
                sums.append(self.cache.get(length).run(signal))
        with pp.phase("train_step"):
            self.gain += 1e-6 * float(np.mean(sums))


CASE = Case(
    name="shape_cache",
    build=Trainer,
    truth=Truth(
        phase="filter",
        kind="arrays",
        subject="ndarray",
        holder=("KernelCache", "kernels"),
        also=("objects", "container"),
        subject_also=("Kernel", "dict"),
        site=("KernelCache.get", "Kernel.__init__"),
    ),
    source="jax-ml/jax#2072, #7930; mlaux1/rl-blox PR#157",
)
