"""What all cases share: the choice of the variant, real work of a given length, and the findings at the end."""

import dataclasses
import json
import os
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

import phaseprof as pp  # noqa: E402

GENERATIONS = int(os.environ.get("BLIND_GENERATIONS", "40"))
SCALE = float(os.environ.get("BLIND_SCALE", "1"))  # of the length of the generations

if len(sys.argv) != 2 or sys.argv[1] not in ("leak", "healthy"):
    sys.exit(f"usage: {sys.argv[0]} leak|healthy")
LEAK = sys.argv[1] == "leak"

_rng = np.random.default_rng(7)
_weights = _rng.normal(size=(96, 96)) / 10
_state = _rng.normal(size=(64, 96))


def _small_step() -> None:
    global _state
    _state = np.tanh(_state @ _weights) + 0.01


def work(milliseconds: float, step=_small_step) -> None:
    """Repeat a small computation for about so long."""
    end = time.perf_counter() + milliseconds * SCALE / 1_000
    step()
    while time.perf_counter() < end:
        step()


def _plain(value):
    return json.loads(json.dumps(value, default=str))


def finish() -> None:
    """Call it where the program would print its summary: while all is alive."""
    profiler = pp.get_profiler()
    findings = profiler.findings()
    out = os.environ.get("BLIND_OUT")
    if not out:
        return
    listed = []
    for finding in findings:
        fields = {}
        if dataclasses.is_dataclass(finding):
            fields = {f.name: getattr(finding, f.name) for f in dataclasses.fields(finding)}
        to_dict = getattr(finding, "to_dict", None)
        if to_dict is not None:
            fields = {**to_dict(), **fields}
        fields["text"] = str(getattr(finding, "summary", finding))
        listed.append(_plain(fields))
    conclusion = getattr(findings, "conclusion", None)
    if callable(conclusion):
        conclusion = conclusion()
    with open(out, "w") as file:
        json.dump({"findings": listed, "verdict": _plain(conclusion)}, file, indent=1)
