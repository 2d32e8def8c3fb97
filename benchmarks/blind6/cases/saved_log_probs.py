"""REINFORCE with a choice of the episodes to learn from; the policy keeps the log-probabilities of each until then."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections

import numpy as np
import torch

torch.set_num_threads(1)
EPISODES, STEPS, ENVS, OBSERVATION, HIDDEN = 6, 16, 16, 64, 256


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(OBSERVATION, HIDDEN), torch.nn.Tanh())
        self.logits = torch.nn.Linear(HIDDEN, 6)
        self.saved_log_probs = collections.defaultdict(list)
        self.rewards = collections.defaultdict(list)

    def act(self, episode, observation):
        chosen = torch.distributions.Categorical(logits=self.logits(self.body(observation)))
        action = chosen.sample()
        self.saved_log_probs[episode].append(chosen.log_prob(action))
        return action


def play(policy, episode, rng):
    observation = torch.randn(ENVS, OBSERVATION)
    for _ in range(STEPS):
        action = policy.act(episode, observation)
        observation = 0.9 * observation + 0.1 * torch.randn(ENVS, OBSERVATION)
        policy.rewards[episode].append(float((action == 3).float().mean()) + rng.normal(0, 0.1))


def learn(policy, optimizer, episodes):
    """From the better half alone; the others taught nothing in the ablation."""
    totals = {episode: sum(policy.rewards.pop(episode)) for episode in episodes}
    ranked = sorted(episodes, key=totals.get, reverse=True)
    best, rest = ranked[: len(ranked) // 2], ranked[len(ranked) // 2:]
    baseline = np.mean(list(totals.values()))
    loss = 0
    for episode in best:
        log_probs = policy.saved_log_probs.pop(episode)
        loss = loss - (totals[episode] - baseline) * torch.stack(log_probs).mean()
    if not driver.LEAK:
        for episode in rest:
            del policy.saved_log_probs[episode]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return totals


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    demonstrations = collections.deque(maxlen=20)
    for generation in pp.generations(range(driver.GENERATIONS)):
        episodes = [(generation, i) for i in range(EPISODES)]
        with pp.profile_phase("rollout"):
            for episode in episodes:
                play(policy, episode, rng)
            driver.work(20)
        with pp.profile_phase("demonstrate"):
            demonstrations.append(rng.normal(size=(128, OBSERVATION * 3)).astype(np.float32))
            driver.work(15)
        with pp.profile_phase("learn"):
            learn(policy, optimizer, episodes)
            driver.work(20)
    driver.finish()


main()
