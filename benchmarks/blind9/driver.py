"""The driver of the third set, for sixty generations."""

import os
import pathlib
import runpy

os.environ.setdefault("BLIND_GENERATIONS", "60")
globals().update(runpy.run_path(str(pathlib.Path(__file__).resolve().parents[1] / "blind3" / "driver.py")))
