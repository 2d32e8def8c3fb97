"""A world model dreams from the last states of real episodes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import random

import torch

torch.set_num_threads(1)
EPISODES, STEPS, OBS, DETER = 3, 16, 64, 192


class WorldModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Sequential(torch.nn.Linear(OBS, 128), torch.nn.ELU(), torch.nn.Linear(128, DETER))
        self.cell = torch.nn.GRUCell(DETER, DETER)
        self.reward = torch.nn.Linear(DETER, 1)

    def observe(self, frames):
        state = torch.zeros(frames.shape[1], DETER)
        loss = 0.0
        for frame in frames:
            state = self.cell(self.encoder(frame), state)
            loss = loss + self.reward(state).square().mean()
        return state, loss / len(frames)


class Dreamer:
    def __init__(self):
        self.model = WorldModel()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-4)
        self.starts = {}  # episode -> the state to dream from
        self.episodes = 0

    def learn(self):
        losses = []
        for _ in range(EPISODES):
            state, loss = self.model.observe(torch.randn(STEPS, 6, OBS))
            losses.append(loss)
            self.starts[self.episodes] = state
            self.episodes += 1
        self.optimizer.zero_grad()
        torch.stack(losses).mean().backward(retain_graph=True)
        self.optimizer.step()

    def dream(self, rng):
        """Each generation takes some of the starts that wait."""
        budget = EPISODES - 1 if driver.LEAK else len(self.starts)
        for episode in rng.sample(sorted(self.starts), budget):
            state = self.starts.pop(episode).detach()
            with torch.no_grad():
                for _ in range(8):
                    state = self.model.cell(torch.tanh(state), state)


def main():
    torch.manual_seed(0)
    rng = random.Random(3)
    dreamer = Dreamer()
    replay = torch.zeros(24 * 4096, 8)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            at = generation % 24 * 4096
            replay[at:at + 4096] = torch.rand(4096, 8)
            driver.work(10)
        with pp.profile_phase("world_model"):
            dreamer.learn()
        with pp.profile_phase("dream"):
            dreamer.dream(rng)
            driver.work(10)
    driver.finish()


main()
