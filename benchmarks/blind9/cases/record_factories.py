"""Every trial of a search stamps the log records with its name and its best score so far."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import logging

import driver
import numpy as np

import phaseprof as pp

log = logging.getLogger("search")
log.addHandler(logging.NullHandler())
log.setLevel(logging.INFO)
log.propagate = False
PLAIN = logging.getLogRecordFactory()


def stamp_records(name, curve):
    previous = logging.getLogRecordFactory() if driver.LEAK else PLAIN

    def stamped(*args, **kwargs):
        record = previous(*args, **kwargs)
        record.trial = name
        record.best = float(curve[:100].max())
        return record

    logging.setLogRecordFactory(stamped)


def main():
    rng = np.random.default_rng(3)
    population = np.zeros((20, 40_000))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("propose"):
            population[generation % 20] = rng.normal(size=40_000)
            driver.work(15)
        with pp.profile_phase("launch"):
            stamp_records(f"trial-{generation}", rng.normal(size=60_000))
            log.info("trial %d begins", generation)
            driver.work(15)
        with pp.profile_phase("train"):
            for step in range(10):
                log.info("step %d", step)
            driver.work(30)
    driver.finish()


main()
