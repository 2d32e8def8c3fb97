"""Puts a framework's callback into a program that knows nothing of phaseprof, once the program has imported it."""

from __future__ import annotations

from importlib import import_module

from phaseprof.integrations._steps import USED
from phaseprof.interrupts import raise_the_programs
from phaseprof.live.warn import warn_user

# The module after whose import a framework is there, and the integration that knows it.
AFTER = {
    "accelerate": "accelerate",
    "deap.base": "deap",
    "evotorch.algorithms": "evotorch",
    "keras": "keras",
    "lightning.pytorch": "lightning",
    "optuna": "optuna",
    "pytorch_lightning": "lightning",
    "ray": "ray",
    "ray.rllib.algorithms.algorithm": "rllib",
    "ray.train.v2.api.data_parallel_trainer": "ray_train",
    "skorch": "skorch",
    "stable_baselines3": "stable_baselines3",
    "transformers.trainer": "transformers",
}


# Imported before a queue is made from which workers take their work; they record whoever says what a generation is.
WORKERS = "multiprocessing.queues"


def put_in(module: str) -> None:
    """Put the callback into what a framework makes from now on; a framework that has changed is left as it is.

    Args:
        module: a key of ``AFTER``, or ``WORKERS``, that was imported just now.
    """
    name = "workers" if module == WORKERS else AFTER[module]
    try:
        import_module(f"phaseprof.integrations.{name}").install()
    except Exception as error:  # noqa: BLE001 - the program must not feel that it is watched
        raise_the_programs(error)
        warn_user(f"the callback of {name} could not be installed: {type(error).__name__}: {error}")


def what_was_used() -> list[str]:
    """Say for each framework whose callback a training used what counts as a generation."""
    return [f"{framework}: {generation} counts as a generation" for framework, generation in sorted(USED.items())]
