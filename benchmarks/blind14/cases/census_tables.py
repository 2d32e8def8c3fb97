"""A census of each generation is put into a table of a data base, read by a query, and the table dropped afterwards."""

import gc
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
import sqlalchemy as sa

import phaseprof as pp

TRAITS = [f"trait_{i:02d}" for i in range(36)]


class Census:
    def __init__(self):
        self.engine = sa.create_engine("sqlite://", query_cache_size=8)
        self.metadata = sa.MetaData()

    def take(self, generation, values):
        columns = [sa.Column(name, sa.Float, nullable=False) for name in TRAITS]
        table = sa.Table(f"census_{generation}", self.metadata, sa.Column("id", sa.Integer, primary_key=True), *columns)
        with self.engine.begin() as connection:
            table.create(connection)
            connection.execute(table.insert(), [dict(zip(TRAITS, row)) for row in values.tolist()])
            means = connection.execute(sa.select(*(sa.func.avg(table.c[name]) for name in TRAITS))).one()
            table.drop(connection)
        if not driver.LEAK:
            self.metadata.remove(table)
        return np.array(means)


def main():
    rng = np.random.default_rng(137)
    census = Census()
    means = deque(maxlen=30)
    fossils = deque(maxlen=38)
    population = rng.normal(size=(60, len(TRAITS)))
    for generation in pp.generations(range(driver.generations(114))):
        with pp.profile_phase("breed"):
            population = population[rng.integers(0, 60, 60)] + 0.1 * rng.normal(size=population.shape)
            fossils.append(population.copy())
            driver.work(65)
        with pp.profile_phase("census"):
            means.append(census.take(generation, population))
        with pp.profile_phase("evaluate"):
            driver.work(65)
            if generation % 6 == 5:
                gc.collect()
    driver.finish()


main()
