"""A learner takes transitions from a byte stream; what it has read stays in front of what it has not."""

import struct
import time

from leakbench import Case, Truth

RECORD = struct.Struct("<IIf24f")


class Link:
    def __init__(self, compact_after):
        self.compact_after = compact_after
        self.inbound = bytearray()
        self.position = 0

    def feed(self, data):
        self.inbound += data

    def take(self):
        while len(self.inbound) - self.position >= RECORD.size:
            yield RECORD.unpack_from(self.inbound, self.position)
            self.position += RECORD.size
        if self.compact_after and self.position > self.compact_after:
            del self.inbound[: self.position]
            self.position = 0


class Learner:
    def __init__(self, leaky):
        self.link = Link(compact_after=None if leaky else 550_000)
        self.reward = 0.0

    def generation(self, pp, index):
        with pp.phase("receive"):
            for part in range(10):
                state = [0.1 * part] * 24
                self.link.feed(b"".join(RECORD.pack(index, step, 0.5, *state) for step in range(110)))
            time.sleep(0.1)
        with pp.phase("learn"):
            for _, _, reward, *_ in self.link.take():
                self.reward = 0.99 * self.reward + reward
            time.sleep(0.12)


CASE = Case(
    name="blind2_wire_buffer",
    build=Learner,
    truth=Truth(
        phase="receive",
        kind="container",
        subject="bytearray",
        holder=("link", "inbound"),
        also=("native", "objects"),
    ),
    source="synthetic",
    generations=34,
)
