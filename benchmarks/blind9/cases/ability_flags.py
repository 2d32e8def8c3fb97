"""Creatures have abilities, flags of an enumeration which crossover mixes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import enum
from collections import deque

import driver
import numpy as np

import phaseprof as pp

Ability = enum.Flag("Ability", [f"A{number}" for number in range(40)])
MEMBERS = list(Ability)


def mix(mother, father, mask):
    if driver.LEAK:
        return ((mother & mask) | (father ^ mask)).value
    return (mother.value & mask.value) | (father.value ^ mask.value)


def parents(rng):
    picks = rng.choice(len(MEMBERS), 3, replace=False)
    return [MEMBERS[pick] for pick in picks]


def cross(rng, count):
    genes = []
    for bits in rng.integers(1, 1 << 40, count):
        mother, father, mask = parents(rng)
        value = mix(mother, father, mask)
        genes.append(int(Ability(int(bits)).value if driver.LEAK else bits) ^ value)
    return genes


def main():
    rng = np.random.default_rng(23)
    archive = deque(maxlen=20)
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("cross"):
            archive.append((cross(rng, 700), rng.normal(size=20_000)))
            driver.work(10)
        with pp.profile_phase("live"):
            driver.work(30)
        with pp.profile_phase("rank"):
            driver.work(15)
    driver.finish()


main()
