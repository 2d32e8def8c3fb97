"""A data pipeline writes Parquet parts and gathers their footers for the common metadata file."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import io

import driver
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import phaseprof as pp

pa.set_cpu_count(1)
COLUMNS, ROWS, GROUP = 60, 320, 40


class Exporter:
    def __init__(self):
        self.footers = []
        self.parts = 0

    def write(self, table):
        part = io.BytesIO()
        pq.write_table(table, part, row_group_size=GROUP, metadata_collector=self.footers, use_dictionary=False)
        self.footers[-1].set_file_path(f"part-{self.parts}.parquet")
        self.parts += 1

    def publish(self, schema):
        pq.write_metadata(schema, io.BytesIO(), metadata_collector=self.footers[-5:])
        if not driver.LEAK:
            self.footers.clear()


def main():
    rng, exporter = np.random.default_rng(12), Exporter()
    window = np.zeros((20, COLUMNS, ROWS * 2))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("extract"):
            window[generation % 20] = rng.normal(size=(COLUMNS, ROWS * 2))
            driver.work(20)
        with pp.profile_phase("transform"):
            table = pa.table({f"feature_{i}": column[:ROWS] for i, column in enumerate(window[generation % 20])})
            driver.work(15)
        with pp.profile_phase("export"):
            exporter.write(table)
            if generation % 5 == 4:
                exporter.publish(table.schema)
            driver.work(10)
    driver.finish()


main()
