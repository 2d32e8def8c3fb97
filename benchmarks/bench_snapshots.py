"""A CUDA snapshot of 380,000 live blocks: our whole report beside torch's own loader and segment summary."""

from __future__ import annotations

import gzip
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from phaseprof.report.snapshots_report import analyse_snapshots

RECORDED = Path(__file__).parent.parent / "tests" / "data" / "snapshots" / "snapshot_380k.pickle.gz"
MEMORY_BOUND = 0.5  # the loaded object may be at least half of our peak: twice its memory, no more

# Each in a process of its own, since the peak of a process never falls again. Read from /proc, because ru_maxrss of a
# young process still holds that of its parent.
_PEAK = """
import re, sys, tabulate, pickle
from phaseprof.report.snapshots_report import analyse_snapshots
def peak():
    with open("/proc/self/status") as stream:
        return 1024 * int(re.search(r"VmHWM:\\s*(\\d+)", stream.read())[1])
before = peak()
"""
_OUR_PEAK = f"""{_PEAK}
str(analyse_snapshots(sys.argv[1]))
print(peak() - before)
"""
_LOADED_OBJECT = f"""{_PEAK}
with open(sys.argv[1], "rb") as stream:
    loaded = pickle.load(stream)
print(peak() - before)
"""


def rows(quick: bool = False) -> list[dict[str, object]]:
    """Measure time (needs torch; left out without it) and peak memory.

    Returns:
        Rows of ``name``, ``ours`` and ``peer`` (seconds or bytes), ``peer_name``, ``ratio`` (peer over ours) and the
        least ``bound`` of that ratio.
    """
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "snapshot_step_1.pickle"
        plain.write_bytes(gzip.decompress(RECORDED.read_bytes()))
        return [*_time_rows(plain, 3 if quick else 9), *_memory_rows(plain)]


def _time_rows(plain: Path, rounds: int) -> list[dict[str, object]]:
    try:
        from torch.cuda import _memory_viz
    except ImportError:
        return []

    def peer() -> object:
        with plain.open("rb") as stream:
            return _memory_viz.segsum(pickle.load(stream))

    ours_s, peer_s = _interleaved_medians_s(lambda: str(analyse_snapshots(plain)), peer, rounds)
    return [
        {
            "name": "report on a snapshot of 380,000 blocks",
            "ours": round(ours_s, 3),
            "peer": round(peer_s, 3),
            "peer_name": "pickle.load + torch.cuda._memory_viz.segsum",
            "ratio": round(peer_s / ours_s, 2),
            "bound": 1.0,
        }
    ]


def _memory_rows(plain: Path) -> list[dict[str, object]]:
    if not Path("/proc/self/status").exists():
        return []
    ours, peer = (_bytes_of(program, plain) for program in (_OUR_PEAK, _LOADED_OBJECT))
    return [
        {
            "name": "peak memory for that report",
            "unit": "bytes",
            "ours": ours,
            "peer": peer,
            "peer_name": "the loaded object alone",
            "ratio": round(peer / ours, 2),
            "bound": MEMORY_BOUND,
        }
    ]


def _bytes_of(program: str, plain: Path) -> int:
    done = subprocess.run([sys.executable, "-c", program, str(plain)], capture_output=True, check=True, text=True)
    return int(done.stdout)


def _interleaved_medians_s(
    first: Callable[[], object], second: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """Time two calls in turn, so that a busy moment of the machine hits both."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for call, seen in zip((first, second), times, strict=True):
            start = time.perf_counter()
            call()
            seen.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


if __name__ == "__main__":
    for row in rows():
        print(row)
