"""The evolutionary trainer, instrumented with phaseprof, and the places where its five leaks can be planted."""

from __future__ import annotations

import random
from typing import Literal, get_args

import numpy as np
from torch import Tensor

from phaseprof import checkpoint, profile_phase
from phaseprof.demo.agents import Batch, DDPGAgent
from phaseprof.demo.environment import ReplayBuffer, TradingEnvironment, Transition
from phaseprof.demo.world_model import WorldModel

Scenario = Literal["none", "evaluate", "train", "evolve", "losses", "collect"]
SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)

POPULATION, ELITE = 16, 4
UPDATES, BATCH_SIZE, COLLECT_STEPS = 4, 128, 24
REPLAY_CAPACITY = 5_000  # transitions; 16 agents add 1,280 in a generation, so it is full in the fourth


class Stats:
    """What the trainer tells about itself: numbers, and in the scenario ``losses`` more than numbers."""

    def __init__(self) -> None:
        self.fitness: list[float] = []
        self.losses: list[Tensor | float] = []
        self.world_model_error = 0.0


class Trainer:
    """Sixteen agents that are evaluated, trained and evolved in turns.

    ``scenario`` plants one leak; ``"none"`` is the repaired program. Each leak is one line that somebody wrote in a
    real program, or left out.
    """

    def __init__(self, scenario: Scenario = "none", seed: int = 0) -> None:
        self.scenario = scenario
        self.random = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.eval_env = TradingEnvironment(seed)
        self.val_env = TradingEnvironment(seed + 1)
        self.population = [DDPGAgent() for _ in range(POPULATION)]
        self.best_agent: DDPGAgent | None = None
        self.replay = ReplayBuffer(REPLAY_CAPACITY, seed)
        self.world_model = WorldModel()
        self.stats = Stats()
        self.used_envs: list[TradingEnvironment] = []
        self.used_batches: list[Batch] = []
        self.ancestors: list[DDPGAgent] = []

    def env_steps(self) -> int:
        """Return how many steps of an environment one generation takes."""
        return POPULATION * self.eval_env.episode_length

    @profile_phase("collect_experience")
    def collect_experience(self) -> None:
        """Let the world model watch the markets."""
        leak = self.scenario == "collect"
        self.stats.world_model_error = self.world_model.collect_experience(self.rng, COLLECT_STEPS, keep_graph=leak)

    @profile_phase("evaluate_population")
    def evaluate_population(self) -> list[float]:
        """Let every agent trade one episode, and return what each earned."""
        return [self.run_episode(agent) for agent in self.population]

    def run_episode(self, agent: DDPGAgent) -> float:
        """Let one agent trade one episode, remember its transitions, and return the sum of its rewards."""
        if self.scenario == "evaluate":
            # LEAK: the environment is made anew, and the one before is kept.
            self.used_envs.append(self.eval_env)
            self.eval_env = TradingEnvironment(self.random.randrange(1 << 30))
        observation, done, total = self.eval_env.reset(), False, 0.0
        while not done:
            action = agent.act(observation)
            upcoming, reward, done = self.eval_env.step(float(action[0]))
            self.replay.add(Transition(observation, action, reward, upcoming))
            observation, total = upcoming, total + reward
        return total

    @profile_phase("train_population")
    def train_population(self) -> None:
        """Let every agent learn from a few batches of the replay buffer."""
        self.stats.losses = self.stats.losses if self.scenario == "losses" else []
        for agent in self.population:
            for _ in range(UPDATES):
                batch = Batch(self.replay.sample(BATCH_SIZE))
                if self.scenario == "train":
                    # LEAK: every batch is kept "to look at hard examples later".
                    self.used_batches.append(batch)
                losses = agent.update(batch)
                # LEAK in the scenario "losses": a tensor with its graph, where its value was meant.
                self.stats.losses += losses if self.scenario == "losses" else [loss.item() for loss in losses]
        checkpoint("after updates")

    @profile_phase("evolve_population")
    def evolve_population(self, fitness: list[float]) -> None:
        """Replace the population by children of its best agents, and keep a copy of the best."""
        ranked = [agent for _, agent in sorted(zip(fitness, self.population, strict=True), key=lambda pair: -pair[0])]
        self.best_agent = ranked[0].child()
        if self.scenario == "evolve":
            # LEAK: the old population is kept in case somebody wants to go back.
            self.ancestors += self.population
        self.population = [ranked[i % ELITE].child(mutation=0.01) for i in range(POPULATION)]
        self.stats.fitness.append(max(fitness))

    def validate(self) -> float:
        """Return what the best agent earns on the market that no agent learns from."""
        if self.best_agent is None:
            return 0.0
        observation, done, total = self.val_env.reset(), False, 0.0
        while not done:
            observation, reward, done = self.val_env.step(float(self.best_agent.act(observation, noise=0.0)[0]))
            total += reward
        return total
