"""A run of 1,000 rank files and 10 million records: read, judged and reported by the command line's own path.

    python benchmarks/bench_scale.py                      from a folder, by processes of this machine
    python benchmarks/bench_scale.py --ranks 200 --s3     from a bucket, on a server of moto beside
    python benchmarks/bench_scale.py --on ray             by a cluster that is started here

The last two need what the extra ``integrations`` installs.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from phaseprof.recording import format as fmt

FULL_RANKS, QUICK_RANKS = 1_000, 20
GENERATIONS = 500
PHASES = ("reset", "collect", "learn", "imagine", "update", "evaluate", "save")
RECORDS_A_RANK = GENERATIONS * (len(PHASES) * 2 + 6)  # 20 a generation, header and labels aside
MOST_S, MOST_BYTES = 10.0, 500_000_000

# Each in a process of its own, as a user would run it. Workers are counted with the peak of the largest for each.
_REPORT = """
import json
import logging, os, re, resource, sys, time
def main():
    begin = time.perf_counter()
    from phaseprof.cli.judged import judge_run
    from phaseprof.report.build import build_report
    started_s = time.perf_counter() - begin
    workers = int(sys.argv[2]) or None
    judged = judge_run(sys.argv[1], workers=workers, on=sys.argv[3])
    n_leaks = sum(f.verdict == "leak" for found in judged.findings for f in found)
    text = str(build_report(judged.run, judged.findings, ranks=judged.ranks))
    took_s = time.perf_counter() - begin
    with open("/proc/self/status") as stream:
        own = 1024 * int(re.search(r"VmHWM:\\s*(\\d+)", stream.read())[1])
    cpu_s = sum(getattr(resource.getrusage(who), field) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
                for field in ("ru_utime", "ru_stime"))
    largest = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    n_records = sum(process.n_records for process in judged.run.processes)
    print(json.dumps({
        "s": took_s, "started_s": started_s, "cpu_s": cpu_s, "own": own, "worker": largest, "n_leaks": n_leaks,
        "n_records": n_records, "n_chars": len(text),
    }))
if __name__ == "__main__":
    main()
"""


def rows(quick: bool = False) -> list[dict[str, object]]:
    """Report a run on all cores and, of a run of 20 ranks, on one core for comparison.

    Returns:
        Rows of ``name``, ``ours`` (seconds or bytes), ``peer``: the same work by one process, ``ratio`` and ``most``.
    """
    if not Path("/proc/self/status").exists():
        return []
    n_ranks = QUICK_RANKS if quick else FULL_RANKS
    n_workers = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        run, program = Path(folder) / "run", Path(folder) / "program.py"
        program.write_text(_REPORT, encoding="utf-8")
        write_ranks(run, n_ranks)
        found = _report(program, run, workers=n_workers)
        for file in sorted(run.iterdir())[QUICK_RANKS:]:
            file.unlink()
        alone = _report(program, run, workers=1)
    # The program starts once, however many ranks there are.
    alone_s = alone["started_s"] + (alone["s"] - alone["started_s"]) * n_ranks / QUICK_RANKS
    load = os.getloadavg()[0]
    about = f"{found['n_records']:,.0f} records, {n_workers} workers, {found['cpu_s']:.1f} s of CPU, load {load:.1f}"
    return [
        {
            "name": f"report on a run of {n_ranks:,} ranks", "ours": round(found["s"], 2), "peer": round(alone_s, 2),
            "peer_name": "one process" if quick else f"one process, {QUICK_RANKS} ranks scaled up",
            "ratio": round(alone_s / found["s"], 2), "most": MOST_S, "note": about,
        },
        {
            "name": "peak memory for that report", "unit": "bytes", "ours": found["own"] + n_workers * found["worker"],
            "most": MOST_BYTES, "note": "the reporting process and as many workers, each as large as the largest",
        },
    ]  # fmt: skip


def _report(program: Path, run: Path | str, *, workers: int, on: str = "") -> dict[str, float]:
    command = [sys.executable, str(program), str(run), str(workers), on]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])  # a cluster says a word of its own
    return found


@contextlib.contextmanager
def _bucket(run: Path) -> Iterator[str]:
    """Put a run on a server of S3 on this machine; yields its address."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = importlib.import_module("moto.server").ThreadedMotoServer(port=0, verbose=False)
    server.start()
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.get_host_and_port()[1]}",
    }  # fmt: skip
    system = importlib.import_module("s3fs").S3FileSystem()
    system.mkdir("runs")
    system.put(f"{run}/", "runs/ddp", recursive=True)
    try:
        yield "s3://runs/ddp"
    finally:
        server.stop()


