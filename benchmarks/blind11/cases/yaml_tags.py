"""The settings of each generation's species are written in YAML, with a tag that fills in what they leave out."""

import collections
import functools
import sys
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Template:
    def __init__(self, rng):
        self.genes = rng.normal(size=5_000).tolist()
        self.bounds = [(-abs(gene), abs(gene)) for gene in self.genes[:500]]


def build(template, loader, node):
    settings = {"rate": 0.1, "size": 16, "genes": template.genes[:4]}
    settings.update(loader.construct_mapping(node))
    return settings


def register(tag, template):
    yaml.add_constructor(tag, functools.partial(build, template), Loader=yaml.SafeLoader)


def main():
    rng = np.random.default_rng(10)
    replay = collections.deque(maxlen=20)
    for generation in pp.generations(range(driver.generations(64))):
        with pp.profile_phase("speciate"):
            template = Template(rng)
            tag = f"!species{generation}" if driver.LEAK else "!species"
            register(tag, template)
            driver.work(35)
        with pp.profile_phase("configure"):
            settings = yaml.safe_load(f"{tag}\nsize: {generation % 5 + 3}\nrate: 0.0{generation % 9 + 1}\n")
            driver.work(10)
        with pp.profile_phase("evolve"):
            replay.append(rng.normal(size=(300, 10 * settings["size"])) * settings["rate"])
            driver.work(65)
    driver.finish()


main()
