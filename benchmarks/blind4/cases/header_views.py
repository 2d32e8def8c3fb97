"""Learner behind a network: packets come in, their headers are kept for the acknowledgement."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import struct
from collections import OrderedDict


class Receiver:
    def __init__(self, remember=40):
        self.headers = OrderedDict()
        self.remember = remember
        self.sequence = 0

    def next_packet(self):
        packet = bytearray(90_000)
        struct.pack_into("<QI", packet, 0, self.sequence, len(packet))
        packet[16:] = bytes([self.sequence % 251]) * (len(packet) - 16)
        return packet

    def receive(self):
        packet = self.next_packet()
        view = memoryview(packet)[:16]
        if driver.LEAK:
            self.headers[self.sequence] = view
        else:
            self.headers[self.sequence] = bytes(view)
            if len(self.headers) > self.remember:
                self.headers.popitem(last=False)
        self.sequence += 1
        return sum(packet[16:4_000:64])

    def acknowledge(self):
        number, length = struct.unpack("<QI", bytes(next(reversed(self.headers.values()))[:12]))
        return number, length


def main():
    receiver = Receiver()
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("receive"):
            for _ in range(6):
                receiver.receive()
            driver.work(30)
        with pp.profile_phase("acknowledge"):
            receiver.acknowledge()
            driver.work(15)
        with pp.profile_phase("learn"):
            driver.work(55)
    driver.finish()


main()
