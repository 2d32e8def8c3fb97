"""Population based training: one Adam for all the members, and the worst are replaced by copies of the best."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import torch

torch.set_num_threads(1)
MEMBERS, OBS, HIDDEN, ACTIONS = 8, 128, 320, 18


class Member(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = torch.nn.Linear(OBS, HIDDEN)
        self.core = torch.nn.Linear(HIDDEN, HIDDEN)
        self.head = torch.nn.Linear(HIDDEN, ACTIONS)

    def forward(self, x):
        return self.head(torch.tanh(self.core(torch.tanh(self.trunk(x)))))


class Population:
    def __init__(self):
        self.members = [Member() for _ in range(MEMBERS)]
        self.optimizer = torch.optim.Adam([{"params": list(m.parameters())} for m in self.members], lr=1e-3)

    def train(self, observations, advantages):
        self.optimizer.zero_grad(set_to_none=True)
        for member in self.members:
            (member(observations).log_softmax(-1).mean(-1) * advantages).mean().backward()
        self.optimizer.step()

    def exploit(self, loser, winner):
        """The loser starts again from the weights of the winner, with moments of its own."""
        successor = Member()
        successor.load_state_dict(self.members[winner].state_dict())
        group = self.optimizer.param_groups[loser]
        if not driver.LEAK:
            for parameter in group["params"]:
                self.optimizer.state.pop(parameter, None)
        group["params"] = list(successor.parameters())
        self.members[loser] = successor


def main():
    torch.manual_seed(0)
    population = Population()
    replay = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            replay.append(torch.randn(512, OBS))
            del replay[:-22]
            driver.work(10)
        with pp.profile_phase("train"):
            batch = replay[generation % len(replay)][:64]
            population.train(batch, torch.randn(64))
            driver.work(10)
        with pp.profile_phase("exploit"):
            if generation % 2:
                loser = generation // 2 % MEMBERS
                population.exploit(loser, (loser + 3) % MEMBERS)
            driver.work(10)
    driver.finish()


main()
