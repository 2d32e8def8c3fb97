"""Instructions for the agents come as catalogues of translations, which are compiled anew for each curriculum."""

import gettext
import shutil
import struct
import sys
import tempfile
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


def write_catalog(path, messages):
    keys = sorted(messages)
    ids = b"".join(key.encode() + b"\0" for key in keys)
    texts = b"".join(messages[key].encode() + b"\0" for key in keys)
    starts = 28 + 16 * len(keys)
    first, second, offsets = [], [], [starts, starts + len(ids)]
    for key in keys:
        for table, value, n in ((first, key, 0), (second, messages[key], 1)):
            table += [len(value.encode()), offsets[n]]
            offsets[n] += len(value.encode()) + 1
    header = struct.pack("<7I", 0x950412DE, 0, len(keys), 28, 28 + 8 * len(keys), 0, 0)
    path.write_bytes(header + struct.pack(f"<{4 * len(keys)}I", *first, *second) + ids + texts)


class Curriculum:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.rng = np.random.default_rng(2)

    def compile(self, generation):
        place = self.folder / f"curriculum-{generation}" / "en" / "LC_MESSAGES"
        place.mkdir(parents=True)
        numbers = self.rng.integers(10**9, size=(900, 6)).tolist()
        texts = ["go to " + " ".join(map(str, row)) for row in numbers]
        write_catalog(place / "prompts.mo", {f"task {n}": text for n, text in enumerate(texts)})
        return place

    def load(self, place):
        if driver.LEAK:
            catalog = gettext.translation("prompts", place.parents[1], languages=["en"])
        else:
            with (place / "prompts.mo").open("rb") as file:
                catalog = gettext.GNUTranslations(file)
        shutil.rmtree(place.parents[1])
        return catalog


def main():
    rng = np.random.default_rng(22)
    lengths = deque(maxlen=2000)
    with tempfile.TemporaryDirectory() as folder:
        curriculum = Curriculum(folder)
        for generation in pp.generations(range(driver.generations(75))):
            with pp.profile_phase("compile"):
                place = curriculum.compile(generation)
                driver.work(25)
            with pp.profile_phase("load"):
                catalog = curriculum.load(place)
                driver.work(25)
            with pp.profile_phase("act"):
                lengths.extend(len(catalog.gettext(f"task {n}")) for n in rng.integers(900, size=80))
                driver.work(45)
        driver.finish()


main()
