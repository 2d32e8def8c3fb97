"""What a boundary costs: disabled, in memory, written to disk; and what a million of them cost to read.

Run ``python -m benchmarks.bench_points [--quick]``. ``ours`` and ``peer`` are seconds except in the row of memory,
where they are bytes. Times of calls are the median of many short rounds, ours and the peer's in turn, so that both meet
the same machine; the time of a report is this process's CPU time, which other programs lengthen less.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import tempfile
import time
import timeit
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import psutil

from phaseprof import Profiler, load
from phaseprof.recording import format as fmt

ROUNDS, CALLS = 60, 200
N_CALLS, N_CALLS_QUICK = 100_000, 10_000
N_RECORDS, N_RECORDS_QUICK = 1_000_000, 200_000
N_POINTS, N_POINTS_QUICK = 10_000_000, 300_000


def seconds(statement: str, names: dict[str, object], calls: int = CALLS) -> float:
    """Return the time of one call, without a function call around it that would not be there in a program."""
    return timeit.timeit(statement, globals=names, number=calls) / calls


def in_turn(ours: str, peer: str, names: dict[str, object]) -> tuple[float, float]:
    """Return the medians of two statements, measured in turn."""
    pairs = [(seconds(ours, names), seconds(peer, names)) for _ in range(ROUNDS)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def row(name: str, ours: float, peer: float, peer_name: str, bound: float) -> dict[str, object]:
    """Make a row; ``ratio`` is how many times the peer costs what we cost, ``bound`` the ratio to reach."""
    return {"name": name, "ours": ours, "peer": peer, "peer_name": peer_name, "ratio": peer / ours, "bound": bound}


def bare() -> None:
    """What a decorated function does here: nothing."""


def disabled_rows() -> list[dict[str, object]]:
    off = Profiler(None, enabled=False)
    names = {"checkpoint": off.checkpoint, "decorated": off.phase("phase")(bare), "bare": bare}
    point, call = in_turn("checkpoint('a')", "bare()", names)
    decorated, plain = in_turn("decorated()", "bare()", names)
    over = max(decorated - plain, 1e-9)
    # The peer is the bound itself: nobody else has a switched-off decorator to compare with.
    return [
        row("disabled checkpoint()", point, 0.15e-6, f"bound 0.15 us (a bare call: {call * 1e6:.3f} us)", 1),
        row("disabled decorated call, over the bare call", over, 0.25e-6, "bound 0.25 us", 1),
    ]


def enabled_rows(folder: Path) -> list[dict[str, object]]:
    read = psutil.Process().memory_info
    rows = []
    for where, run, bound in (("in memory", None, 3), ("written to disk", str(folder / "points"), 3)):
        profiler = Profiler(run, budget=None)  # or most of so many calls would only be counted
        phase = profiler.phase("phase")(bare)
        names = {"checkpoint": profiler.checkpoint, "phase": phase, "read": read}
        with profiler.generation(), profiler.phase("around"):
            point, peer = in_turn("checkpoint('a')", "read()", names)
            visit, peer_again = in_turn("phase()", "read()", names)
        profiler.close()
        rows.append(row(f"enabled point, {where}", point, peer, "one psutil memory_info()", bound))
        # A phase keeps the stack of names besides; no bound was set for it, so it is shown against half of the peer.
        rows.append(row(f"enabled phase, entry and exit, {where}", visit, 2 * peer_again, "two psutil readings", 2))
    return rows


def sustained_rows(folder: Path, n_calls: int) -> list[dict[str, object]]:
    """CPU time of calls in a long row, all later work on their records included, wherever they stand."""
    found = []
    for mode, budget in (("every visit recorded", None), ("default budget", 0.02)):
        for place in ("in a phase", "in a generation", "outside of both"):
            for what, most in (("point", 4e-6), ("decorated call", 8e-6)):
                run = folder / f"{mode} {place} {what}"
                seconds_each = sustained(run, budget, place, what, n_calls)
                name = f"{what} {place}, {mode}, over {n_calls:,} calls"
                found.append({"name": name, "ours": seconds_each, "most": most})
    return found


def sustained(run: Path, budget: float | None, place: str, what: str, n_calls: int) -> float:
    """Return the CPU seconds of one call."""
    # Without a declared generation rounds are gathered; looks at their ends would be no cost of points.
    profiler = Profiler(run, budget=budget, min_generation_s=1e9)
    call = partial(profiler.checkpoint, "a") if what == "point" else profiler.phase("phase")(bare)
    scopes = {"in a phase": profiler.phase("around"), "in a generation": profiler.generation()}
    with scopes.get(place, nullcontext()):
        call()
        began = time.process_time()
        for _ in range(n_calls):
            call()
        profiler._session.recorder.fold()
        took = time.process_time() - began
    profiler.enabled = False
    return took / n_calls


def write_records(folder: Path, n_records: int) -> None:
    """Write a run as a trainer leaves it: a thousand generations, ten phases, each visited again and again."""
    header = fmt.Header(
        format=fmt.FORMAT_VERSION, phaseprof="0", pid=1, started_unix_s=0.0, started_ns=0, page_bytes=4096
    )
    labels = [fmt.encode(fmt.Label(number, f"phase {number}", "phase")) + b"\n" for number in range(10)]
    line = b'{"k":"p","a":%d,"e":%d,"g":%d,"t":%d,"m":"1203456 %d 12345 1 0 340000 0"}\n'
    each = max(20, n_records // 1000)
    points = (line % (n // 2 % 10, n % 2 + 1, n // each, n * 1000, 345_678 + n * 7 % 1000) for n in range(n_records))
    with (folder / "rank0-pid1.jsonl").open("wb") as stream:
        stream.write(fmt.encode(header) + b"\n")
        stream.writelines(labels)
        stream.writelines(points)


def report_row(folder: Path, n_records: int) -> dict[str, object]:
    from phaseprof.analysis.findings import find_leaks

    write_records(folder, n_records)
    gc.collect()
    began = time.process_time()
    run = load(folder)
    find_leaks(run.main)
    took = time.process_time() - began
    if run.main.phases["phase 3"].visits != n_records // 20:
        raise SystemExit("not every record was read")
    bound = 2.0 * n_records / N_RECORDS
    return row(f"report from {n_records:,} records", took, bound, "bound 2 s a million", 1)


def memory_row(n_points: int) -> dict[str, object]:
    """How much the process grows over many points; the first tenth fills what has a bound."""
    process = psutil.Process()
    profiler = Profiler(None, budget=None)
    checkpoint = profiler.checkpoint
    before = 0
    for turn in range(100):
        if turn == 10:
            before = process.memory_info().rss
        with profiler.generation(turn):
            for _ in range(n_points // 100):
                checkpoint("a")
    grown = max(1, process.memory_info().rss - before)
    profiler.close()
    return {**row(f"own memory grown over {n_points:,} points", grown, 64e6, "bound 64 MB", 1), "unit": "bytes"}


def rows(quick: bool) -> list[dict[str, object]]:
    """Measure and return one row a comparison."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "records").mkdir()
        return [
            *disabled_rows(),
            *enabled_rows(folder),
            *sustained_rows(folder, N_CALLS_QUICK if quick else N_CALLS),
            report_row(folder / "records", N_RECORDS_QUICK if quick else N_RECORDS),
            memory_row(N_POINTS_QUICK if quick else N_POINTS),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    for found in rows(parser.parse_args().quick):
        if "most" in found:
            print(f"{found['name']:75} {found['ours'] * 1e6:.2f} us, at most {found['most'] * 1e6:.0f} us")
            continue
        met = "met" if found["ratio"] >= found["bound"] else "NOT met"
        unit, scale = ("MB", 1e-6) if "memory grown" in found["name"] else ("us", 1e6)
        ours, peer = found["ours"] * scale, found["peer"] * scale
        print(
            f"{found['name']:45} {ours:12.3f} {unit}   {found['peer_name']} {peer:.3f} {unit}"
            f"   {found['ratio']:.2f}x (bound {found['bound']}x, {met})"
        )


if __name__ == "__main__":
    main()
