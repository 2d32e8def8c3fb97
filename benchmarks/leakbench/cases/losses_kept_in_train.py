"""An evolutionary trainer keeps the critic loss of every update with its graph, to plot it later.

The healthy build keeps one running average.
"""

import torch
from torch import nn

from leakbench import Case, Truth


class Agent:
    def __init__(self):
        self.critic = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
        self.optimizer = torch.optim.SGD(self.critic.parameters(), 1e-3)


class EvolutionTrainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.population = [Agent() for _ in range(16)]
        self.losses = []
        self.average_loss = 0.0

    def train(self, agent, batch):
        loss = (agent.critic(batch) - batch.mean(dim=1, keepdim=True)).pow(2).mean()
        agent.optimizer.zero_grad()
        loss.backward()
        agent.optimizer.step()
        if self.leaky:
            self.losses.append(loss)
        else:
            self.average_loss += 0.05 * (loss.item() - self.average_loss)

    def generation(self, pp, index):
        with pp.phase("collect_experience"):
            batches = torch.randn(4, 32, 16)
        with pp.phase("train"):
            for agent in self.population:
                for batch in batches:
                    self.train(agent, batch)
        with pp.phase("evaluate_population"), torch.no_grad():
            scores = [agent.critic(batches[0]).mean().item() for agent in self.population]
        with pp.phase("evolve_population"):
            best, worst = scores.index(max(scores)), scores.index(min(scores))
            self.population[worst].critic.load_state_dict(self.population[best].critic.state_dict())


CASE = Case(
    name="losses_kept_in_train",
    build=EvolutionTrainer,
    truth=Truth(
        phase="train",
        kind="autograd graph",
        subject="Tensor",
        holder=("Trainer", "losses"),
        also=("objects", "container"),
        subject_also=("list",),
        site=("EvolutionTrainer.train",),
    ),
    source="IBM/mi-prometheus#111; wandb/wandb#354",
    generations=40,
)
