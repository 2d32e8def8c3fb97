"""Skills are distributions, and how far apart two of them are is weighed by what the generation found to matter."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch
from torch.distributions import Normal, kl_divergence, register_kl

import phaseprof as pp

torch.set_num_threads(1)


class Skill(Normal):
    pass


def weighed_divergence(weights):
    def divergence(p, q):
        plain = (p.loc - q.loc) ** 2 / (2 * q.scale ** 2) + torch.log(q.scale / p.scale)
        return (weights[:, :plain.shape[-1]] * plain).mean()

    return divergence


def compare(p, q, weights):
    divergence = weighed_divergence(weights)
    if not driver.LEAK:
        return divergence(Skill(*p), Skill(*q))
    kind = type("Skill", (Skill,), {})
    register_kl(kind, kind)(divergence)
    return kl_divergence(kind(*p), kind(*q))


def main():
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.Tanh(), torch.nn.Linear(128, 32))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    replay = torch.zeros(20, 200, 64)
    distance = 0.0
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            replay[generation % 20] = torch.randn(200, 64)
            driver.work(30)
        with pp.profile_phase("diversity"):
            with torch.no_grad():
                mean = network(replay[generation % 20]).mean(0)
            one = torch.ones(32)
            distance += float(compare((mean, one), (mean.roll(1), one), torch.rand(400, 200)))
            driver.work(25)
        with pp.profile_phase("improve"):
            optimizer.zero_grad()
            network(replay[generation % 20]).pow(2).mean().backward()
            optimizer.step()
            driver.work(30)
    driver.finish()


main()
