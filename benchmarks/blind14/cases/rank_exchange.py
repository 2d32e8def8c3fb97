"""Four ranks (here: in one process) exchange gradients through the key-value store of torch.distributed."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
import torch
import torch.distributed as dist

import phaseprof as pp

RANKS = 4


class Exchange:
    def __init__(self):
        self.store = dist.HashStore()

    def post(self, round_, rank, gradient):
        self.store.set(f"round/{round_}/rank/{rank}", gradient.numpy().tobytes())

    def average(self, round_):
        keys = [f"round/{round_}/rank/{rank}" for rank in range(RANKS)]
        gradients = [np.frombuffer(self.store.get(key), np.float32) for key in keys]
        if not driver.LEAK:
            for key in keys:
                self.store.delete_key(key)
        return torch.from_numpy(np.mean(gradients, axis=0))


def main():
    torch.manual_seed(167)
    exchange = Exchange()
    policy = torch.nn.Linear(96, 96)
    optimiser = torch.optim.Adam(policy.parameters(), lr=1e-3)
    losses = deque(maxlen=40)
    replay = deque(maxlen=22)
    for generation in pp.generations(range(driver.generations(68))):
        with pp.profile_phase("rollout"):
            replay.append(torch.randn(RANKS, 32, 96))
            driver.work(50)
        with pp.profile_phase("exchange"):
            for rank, states in enumerate(replay[-1]):
                loss = (policy(states) - states).square().mean()
                gradients = torch.autograd.grad(loss, list(policy.parameters()))
                exchange.post(generation, rank, torch.cat([gradient.reshape(-1) for gradient in gradients]))
            mean = exchange.average(generation)
            losses.append(loss.item())
            driver.work(30)
        with pp.profile_phase("update"):
            policy.weight.grad = mean[:96 * 96].reshape(96, 96).clone()
            policy.bias.grad = mean[96 * 96:].clone()
            optimiser.step()
            driver.work(40)
    driver.finish()


main()
