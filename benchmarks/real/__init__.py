"""Real programs: trainings with the frameworks that people use, each healthy and with one planted leak.

Every program is a script as its users write it, without a word of phaseprof.  It is run bare, and under
``phaseprof run --quiet`` at the default budget; then ``phaseprof check`` alone says what was found.
"""

from __future__ import annotations

from dataclasses import dataclass

from leakbench import Truth

__all__ = ["PROGRAMS", "Real"]


@dataclass(frozen=True)
class Real:
    """A script in ``programs``, called with ``healthy`` or ``leaky`` and a number of iterations.

    truth:      what ``check`` must say of the leaky build.
    or_truth:   what it may say as well, where that is as true: one phase makes what another keeps, or the process that
                leaks says it itself.
    iterations: how many make a run of half a minute on a small machine.
    needs:      packages beyond torch and numpy.
    options:    for ``phaseprof run``, as its user would give them.
    """

    name: str
    truth: Truth
    iterations: int
    needs: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    or_truth: Truth | None = None


PROGRAMS = (
    Real(
        "plain_dqn",  # losses are kept for a plot, with the graph behind them
        Truth("learn", "autograd graph", "Tensor", ("losses",), also=("tensors",)),
        450,
        ("gymnasium",),
        ("--phase", "learn=__main__:Agent.learn"),
    ),
    Real(
        "sb3_ppo",  # a wrapper keeps each observation for a replay that nobody watches
        Truth("collect", "arrays", "ndarray", ("frames",)),
        190_000,
        ("stable_baselines3",),
    ),
    Real(
        "sb3_dqn",  # a callback keeps a copy of the policy each time it is evaluated
        Truth("collect", "tensors", "Tensor", ("checkpoints",), also=("objects",), subject_also=("Parameter", "dict")),
        85_000,
        ("stable_baselines3",),
    ),
    Real(
        "lightning_metric",  # a metric that is updated in each validation and never reset
        Truth("validation", "tensors", "Tensor", ("seen",), also=("container",), subject_also=("list",)),
        80,
        ("lightning",),
    ),
    Real(
        "transformers_trainer",  # predictions of each evaluation are kept
        Truth("evaluation", "arrays", "ndarray", ("history",)),
        40,
        ("transformers", "accelerate"),
    ),
    Real(
        "accelerate_loop",  # the outputs of each evaluation are kept, and with them the graph
        Truth("evaluation", "autograd graph", "Tensor", ("outputs",), also=("tensors",)),
        200,
        ("accelerate",),
    ),
    Real(
        "optuna_search",  # the objective keeps the model of each trial
        Truth(
            "objective", "objects", "Net", ("models",), also=("tensors",),
            subject_also=("Tensor", "Parameter", "Linear"),
        ),
        190,
        ("optuna",),
    ),
    Real(
        "deap_evolution",  # an archive of all individuals
        Truth("selection", "objects", "Individual", ("archive",), also=("container",), subject_also=("list",)),
        800,
        ("deap",),
        or_truth=Truth(
            "variation", "objects", "Individual", ("archive",), also=("container",), subject_also=("list",)
        ),
    ),
    Real(
        "evotorch_search",  # a hook keeps the population of each step
        Truth("logging", "tensors", "Tensor", ("populations",)),
        6_000,
        ("evotorch",),
    ),
    Real(
        "loader_workers",  # the dataset in each worker keeps what it has decoded, without a bound
        Truth("epoch", "children", None),
        100,
        (),
        ("--generation", "__main__:epoch", "--phase", "epoch=__main__:epoch"),
        Truth("DataLoader worker", "arrays", "ndarray", ("decoded",)),
    ),
    Real(
        "pyg_sampling",  # subgraphs are kept by a key that never comes again
        Truth(
            "sample", "tensors", "Tensor", ("subgraphs",), also=("objects",), subject_also=("Data", "GlobalStorage")
        ),
        450,
        ("torch_geometric",),
        ("--phase", "sample=__main__:Sampler.sample", "--generation", "__main__:epoch"),
    ),
    Real(
        "ray_actors",  # references to rollouts are kept, and with them the object store
        Truth("rollout", "objects", "ObjectRef", ("references",), also=("shared memory",)),
        400,
        ("ray",),
        ("--phase", "rollout=__main__:rollout", "--generation", "__main__:iteration"),
    ),
)
