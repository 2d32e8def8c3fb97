"""Each evaluation adds a filter to the logger which marks its records with the tags of the trial."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import collections
import logging
import os

import driver
import numpy as np

import phaseprof as pp

logger = logging.getLogger("evaluation")
logger.propagate = False
logger.setLevel(logging.INFO)
logger.addHandler(logging.FileHandler(os.devnull))


class TrialTags(logging.Filter):
    def __init__(self, trial, count):
        super().__init__()
        self.tags = {f"trial{trial}/parameter{k}": f"value-{trial}-{k}" for k in range(count)}

    def filter(self, record):
        record.tag = len(self.tags)
        return True


def evaluate(trial, policy):
    tags = TrialTags(trial, 3_500)
    logger.addFilter(tags)
    for k in range(5):
        logger.info("episode %d return %.3f", k, policy[k])
    if not driver.LEAK:
        logger.removeFilter(tags)


def main():
    rng = np.random.default_rng(0)
    policies = collections.deque(maxlen=20)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("propose"):
            policies.append(rng.normal(size=120_000))
            driver.work(30)
        with pp.profile_phase("evaluate"):
            evaluate(generation, policies[-1])
            driver.work(20)
        with pp.profile_phase("report"):
            driver.work(15)
    driver.finish()


main()
