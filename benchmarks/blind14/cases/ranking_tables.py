"""The ranks of a population are computed by a data base in memory, in a table of their own for each generation."""

import sqlite3
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Ranking:
    def __init__(self):
        self.base = sqlite3.connect(":memory:")
        self.base.execute("PRAGMA temp_store = MEMORY")
        self.base.execute("CREATE TABLE champions (generation INTEGER, genome BLOB)")

    def rank(self, generation, genomes, scores):
        table = f"ranks_{generation}"
        self.base.execute(f"CREATE TEMP TABLE {table} (genome BLOB, score REAL, age INTEGER)")
        self.base.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)",
                              ((genome.tobytes(), score, generation % 7) for genome, score in zip(genomes, scores)))
        best = self.base.execute(f"SELECT genome FROM {table} ORDER BY score DESC LIMIT 20").fetchall()
        if not driver.LEAK:
            self.base.execute(f"DROP TABLE {table}")
        self.base.execute("INSERT INTO champions VALUES (?, ?)", (generation, best[0][0]))
        self.base.execute("DELETE FROM champions WHERE generation < ?", (generation - 30,))
        self.base.commit()
        return np.array([np.frombuffer(genome, np.float32) for genome, in best])


def main():
    rng = np.random.default_rng(131)
    ranking = Ranking()
    parents = rng.random((20, 100), np.float32)
    diversity = deque(maxlen=38)
    for generation in pp.generations(range(driver.generations(116))):
        with pp.profile_phase("breed"):
            genomes = parents[rng.integers(0, 20, 400)] + 0.1 * rng.normal(size=(400, 100)).astype(np.float32)
            driver.work(60)
        with pp.profile_phase("evaluate"):
            scores = [float(score) for score in -np.square(genomes).sum(axis=1)]
            diversity.append(genomes.std(axis=0).repeat(20))
            driver.work(80)
        with pp.profile_phase("rank"):
            parents = ranking.rank(generation, genomes, scores)
            driver.work(15)
    driver.finish()


main()
