"""Self-play against the policy before this one: each snapshot of the weights knows the snapshot it came from."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch
from torch import nn

import phaseprof as pp

torch.set_num_threads(1)


class SelfPlay:
    def __init__(self, policy):
        self.policy = policy
        self.current = self.flat()
        self.current.previous = None

    def flat(self):
        return nn.utils.parameters_to_vector(self.policy.parameters()).detach().clone()

    def snapshot(self):
        weights = self.flat()
        weights.previous = self.current
        if not driver.LEAK and self.current.previous is not None:
            self.current.previous.previous = None
        self.current = weights

    def opponent(self, states):
        weights = self.current.previous if self.current.previous is not None else self.current
        return states @ weights[: 64 * 16].view(64, 16)


def main():
    torch.manual_seed(41)
    policy = nn.Sequential(nn.Linear(64, 600), nn.Tanh(), nn.Linear(600, 16))
    optimizer = torch.optim.Adam(policy.parameters())
    play = SelfPlay(policy)
    replay = torch.zeros(20, 64, 64)
    for generation in pp.generations(range(driver.generations(74))):
        with pp.profile_phase("play"):
            replay[generation % 20] = torch.randn(64, 64)
            answers = play.opponent(replay[generation % 20])
            driver.work(40)
        with pp.profile_phase("train"):
            loss = (policy(replay[generation % 20]) - answers).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            driver.work(50)
        with pp.profile_phase("snapshot"):
            play.snapshot()
            driver.work(20)
    driver.finish()


main()
