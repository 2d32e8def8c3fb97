"""Observation spaces become record classes, each with an encoder of its own (single dispatch)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

from dataclasses import make_dataclass
from functools import singledispatch


class CodeEntry:
    __slots__ = ("symbol", "code", "weight")

    def __init__(self, symbol, code, weight):
        self.symbol = symbol
        self.code = code
        self.weight = weight


@singledispatch
def encode(record):
    raise TypeError(f"no encoder for {type(record).__name__}")


def make_layout(fields):
    layout = make_dataclass("Layout", [(f"f{i}", float, 0.0) for i in range(fields)])
    codebook = [CodeEntry(i, i * 2_654_435_761 % 2 ** 32, i / 3) for i in range(3_600)]

    def encode_layout(record):
        return [codebook[int(getattr(record, f"f{i}") * 100) % len(codebook)].code for i in range(fields)]

    encode.register(layout, encode_layout)
    return layout


_layouts = {}


def layout_for(fields):
    """The record class for that many fields."""
    if driver.LEAK:
        return make_layout(fields)
    if fields not in _layouts:
        _layouts[fields] = make_layout(fields)
    return _layouts[fields]


def main():
    codes = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("observe"):
            raw = [i / 10 for i in range(4 + generation % 6)]
            driver.work(40)
        with pp.profile_phase("encode"):
            layout = layout_for(len(raw))
            codes = encode(layout(*raw))
            driver.work(25)
        with pp.profile_phase("policy"):
            assert len(codes) == len(raw)
            driver.work(35)
    driver.finish()


main()
