"""Configuration classes are made anew for every trial and registered, strongly or weakly, with their base."""

import gc
import time
import weakref
from dataclasses import make_dataclass

from leakbench import Case, Truth


class TrialConfig:
    known: "list | weakref.WeakSet"

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        TrialConfig.remember(cls)


class Tuner:
    def __init__(self, leaky):
        TrialConfig.known = [] if leaky else weakref.WeakSet()
        TrialConfig.remember = TrialConfig.known.append if leaky else TrialConfig.known.add

    def generation(self, pp, index):
        with pp.phase("propose"):
            fields = [(f"parameter_{n}", float, float(n)) for n in range(6)]
            trials = [make_dataclass(f"Trial{index}x{n}", fields, bases=(TrialConfig,)) for n in range(16)]
            time.sleep(0.1)
        with pp.phase("evaluate"):
            sum(trial().parameter_3 for trial in trials)
            time.sleep(0.1)
        with pp.phase("tidy"):
            del trials
            gc.collect()
            time.sleep(0.1)


CASE = Case(
    name="blind_config_classes",
    build=Tuner,
    truth=Truth(
        phase="propose",
        kind="objects",
        subject="type",
        holder=("TrialConfig", "known"),
        also=("native",),
        subject_also=("function", "Field", "Trial"),
    ),
    source="synthetic",
    generations=24,
)
