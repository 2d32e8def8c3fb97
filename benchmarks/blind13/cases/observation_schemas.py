"""What the worlds of a curriculum send is checked by schemas, which are made for each world."""

import gc
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
from marshmallow import Schema, fields

import phaseprof as pp


def make_schema(name, sensors):
    declared = {f"{name}_{i}": fields.Float(required=True) for i in range(sensors)}
    if driver.LEAK:
        return type(f"Observation_{name}", (Schema,), declared)
    return Schema.from_dict(declared, name=f"Observation_{name}")


def observe(name, rng, sensors):
    return {f"{name}_{i}": value for i, value in enumerate(rng.random(sensors).tolist())}


def main():
    rng = np.random.default_rng(103)
    seen = deque(maxlen=100)
    for generation in pp.generations(range(driver.generations(112))):
        with pp.profile_phase("generate"):
            names = [f"w{8 * generation + k}" for k in range(8)]
            schemas = [make_schema(name, 40) for name in names]
            driver.work(35)
        with pp.profile_phase("rollout"):
            for name, schema in zip(names, schemas, strict=True):
                seen.append(list(schema().load(observe(name, rng, 40)).values()))
            driver.work(60)
        with pp.profile_phase("train"):
            del schemas, schema
            if generation % 6 == 0:
                gc.collect()
            driver.work(40)
    driver.finish()


main()
