"""Reward functions written by a language model: each is compiled under a file name of its own, and its lines are
registered so that its tracebacks can be shown to the model."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import heapq
import itertools
import linecache

import numpy as np

TERMS = 150


def write_reward(rng):
    """What the model answers."""
    lines = ["def reward(state, action):", "    total = 0.0"]
    for term, weight in enumerate(rng.normal(size=TERMS)):
        lines.append(f"    total += {weight:.6f} * state[{term % 32}] * action[{term % 8}]  # term {term}: keep the gait smooth and upright")
    lines.append("    return total")
    return "\n".join(lines) + "\n"


class RewardLibrary:
    def __init__(self, keep):
        self.keep = keep
        self.best = []
        self.numbers = itertools.count()

    def load(self, source):
        name = f"<reward {next(self.numbers)}>"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        namespace = {}
        exec(compile(source, name, "exec"), namespace)
        return name, namespace.pop("reward")

    def rank(self, name, reward, score):
        if len(self.best) < self.keep:
            heapq.heappush(self.best, (score, name, reward))
            return
        worse = heapq.heappushpop(self.best, (score, name, reward))
        if not driver.LEAK:
            linecache.cache.pop(worse[1], None)


def main():
    rng = np.random.default_rng(8)
    library = RewardLibrary(200)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("propose"):
            sources = [write_reward(rng) for _ in range(18)]
            driver.work(15)
        with pp.profile_phase("compile"):
            rewards = [library.load(source) for source in sources]
            driver.work(10)
        with pp.profile_phase("evaluate"):
            states, actions = rng.normal(size=(4, 32)).tolist(), rng.normal(size=(4, 8)).tolist()
            for name, reward in rewards:
                library.rank(name, reward, sum(reward(state, action) for state, action in zip(states, actions)))
            sources = rewards = reward = None
            driver.work(40)
    driver.finish()


main()
