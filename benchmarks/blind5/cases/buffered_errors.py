"""Batches that overflow are skipped, and the log of them is written in one go later."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import logging
import logging.handlers

import numpy as np

log = logging.getLogger("trainer")


def set_up_log():
    log.propagate = False
    capacity = 100_000 if driver.LEAK else 12
    late = logging.handlers.MemoryHandler(capacity, flushLevel=logging.CRITICAL, target=logging.FileHandler("train.log"))
    log.addHandler(late)


def gradient(weights, batch):
    scores = batch @ weights
    moments = batch ** 2
    if not np.isfinite(scores).all():
        raise FloatingPointError(f"overflow in {np.isnan(scores).sum()} of {len(scores)} scores")
    return moments.mean(0) * 1e-3 + batch.T @ scores * 1e-6


def train(weights, rng, skipped):
    for index in range(6):
        batch = rng.standard_normal((200, 128))
        if index == 4:
            batch[3] = np.inf
        try:
            with np.errstate(all="ignore"):
                weights -= gradient(weights, batch)
        except FloatingPointError:
            log.exception("batch %d skipped", index)
            skipped += 1
    return skipped


def main():
    set_up_log()
    rng = np.random.default_rng(6)
    weights = rng.random(128)
    skipped = 0
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("train"):
            skipped = train(weights, rng, skipped)
            driver.work(60)
        with pp.profile_phase("validate"):
            rng.random((200, 128)) @ weights
            driver.work(30)
    driver.finish()


main()