def report_elsewhere(n_ranks: int, *, s3: bool, on: str) -> dict[str, float]:
    """Report a run once, from a bucket or by a cluster; see ``_REPORT`` for the figures."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as open_until_then:
        run, program = Path(folder) / "run", Path(folder) / "program.py"
        program.write_text(_REPORT, encoding="utf-8")
        write_ranks(run, n_ranks)
        where = open_until_then.enter_context(_bucket(run)) if s3 else run
        return _report(program, where, workers=0, on=on)


def write_ranks(run: Path, n_ranks: int) -> None:
    """Write a run: one rank in ten leaks, the others are at rest, breathe, or fill a bounded buffer.

    The kinds of ranks are written once each and copied under a header of their own.
    """
    run.mkdir(parents=True)
    bodies = [b"".join(fmt.encode(record) + b"\n" for record in _records(kept)) for kept in _KINDS]
    for rank in range(n_ranks):
        header = fmt.Header(
            format=fmt.FORMAT_VERSION, phaseprof="0", pid=1_000 + rank, started_unix_s=1.7e9, started_ns=0,
            page_bytes=4096, rank=rank, world_size=n_ranks,
        )  # fmt: skip
        kind = 0 if rank % 10 == 0 else 1 + rank % (len(bodies) - 1)
        (run / f"rank{rank}-pid{1_000 + rank}.jsonl").write_bytes(fmt.encode(header) + b"\n" + bodies[kind])


def _wobble(g: int) -> int:
    """A pseudo-random number from 0 to 63 that is the same in every run."""
    return (g * 2_654_435_761 >> 7) & 63


# Objects that are kept at the end of a generation.
_KINDS: tuple[Callable[[int], int], ...] = (
    lambda g: 1_000 + 5 * g,
    lambda g: 1_000,
    lambda g: 1_000 + _wobble(g),
    lambda g: 1_000 + min(g, 200) * 5,
)


def _records(kept: Callable[[int], int]) -> Iterator[fmt.Record]:
    """Yield the records of one rank in the proportions that a recording has."""
    yield fmt.Label(0, "generation", "generation")
    for number, name in enumerate(PHASES, 1):
        yield fmt.Label(number, name, "phase")
    t = 0
    for g in range(GENERATIONS):
        n = kept(g)
        yield fmt.GenerationBegin(t, g, g)
        for label, edge in _boundaries():
            t += 1_000_000 + _wobble(t) * 1_000
            held = n if (label == 0 and edge == fmt.EXIT) or label > 3 else kept(max(0, g - 1))
            resident = 120_000 + held * 4 + (_wobble(t) if label else 0)
            yield fmt.Point(t, label, edge, g, m=f"{900_000 + held} {resident} 30000 1 0 800000 0")
        yield fmt.Metrics(t, g, _metrics(g, n))
        yield fmt.Cost(t, g, t / 1e9, {"points": t / 1e12, "types": t / 1e11, "recording": t / 1e12})
        yield fmt.GenerationEnd(t, g, 0.02)


def _boundaries() -> list[tuple[int, int]]:
    inner = [(number, edge) for number in range(1, len(PHASES) + 1) for edge in (fmt.ENTER, fmt.EXIT)]
    return [(0, fmt.ENTER), *inner, (0, fmt.EXIT)]


def _metrics(g: int, n: int) -> dict[str, float]:
    return {
        "n_objects": 80_000.0 + n, "count/app.Transition": float(n), "count/builtins.dict": 9_000.0 + _wobble(g),
        "python_blocks": 300_000.0 + 3 * n + _wobble(g), "malloc_in_use_bytes": 4e8 + 16_384.0 * n,
        "malloc_free_bytes": 1e6 + 4_096 * _wobble(g), "arrays_bytes": 1e8 + 16_384.0 * n, "descriptors": 20.0,
        "threads": 4.0, "children": 2.0,
    }  # fmt: skip


def main() -> None:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=FULL_RANKS)
    parser.add_argument("--s3", action="store_true")
    parser.add_argument("--on", choices=("ray", "dask"), default="")
    args = parser.parse_args()
    if args.s3 or args.on:
        print(report_elsewhere(args.ranks, s3=args.s3, on=args.on))
        return
    for row in rows():
        print(row)


if __name__ == "__main__":
    main()
