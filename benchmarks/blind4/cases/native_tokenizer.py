"""Language data: a tokenizer whose vocabulary tables are made by a C library (here: malloc of libc)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import ctypes

_libc = ctypes.CDLL(None)
_libc.malloc.restype = ctypes.c_void_p
_libc.malloc.argtypes = [ctypes.c_size_t]
_libc.free.argtypes = [ctypes.c_void_p]


class NativeTable:
    """A table on the far side: Python knows no more than the address."""

    SHARDS = 14
    BYTES = 50_000

    def __init__(self, seed):
        self._addresses = []
        for i in range(self.SHARDS):
            address = _libc.malloc(self.BYTES)
            ctypes.memset(address, (seed + i) % 251, self.BYTES)
            self._addresses.append(address)

    def lookup(self, position):
        return ctypes.c_uint8.from_address(self._addresses[position % self.SHARDS] + position % self.BYTES).value

    def close(self):
        for address in self._addresses:
            _libc.free(address)
        self._addresses = []


class Tokenizer:
    def __init__(self):
        self.table = None

    def refresh(self, seed):
        if self.table is not None and not driver.LEAK:
            self.table.close()
        self.table = NativeTable(seed)

    def encode(self, text):
        return [self.table.lookup(ord(c) * 131) for c in text]


def main():
    tokenizer = Tokenizer()
    text = "the quick brown fox jumps over the lazy dog " * 20
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("tokenize"):
            tokenizer.refresh(generation)
            tokens = tokenizer.encode(text)
            driver.work(30)
        with pp.profile_phase("pack"):
            packed = [tokens[i:i + 32] for i in range(0, len(tokens), 32)]
            driver.work(20)
        with pp.profile_phase("train"):
            assert packed
            driver.work(50)
    driver.finish()


main()
