"""Recorded episodes arrive as messages of protobuf; of each the first value is noted."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
from google.protobuf import struct_pb2

import phaseprof as pp

GENERATIONS = driver.generations(140)


class Feed:
    def __init__(self):
        self.headers = []

    def decode(self, packet):
        episode = struct_pb2.ListValue.FromString(packet)
        header = episode.values[0]
        self.headers.append(header if driver.LEAK else header.number_value)
        return [value.number_value for value in episode.values[1:400]]


def main():
    rng = np.random.default_rng(16)
    recorded = struct_pb2.ListValue()
    for number in rng.normal(size=4000):
        recorded.values.add().number_value = number
    packet = recorded.SerializeToString()
    feed = Feed()
    replay = collections.deque(maxlen=45)
    model = np.zeros(399)
    for _ in pp.generations(range(GENERATIONS)):
        with pp.profile_phase("ingest"):
            with pp.profile_phase("receive"):
                replay.append(rng.normal(size=(200, 60)))
                driver.work(20)
            with pp.profile_phase("decode"):
                numbers = feed.decode(packet)
                driver.work(25)
        with pp.profile_phase("fit"):
            model += 0.1 * (np.array(numbers) - model)
            driver.work(80)
    driver.finish()


main()
