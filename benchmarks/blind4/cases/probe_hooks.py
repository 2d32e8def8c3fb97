"""Policy gradient with a gradient direction probe: how far do the gradients turn since the start of the round?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)


class GradientProbe:
    """Compares each gradient with the weights at the time that it was attached."""

    def __init__(self, model):
        self.model = model
        self.cosines = {}

    def attach(self):
        handles = []
        for name, parameter in self.model.named_parameters():
            if parameter.ndim < 2:
                continue
            reference = parameter.detach().clone()

            def compare(grad, name=name, reference=reference):
                self.cosines[name] = F.cosine_similarity(grad.flatten(), reference.flatten(), dim=0).item()

            handles.append(parameter.register_hook(compare))
        return handles


class Runner:
    def __init__(self):
        self.policy = nn.Sequential(nn.Linear(128, 384), nn.Tanh(), nn.Linear(384, 128), nn.Tanh(), nn.Linear(128, 8))
        self.optimizer = torch.optim.SGD(self.policy.parameters(), lr=1e-3)
        self.probe = GradientProbe(self.policy)

    def rollout(self):
        with torch.no_grad():
            obs = torch.randn(64, 128)
            actions = self.policy(obs).argmax(-1)
        driver.work(30)
        return obs, actions

    def update(self, obs, actions):
        loss = F.cross_entropy(self.policy(obs), actions)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        driver.work(50)

    def diagnose(self, obs, actions):
        handles = self.probe.attach()
        F.cross_entropy(self.policy(obs), actions).backward()
        if not driver.LEAK:
            for handle in handles:
                handle.remove()
        driver.work(20)


def main():
    runner = Runner()
    for generation in range(driver.GENERATIONS):
        with pp.generation(generation):
            with pp.profile_phase("rollout"):
                obs, actions = runner.rollout()
            with pp.profile_phase("update"):
                runner.update(obs, actions)
            with pp.profile_phase("diagnose"):
                runner.diagnose(obs, actions)
    driver.finish()


main()
