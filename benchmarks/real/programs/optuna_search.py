"""A search over sizes and learning rates: python optuna_search.py healthy|leaky TRIALS."""

import sys

import optuna
import torch
from torch import nn

LEAKY, TRIALS = sys.argv[1] == "leaky", int(sys.argv[2])
models = []


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(64, width), nn.Linear(width, 1)

    def forward(self, x):
        return self.second(self.first(x).relu())


def objective(trial):
    torch.manual_seed(trial.number)
    net = Net(trial.suggest_int("width", 256, 512))
    optimizer = torch.optim.Adam(net.parameters(), trial.suggest_float("rate", 1e-4, 1e-2, log=True))
    x = torch.randn(1024, 64)
    y = x.abs().sum(1, keepdim=True)
    for _ in range(80):
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    models.append(net)  # for an ensemble of the best
    if not LEAKY:
        del models[:-5]
    return loss.item()


torch.set_num_threads(1)
optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
study.optimize(objective, n_trials=TRIALS)
print("RESULT", study.best_value)
