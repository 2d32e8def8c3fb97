"""A Prometheus counter is labelled with the episode, so each episode leaves a child of the counter behind."""

import time

from leakbench import Case, Truth


class Monitored:
    def __init__(self, leaky):
        from prometheus_client import CollectorRegistry, Counter

        self.leaky = leaky
        self.registry = CollectorRegistry()
        self.rewards = Counter("rewards", "Reward of an episode", ["episode"], registry=self.registry)

    def generation(self, pp, index):
        with pp.phase("rollout"):
            rewards = [float(n % 7) for n in range(400)]
            time.sleep(0.15)
        with pp.phase("monitor"):
            for n, reward in enumerate(rewards):
                self.rewards.labels(f"{index if self.leaky else 0}-{n}").inc(reward)
            time.sleep(0.1)
        with pp.phase("learn"):
            sum(rewards)
            time.sleep(0.1)


CASE = Case(
    name="blind_metric_labels",
    build=Monitored,
    truth=Truth(
        phase="monitor",
        kind="objects",
        subject="Counter",
        holder=("_metrics",),
        also=("container", "native"),
        subject_also=("dict", "MutexValue", "Lock"),
    ),
    source="synthetic",
    generations=24,
    needs=("prometheus_client",),
)
