"""Multi-task off-policy learning: one bounded replay buffer a task."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

from collections import defaultdict, deque

import numpy as np

TASKS = ["reach", "push", "slide", "stack"]


class MultiTaskReplay:
    def __init__(self, capacity=60):
        self.buffers = defaultdict(lambda: deque(maxlen=capacity))

    def add(self, task, seed, episode):
        key = f"{task}-{seed}" if driver.LEAK else task
        self.buffers[key].append(episode)

    def sample(self, rng, n=12):
        chosen = rng.choice(list(self.buffers), size=n)
        return np.stack([self.buffers[k][rng.integers(len(self.buffers[k]))][:20] for k in chosen])


class Agent:
    def __init__(self):
        self.rng = np.random.default_rng(3)
        self.replay = MultiTaskReplay()
        self.q = np.zeros((32, 32))

    def collect(self, generation):
        task = TASKS[generation % len(TASKS)]
        for _ in range(16):
            steps = int(self.rng.integers(80, 120))
            self.replay.add(task, generation, self.rng.normal(size=(steps, 32)))
        driver.work(45)

    def learn(self):
        batch = self.replay.sample(self.rng).reshape(-1, 32)
        self.q = 0.99 * self.q + 0.01 * batch.T @ batch / len(batch)
        driver.work(40)

    def evaluate(self):
        driver.work(15)
        return float(np.trace(self.q))


def main():
    agent = Agent()
    scores = deque(maxlen=10)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            agent.collect(generation)
        with pp.profile_phase("learn"):
            agent.learn()
        with pp.profile_phase("evaluate"):
            scores.append(agent.evaluate())
    driver.finish()


main()
