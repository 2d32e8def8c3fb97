"""Rejected configurations are warned of; the texts differ each time, and the registry of warnings keeps them."""

import random
import time
import warnings

from leakbench import Case, Truth


class RejectedConfig(UserWarning):
    pass


def to_nowhere(message, category, filename, lineno, file=None, line=None):
    pass


class HyperSearch:
    def __init__(self, leaky):
        self.leaky = leaky
        self.random = random.Random(17)
        self.rejected = 0
        warnings.filterwarnings("default", category=RejectedConfig)
        warnings.showwarning = to_nowhere

    def check(self, config):
        self.rejected += 1
        if self.leaky:
            text = "rejected: " + ", ".join(f"layer{i}={value:.8f}" for i, value in enumerate(config))
        else:
            text = f"rejected a configuration of {len(config)} layers"
        warnings.warn(text, RejectedConfig, stacklevel=2)

    def generation(self, pp, index):
        with pp.phase("propose"):
            configs = [[self.random.random() for _ in range(40 + n % 8)] for n in range(50)]
            time.sleep(0.06)
        with pp.phase("check"):
            for config in configs:
                self.check(config)
            time.sleep(0.06)
        with pp.phase("train"):
            time.sleep(0.08)


CASE = Case(
    name="blind2_warning_texts",
    build=HyperSearch,
    truth=Truth(
        phase="check",
        kind="container",
        subject="dict",
        holder=("__warningregistry__",),
        also=("objects", "native"),
        subject_also=("tuple", "str"),
    ),
    source="https://github.com/POSYDON-code/POSYDON/issues/364",
    generations=40,
    tags=("slow",),
)
