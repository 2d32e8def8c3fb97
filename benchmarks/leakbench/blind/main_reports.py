"""The main function collects a report of each episode in a local list, for a summary that needs only sums."""

import time
from dataclasses import dataclass, field

from leakbench import Case, Truth


@dataclass
class StepReport:
    reward: float
    q_values: list = field(default_factory=list)


def main(leaky):
    reports, total, count = [], 0.0, 0
    while True:
        pp, index = yield
        with pp.phase("episode"):
            fresh = [StepReport(n * 0.1, [n * 0.2, n * 0.3, n * 0.4]) for n in range(1500)]
            time.sleep(0.15)
        with pp.phase("learn"):
            total += sum(report.reward for report in fresh)
            count += len(fresh)
            time.sleep(0.1)
        with pp.phase("summary"):
            if not leaky:
                reports.clear()
            reports.extend(fresh)
            del fresh
            if leaky:
                total = sum(report.reward for report in reports[-1500:])
            time.sleep(0.05)


class Script:
    def __init__(self, leaky):
        self.steps = main(leaky)
        next(self.steps)

    def generation(self, pp, index):
        self.steps.send((pp, index))


CASE = Case(
    name="blind_main_reports",
    build=Script,
    truth=Truth(
        phase="episode",
        kind="objects",
        subject="StepReport",
        holder=("reports",),
        also=("container", "native"),
        subject_also=("list", "float"),
    ),
    source="synthetic",
    generations=24,
)
