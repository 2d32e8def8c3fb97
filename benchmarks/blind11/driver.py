"""The driver of the third set, for sixty generations or as many as a program asks for."""

import os
import pathlib
import runpy

_asked = os.environ.get("BLIND_GENERATIONS")
os.environ.setdefault("BLIND_GENERATIONS", "60")
globals().update(runpy.run_path(str(pathlib.Path(__file__).resolve().parents[1] / "blind3" / "driver.py")))


def generations(number: int) -> int:
    """How many generations a longer program has: its own number, unless the environment says otherwise."""
    return int(_asked or number)
