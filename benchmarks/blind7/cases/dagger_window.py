"""DAgger: the expert labels what the learner saw; the learner trains on the last rounds."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import torch
from torch.utils.data import ConcatDataset, Subset, TensorDataset

torch.set_num_threads(1)
OBS, PER_ROUND, ROUNDS = 150, 900, 10


class Aggregate:
    """The last ROUNDS rounds as one data set."""

    def __init__(self):
        self.rounds = []
        self.window = None

    def add(self, fresh):
        if driver.LEAK:
            if self.window is None:
                self.window = fresh
            else:
                both = ConcatDataset([self.window, fresh])
                first = max(0, len(both) - ROUNDS * PER_ROUND)
                self.window = Subset(both, range(first, len(both)))
        else:
            self.rounds = [*self.rounds[-(ROUNDS - 1):], fresh]
            both = ConcatDataset(self.rounds)
            self.window = Subset(both, range(len(both)))

    def __len__(self):
        return len(self.window)


def main():
    torch.manual_seed(0)
    learner = torch.nn.Linear(OBS, 6)
    expert = torch.nn.Linear(OBS, 6)
    optimizer = torch.optim.SGD(learner.parameters(), lr=0.05, momentum=0.9)
    aggregate = Aggregate()
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            observations = torch.randn(PER_ROUND, OBS)
            with torch.no_grad():
                learner(observations).argmax(-1)
            driver.work(20)
        with pp.profile_phase("label"):
            with torch.no_grad():
                actions = expert(observations).argmax(-1)
            aggregate.add(TensorDataset(observations, actions))
            driver.work(10)
        with pp.profile_phase("imitate"):
            for _ in range(2):
                picked = torch.randint(len(aggregate), (48,)).tolist()
                pairs = [aggregate.window[i] for i in picked]
                loss = torch.nn.functional.cross_entropy(learner(torch.stack([o for o, _ in pairs])), torch.stack([a for _, a in pairs]))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            driver.work(15)
    driver.finish()


main()
