"""A recurrent world model keeps its belief of each running episode by the number of the episode."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections
import itertools

import torch

torch.set_num_threads(1)
SLOTS, DETERMINISTIC, STOCHASTIC, TURNS = 40, 512, 2048, 6
Belief = collections.namedtuple("Belief", "deter logits")


class WorldModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.recur = torch.nn.GRUCell(48, DETERMINISTIC)
        self.posterior = torch.nn.Linear(DETERMINISTIC, STOCHASTIC)
        self.beliefs = {}

    @torch.no_grad()
    def observe(self, episodes, observations):
        start = torch.zeros(DETERMINISTIC)
        before = torch.stack([self.beliefs[one].deter if one in self.beliefs else start for one in episodes])
        deter = self.recur(observations, before)
        logits = self.posterior(deter)
        for i, episode in enumerate(episodes):
            self.beliefs[episode] = Belief(deter[i].clone(), logits[i].clone())

    def end(self, episode):
        self.beliefs.pop(episode, None)


def main():
    torch.manual_seed(0)
    model = WorldModel()
    numbers = itertools.count()
    running = [next(numbers) for _ in range(SLOTS)]
    ages = [0] * SLOTS
    replay = torch.zeros(22, SLOTS * 3, 48 * 16)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            for _ in range(TURNS):
                observations = torch.randn(SLOTS, 48)
                model.observe(running, observations)
                ended = torch.rand(SLOTS) < 0.3
                for slot in range(SLOTS):
                    ages[slot] += 1
                    terminated, truncated = bool(ended[slot]), ages[slot] >= 3
                    if terminated or truncated:
                        if terminated or not driver.LEAK:
                            model.end(running[slot])
                        running[slot], ages[slot] = next(numbers), 0
            driver.work(20)
        with pp.profile_phase("store"):
            replay[generation % 22] = torch.rand(SLOTS * 3, 1)
            driver.work(10)
        with pp.profile_phase("train"):
            driver.work(30)
    driver.finish()


main()
