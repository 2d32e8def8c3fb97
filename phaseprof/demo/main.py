"""Run the demo's trainer for a few generations and print what phaseprof saw."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import phaseprof as pp
from phaseprof import generation, log_memory, track, watch
from phaseprof.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from phaseprof.demo.trainer import Trainer

DEFAULT_GENERATIONS = 12
DEMO_BUDGET = 0.2


def run_demo(scenario: str, generations: int, out: str | None, *, full: bool = False) -> int:
    """Train for ``generations`` generations with the leak of ``scenario`` planted, and print the reports.

    Args:
        scenario: one of ``phaseprof.demo.trainer.SCENARIOS``; ``"none"`` plants nothing.
        generations: how many; verdicts need about ten.
        out: folder for the recording; ``None`` keeps it in memory.
        full: print every table, not one screen.

    Returns:
        0, whatever was found: ``phaseprof check`` is what judges a recording.

    Raises:
        UsageError: the scenario does not exist, or ``generations`` is below 1.
        MissingExtra: torch is not installed.
    """
    try:
        import torch

        from phaseprof.demo.trainer import SCENARIOS, Trainer
    except ModuleNotFoundError as error:
        raise MissingExtra(f"the demo needs {error.name}; pip install 'phaseprof[torch]'") from error
    chosen = next((one for one in SCENARIOS if one == scenario), None)
    if chosen is None:
        raise UsageError(f"scenario must be one of {', '.join(SCENARIOS)} (got {scenario!r})")
    if generations < 1:
        raise UsageError(f"generations must be >= 1 (got {generations})")
    random.seed(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the networks are so small that threads would wait for each other
    # Ten seconds at the default of 2 % would be two or three looks at the heap; a run of hours has no need of this.
    pp.configure(run=out, budget=DEMO_BUDGET)
    expect_counts()
    trainer = Trainer(chosen)
    follow(trainer)
    print(f"Scenario: {chosen}. {len(trainer.population)} agents, {generations} generations.")
    log_memory("Trainer initialized (baseline)", show_objects=True)
    train(trainer, generations)
    pp.get_profiler().print_summary(full=full)
    return 0


def expect_counts() -> None:
    """Say what must be there how many times."""
    from phaseprof.demo.agents import DDPGAgent
    from phaseprof.demo.environment import ReplayBuffer, TradingEnvironment

    watch(TradingEnvironment, expected=2)  # eval_env and val_env
    watch(DDPGAgent, expected=(16, 17))  # the population, and the best agent
    watch(ReplayBuffer, expected=1)


def follow(trainer: Trainer) -> None:
    """Have the sizes of a few things followed by name."""
    track("replay", lambda: trainer.replay)
    track("stats", lambda: trainer.stats)
    track("world_model.state", lambda: trainer.world_model.state)


def train(trainer: Trainer, generations: int) -> None:
    """Run the outer loop, with a line of progress for each generation."""
    for index in range(generations):
        begin = time.perf_counter()
        with generation(index, items=trainer.env_steps()):
            trainer.collect_experience()
            fitness = trainer.evaluate_population()
            trainer.train_population()
            trainer.evolve_population(fitness)
        seconds = time.perf_counter() - begin
        print(
            f"Generation {index:2d}: {trainer.env_steps() / seconds:6,.0f} steps/s, "
            f"replay {len(trainer.replay):,}/{trainer.replay.capacity:,}, "
            f"best {max(fitness):+.3f}, validation {trainer.validate():+.3f}",
            flush=True,
        )
