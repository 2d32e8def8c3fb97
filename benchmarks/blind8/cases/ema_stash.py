"""A policy is evaluated every third generation with its averaged weights, which are swapped in and out again."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp

torch.set_num_threads(1)
WIDTH = 640


def build():
    return torch.nn.Sequential(torch.nn.Linear(128, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, WIDTH),
                               torch.nn.Tanh(), torch.nn.Linear(WIDTH, 16))


@torch.no_grad()
def swap_in(model, shadow, stash=[]):  # noqa: B006
    if not driver.LEAK:
        stash = []
    stash.append([parameter.clone() for parameter in model.parameters()])
    for parameter, average in zip(model.parameters(), shadow, strict=True):
        parameter.copy_(average)
    return stash


@torch.no_grad()
def swap_out(model, stash):
    for parameter, saved in zip(model.parameters(), stash[-1], strict=True):
        parameter.copy_(saved)


@torch.no_grad()
def update_average(model, shadow):
    for parameter, average in zip(model.parameters(), shadow, strict=True):
        average.lerp_(parameter, 0.05)


def evaluate(model, shadow):
    stash = swap_in(model, shadow)
    with torch.no_grad():
        score = model(torch.rand(64, 128)).mean().item()
    swap_out(model, stash)
    return score


def main():
    torch.manual_seed(0)
    model = build()
    shadow = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    replay = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            if len(replay) < 20:
                replay.append(torch.rand(1024, 128))
            driver.work(25)
        with pp.profile_phase("train"):
            loss = model(replay[generation % len(replay)][:128]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            update_average(model, shadow)
            driver.work(20)
        if generation % 3 == 2:
            with pp.profile_phase("evaluate"):
                evaluate(model, shadow)
                driver.work(20)
    driver.finish()


main()
