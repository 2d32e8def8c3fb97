"""Terms of the reward are plugins, of which one is fitted anew in each generation."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
import pluggy

import phaseprof as pp

spec = pluggy.HookspecMarker("rewards")
impl = pluggy.HookimplMarker("rewards")


class RewardSpec:
    @spec
    def reward(self, state):
        """Give this term of the reward."""


class FittedTerm:
    def __init__(self, table):
        self.table = table

    @impl
    def reward(self, state):
        return float(self.table[state])


class Shaping:
    def __init__(self):
        self.manager = pluggy.PluginManager("rewards")
        self.manager.add_hookspecs(RewardSpec)
        self.latest = None

    def refit(self, generation, table):
        if self.latest is not None and not driver.LEAK:
            self.manager.unregister(self.latest)
        self.latest = FittedTerm(table)
        self.manager.register(self.latest, name=f"fitted-{generation}")

    def total(self, state):
        return self.manager.hook.reward(state=state)[0]


def main():
    rng = np.random.default_rng(17)
    shaping = Shaping()
    replay = np.zeros((35, 300, 64))
    for generation in pp.generations(range(driver.generations(120))):
        with pp.profile_phase("refit"):
            shaping.refit(generation, rng.normal(size=(150, 150)).ravel())
            driver.work(50)
        with pp.profile_phase("rollout"):
            rewards = [shaping.total(int(state)) for state in rng.integers(22_500, size=60)]
            replay[generation % 35] = rng.normal(size=(300, 64)) + np.mean(rewards)
            driver.work(60)
        with pp.profile_phase("update"):
            replay[generation % 35].mean()
            driver.work(50)
    driver.finish()


main()
