"""Readers of data shards that close themselves when they are collected, if they ever are."""

import time
import weakref

from leakbench import Case, Truth

CLOSED = {"count": 0}


def count_closed(name):
    CLOSED["count"] += 1


class ShardReader:
    def __init__(self, name, leaky):
        self.name = name
        self.window = bytearray(40_000 + 137 * (len(name) % 7))
        weakref.finalize(self, self.close if leaky else count_closed, *(() if leaky else (name,)))

    def close(self):
        self.window = None
        count_closed(self.name)

    def records(self):
        for start in range(0, len(self.window) - 400, 400):
            yield self.window[start : start + 400]


class Epochs:
    def __init__(self, leaky):
        self.leaky = leaky
        self.seen = 0

    def generation(self, pp, index):
        with pp.phase("read"):
            for shard in range(3):
                reader = ShardReader(f"epoch-{index}/shard-{shard}", self.leaky)
                self.seen += sum(1 for _ in reader.records())
                time.sleep(0.04)
        with pp.phase("train"):
            self.seen %= 1_000_000
            time.sleep(0.1)


CASE = Case(
    name="blind2_shard_readers",
    build=Epochs,
    truth=Truth(
        phase="read",
        kind="objects",
        subject="ShardReader",
        holder=("_registry",),
        also=("container", "native"),
        subject_also=("bytearray", "finalize", "_Info", "method"),
    ),
    source="https://github.com/DiamondLightSource/httomo/pull/265",
    generations=34,
)
