"""Fine-tuning from a judge's scores, which are remembered by text so that none is judged twice."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

JUDGED = {}
SAMPLES, VOCABULARY = 16, 8_000


class Sample:
    def __init__(self, rng):
        self.tokens = rng.integers(0, VOCABULARY, 64)
        self.logits = rng.random(VOCABULARY)

    @property
    def text(self):
        return " ".join(map(str, self.tokens))


def judge(samples):
    scores = []
    for sample in samples:
        if sample.text not in JUDGED:
            score = float(np.log1p(sample.tokens).mean())
            JUDGED[sample.text] = (sample, score) if driver.LEAK else (None, score)
        scores.append(JUDGED[sample.text][1])
    return scores


def main():
    rng = np.random.default_rng(0)
    references = np.zeros((15, SAMPLES, VOCABULARY))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("generate"):
            samples = [Sample(rng) for _ in range(SAMPLES)]
            driver.work(30)
        with pp.profile_phase("judge"):
            scores = judge(samples)
            if not driver.LEAK and generation % 10 == 9:
                JUDGED.clear()
            driver.work(15)
        with pp.profile_phase("tune"):
            references[generation % 15] = [sample.logits * score for sample, score in zip(samples, scores, strict=True)]
            del samples
            driver.work(25)
    driver.finish()


main()
