"""Meta learning: each task adapts a fresh copy of the learner and takes a second-order gradient."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)


def make_learner():
    return nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 128), nn.Tanh(), nn.Linear(128, 1))


def sample_task():
    x = torch.randn(32, 64)
    return x, torch.sin(x.sum(-1, keepdim=True))


def adapt(learner, x, y, step=0.01):
    """The inner loop, on a copy: the loss after one step, differentiable."""
    fast = copy.deepcopy(learner)
    loss = F.mse_loss(fast(x), y)
    if driver.LEAK:
        loss.backward(create_graph=True)
        gradients = [p.grad for p in fast.parameters()]
    else:
        gradients = torch.autograd.grad(loss, list(fast.parameters()), create_graph=True)
    names = [n for n, _ in fast.named_parameters()]
    moved = {n: p - step * g for n, p, g in zip(names, fast.parameters(), gradients)}
    after = F.mse_loss(torch.func.functional_call(fast, moved, (x,)), y)
    return [m.detach() for m in moved.values()], after.item()


def main():
    learner = make_learner()
    recent = []
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("sample_tasks"):
            tasks = [sample_task() for _ in range(2)]
            driver.work(20)
        with pp.profile_phase("inner_loop"):
            results = [adapt(learner, x, y) for x, y in tasks]
            driver.work(50)
        with pp.profile_phase("meta_update"):
            with torch.no_grad():
                for i, parameter in enumerate(learner.parameters()):
                    target = torch.stack([moved[i] for moved, _ in results]).mean(0)
                    parameter.lerp_(target, 0.1)
            recent = (recent + [after for _, after in results])[-20:]
            driver.work(30)
        del results, tasks
    driver.finish()


main()
