"""Traces of evaluation episodes are packed with zlib, straight from its library."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import ctypes
import ctypes.util

import numpy as np

_zlib = ctypes.CDLL(ctypes.util.find_library("z") or "libz.so.1")


class Stream(ctypes.Structure):
    _fields_ = [
        ("next_in", ctypes.c_void_p), ("avail_in", ctypes.c_uint), ("total_in", ctypes.c_ulong),
        ("next_out", ctypes.c_void_p), ("avail_out", ctypes.c_uint), ("total_out", ctypes.c_ulong),
        ("msg", ctypes.c_char_p), ("state", ctypes.c_void_p), ("zalloc", ctypes.c_void_p), ("zfree", ctypes.c_void_p),
        ("opaque", ctypes.c_void_p), ("data_type", ctypes.c_int), ("adler", ctypes.c_ulong), ("reserved", ctypes.c_ulong),
    ]


_zlib.zlibVersion.restype = ctypes.c_char_p
_zlib.deflateInit_.argtypes = [ctypes.POINTER(Stream), ctypes.c_int, ctypes.c_char_p, ctypes.c_int]
_zlib.deflate.argtypes = [ctypes.POINTER(Stream), ctypes.c_int]
_zlib.deflateEnd.argtypes = [ctypes.POINTER(Stream)]
FINISH = 4


class Packer:
    def __init__(self, room):
        self.out = ctypes.create_string_buffer(room)
        self.size = 0
        self.stream = Stream()
        if _zlib.deflateInit_(self.stream, 6, _zlib.zlibVersion(), ctypes.sizeof(Stream)):
            raise RuntimeError("deflateInit")
        self.stream.next_out = ctypes.addressof(self.out)
        self.stream.avail_out = room

    def write(self, data, flush=0):
        source = ctypes.create_string_buffer(data, len(data))
        self.stream.next_in, self.stream.avail_in = ctypes.addressof(source), len(data)
        _zlib.deflate(self.stream, flush)
        self.size = self.stream.total_out

    def finish(self):
        self.write(b"", FINISH)
        self.close()

    def close(self):
        _zlib.deflateEnd(self.stream)


def trace(rng, limit):
    """An episode; with a limit of time it may be cut short, and then its trace is of no use."""
    packer = Packer(40_000)
    for step in range(30):
        packer.write(rng.integers(0, 30, 4_000, dtype=np.uint8).tobytes()[: 1_000])
        if limit and step == limit:
            if not driver.LEAK:
                packer.close()
            return 0
    packer.finish()
    return packer.size


def main():
    rng = np.random.default_rng(21)
    replay = np.zeros((20, 256, 256), np.float32)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            replay[generation % 20] = rng.random((256, 256), np.float32)
            driver.work(25)
        with pp.profile_phase("learn"):
            driver.work(50)
        with pp.profile_phase("evaluate"):
            limits = [12] * 14 if generation % 5 == 4 else [None] * 4
            sum(trace(rng, limit) for limit in limits)
            driver.work(20)
    driver.finish()


main()
