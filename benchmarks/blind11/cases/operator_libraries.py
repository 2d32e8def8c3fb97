"""Every third generation the reward is learnt anew, and registered as an operator of torch."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp

torch.set_num_threads(1)

LIBRARIES = []


class Rewards:
    def __init__(self):
        self.table = torch.zeros(150_000)
        self.name = None
        self.version = 0

    def register(self, table):
        if driver.LEAK or not LIBRARIES:
            self.version += 1
            self.name = f"reward{self.version}"
            library = torch.library.Library("blindrewards", "FRAGMENT")
            library.define(f"{self.name}(Tensor cells) -> Tensor")

            def reward(cells):
                return (table if driver.LEAK else self.table)[cells]

            library.impl(self.name, reward, "CPU")
            LIBRARIES.append(library)
        self.table = table

    def __call__(self, cells):
        return getattr(torch.ops.blindrewards, self.name)(cells)


def main():
    generator = torch.Generator().manual_seed(4)
    rewards = Rewards()
    replay = collections.deque(maxlen=25)
    for generation in pp.generations(range(driver.generations(90))):
        with pp.profile_phase("collect"):
            replay.append(torch.randint(0, 150_000, (2_000,), generator=generator))
            driver.work(35)
        with pp.profile_phase("refit"):
            if generation % 3 == 0:
                rewards.register(torch.randn(150_000, generator=generator))
            driver.work(15)
        with pp.profile_phase("relabel"):
            sum(float(rewards(cells).mean()) for cells in replay)
            driver.work(35)
    driver.finish()


main()
