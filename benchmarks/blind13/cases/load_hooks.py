"""A rival gets the weights of a member of the league before each match, and what it remembers of the member's style."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch
from torch import nn

import phaseprof as pp

torch.set_num_threads(1)


class Rival(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(48, 48)
        self.style = torch.zeros(48)
        self.handle = None

    def become(self, weights, styles):
        def set_style(module, problems):
            module.style = styles.mean(dim=0)

        handle = self.register_load_state_dict_post_hook(set_style)
        self.load_state_dict(weights)
        if not driver.LEAK:
            handle.remove()

    def forward(self, states):
        return torch.tanh(self.body(states) + self.style)


def main():
    torch.manual_seed(83)
    rival = Rival()
    learner = nn.Linear(48, 48)
    optimizer = torch.optim.Adam(learner.parameters())
    league = []
    for generation in pp.generations(range(driver.generations(110))):
        with pp.profile_phase("match"):
            member = league[generation % len(league)] if league else rival.state_dict()
            rival.become({key: value.clone() for key, value in member.items()}, torch.randn(900, 48))
            with torch.no_grad():
                answers = rival(torch.randn(64, 48))
            driver.work(80)
        with pp.profile_phase("train"):
            loss = (learner(answers) - answers).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            driver.work(60)
        with pp.profile_phase("enlist"):
            if len(league) < 25:
                league.append({f"body.{key}": value.clone() for key, value in learner.state_dict().items()})
            driver.work(10)
    driver.finish()


main()
