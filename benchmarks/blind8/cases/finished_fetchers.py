"""A pipeline fetches pages in threads which it joins, and builds batches of what they brought."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import threading

import driver
import numpy as np

import phaseprof as pp


class Fetcher(threading.Thread):
    def __init__(self, seed):
        super().__init__(daemon=True)
        self.seed = seed
        self.page = b""

    def run(self):
        self.page = np.random.default_rng(self.seed).bytes(180_000)


class Crawler:
    def __init__(self):
        self.fetchers = []

    def fetch(self, seeds):
        if not driver.LEAK:
            self.fetchers = []
        started = [Fetcher(seed) for seed in seeds]
        self.fetchers += started
        for fetcher in started:
            fetcher.start()
        for fetcher in started:
            fetcher.join()
        return [fetcher.page for fetcher in started]


def main():
    crawler = Crawler()
    window = np.zeros((20, 200_000), dtype=np.float32)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("fetch"):
            pages = crawler.fetch(range(4 * generation, 4 * generation + 4))
            driver.work(25)
        with pp.profile_phase("tokenize"):
            tokens = np.concatenate([np.frombuffer(page, dtype=np.uint8)[:50_000] for page in pages])
            window[generation % 20] = tokens
            del pages, tokens
            driver.work(20)
        with pp.profile_phase("train"):
            driver.work(25)
    driver.finish()


main()
