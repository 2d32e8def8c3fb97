"""A table from (agent, episode) to policy name never forgets the episodes that have ended.

Keys and values are strings and numbers, so no tracked object grows.  The healthy build pops them.
"""

import random

from leakbench import Case, Truth


class Sampler:
    def __init__(self):
        self.policy_of = {}

    def begin(self, episode, agents):
        for agent in range(agents):
            self.policy_of[agent, episode] = f"policy-{(agent * 7 + episode) % 5}"

    def end(self, episode, agents):
        for agent in range(agents):
            del self.policy_of[agent, episode]


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.random = random.Random(0)
        self.sampler = Sampler()
        self.episode = 0
        self.value = 0.0

    def generation(self, pp, index):
        returns = []
        with pp.phase("collect"):
            for _ in range(200):
                self.episode += 1
                self.sampler.begin(self.episode, agents=20)
                returns.append(sum(self.random.random() for _ in range(20)))
                if not self.leaky:
                    self.sampler.end(self.episode, agents=20)
        with pp.phase("train_step"):
            for value in returns:
                self.value += 0.01 * (value - self.value)


CASE = Case(
    name="episode_mapping",
    build=Trainer,
    truth=Truth(
        phase="collect",
        kind="container",
        subject="dict",
        holder=("Sampler", "policy_of"),
        also=("objects",),
        subject_also=("tuple", "str"),
        site=("Sampler.begin",),
    ),
    source="ray-project/ray PR#15815 and #9964",
)
