"""Recordings that the tests of the page are made from: a leaking trainer, an attacker's labels, a long run."""

from __future__ import annotations

from collections.abc import Iterable

from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Evidence, Finding

MIB, SECOND, PAGE = 1 << 20, 10**9, 4096
SHARED = 256 * MIB
PHASES = (("evaluate_population", 512 * MIB), ("train_population", 256 * MIB), ("evolve_population", 256 * MIB))
HOSTILE = "</script><img src=x onerror=alert(1)>\"'&<b>%{x}$x$\u2028\u202e"


def build(records: Iterable[fmt.Record]) -> ProcessRun:
    """Take records into a model."""
    process = ProcessRun()
    for record in records:
        process.add(record)
    process.fold()
    return process


def header(*, rank: int = 0, world_size: int = 1, pid: int = 100, started_unix_s: float = 1.7e9) -> fmt.Header:
    return fmt.Header(
        format=1, phaseprof="0.1.0", pid=pid, started_unix_s=started_unix_s, started_ns=0, page_bytes=PAGE, rank=rank,
        world_size=world_size, host="trainbox", argv=["train.py", "--seed", "3"], python="3.11.9", torch="2.13.0",
        settings={"budget": "0.02"},
    )  # fmt: skip


def statm(rss_bytes: int) -> str:
    """Return the text of /proc/self/statm for a process of this size, 256 MiB of it shared."""
    return f"{2 * rss_bytes // PAGE} {rss_bytes // PAGE} {SHARED // PAGE} 1 0 9 0"


def leaky_records(n_generations: int = 5, *, head: fmt.Header | None = None) -> Iterable[fmt.Record]:
    """A trainer of 4 GiB that keeps 1 GiB and 16 environments a generation, with a record of every kind."""
    yield head or header()
    yield fmt.Watch("TradingEnvironment", 2, 2)
    yield fmt.Watch("DDPGAgent", 16, 17)
    yield fmt.Label(0, "generation", "generation")
    for at, (phase, _) in enumerate(PHASES, 1):
        yield fmt.Label(at, phase, "phase")
    yield fmt.SnapshotTaken(0, -1, "baseline", {"rss_bytes": 4096 * MIB}, {"TradingEnvironment": 2})
    for g in range(n_generations):
        yield from _generation(g)
    t, g = n_generations * 100 * SECOND, n_generations - 1
    yield fmt.Large(t, g, 50 * 10**6, [("ndarray", 2345 * MIB, "trainer.replay.obs", "float32 (600000, 1024)")])
    yield fmt.Places(t, g, 1, 160 * MIB, [
        fmt.Place(["module __main__.trainer (Trainer)", ".eval_envs (list)"], "list", 1, 160 * MIB, 0,
                  [("trading.TradingEnvironment", 48, 160 * MIB)], [("numpy.ndarray", 96, 159 * MIB)]),
    ], [
        fmt.HeapPlace(-1, "heap", 90_000, 900 * MIB, 161 * MIB),
        fmt.HeapPlace(0, "module __main__", 1, 800 * MIB, 161 * MIB),
        fmt.HeapPlace(0, "module numpy.linalg", 1, 40 * MIB, 0),
        fmt.HeapPlace(0, "module numpy.random", 1, 30 * MIB, 0),
        fmt.HeapPlace(1, ".trainer (Trainer)", 1, 790 * MIB, 160 * MIB),
        fmt.HeapPlace(4, ".eval_envs (list)", 1, 300 * MIB, 160 * MIB),
        fmt.HeapPlace(4, ".replay (dict)", 1, 400 * MIB, 0),
    ])  # fmt: skip
    yield fmt.Cost(t, g, 500.0, {"points": 0.5, "census": 4.0}, {"holders": 3})
    yield fmt.Note(t, "graph is no longer measured: torch is not imported")
    yield fmt.End(t, "closed")


def _generation(g: int) -> Iterable[fmt.Record]:
    t, rss = g * 100 * SECOND, (4096 + 1024 * g) * MIB
    device = {"cuda0": [(2048 + 41 * g) * MIB, 3072 * MIB, 2048 * MIB, 48 * MIB, 2000 * MIB, 900 + g]}
    yield fmt.GenerationBegin(t, g, g + 1)
    yield fmt.Point(t, 0, fmt.ENTER, g, statm(rss), device)
    for at, (_, grown) in enumerate(PHASES, 1):
        yield fmt.Point(t := t + SECOND, at, fmt.ENTER, g, statm(rss), device)
        rss += grown
        yield fmt.Point(t := t + SECOND, at, fmt.EXIT, g, statm(rss), device)
    yield fmt.Point(t := t + SECOND, 0, fmt.EXIT, g, statm(rss), device)
    yield fmt.GenerationEnd(t, g, 32.0 + 8 * g, 6400)
    yield fmt.Metrics(t, g, {
        "watched/TradingEnvironment": 18 + 16 * g, "watched/DDPGAgent": 17,
        "count/trading.TradingEnvironment": 18 + 16 * g, "tracked/experience": (500 + 8 * g) * MIB,
        "tracked/policy": 45 * MIB, "storages/cpu_bytes": (600 + 100 * g) * MIB,
        "arrays_bytes": (1024 + 700 * g) * MIB, "python_blocks": 10**6 + 10**5 * g,
    })  # fmt: skip
    yield fmt.Violation(t, g, "TradingEnvironment", 18 + 16 * g, 2, 2, PHASES[0][0], 0)


def leak_finding() -> Finding:
    return Finding(
        "leak", "objects", phase="evaluate_population", subject="TradingEnvironment",
        holder=("trainer (Trainer)", ".eval_envs (list, 82)", "[-1] TradingEnvironment"),
        metric="watched/TradingEnvironment", slope=16.0, slope_unit="objects/generation", slope_low=16.0,
        slope_high=16.0, since_generation=1, since_ordinal=0, confidence=0.98, eta_s=7200.0,
        summary="TradingEnvironment is born in evaluate_population and never freed: 16 more each generation.",
        advice="Pass the trainer's own environments to run_episode() instead of making new ones.",
        evidence=(Evidence("generation end", "watched/TradingEnvironment", (0, 1, 2, 3, 4), (18, 34, 50, 66, 82)),),
    )  # fmt: skip


def hostile_records() -> Iterable[fmt.Record]:
    """A recording in which every name, path and note is an attack."""
    yield fmt.Header(
        format=1, phaseprof=HOSTILE, pid=1, started_unix_s=1.7e9, started_ns=0, page_bytes=4096, host=HOSTILE,
        argv=[HOSTILE], python=HOSTILE, torch=HOSTILE, settings={"budget": HOSTILE},
    )  # fmt: skip
    yield fmt.Watch(HOSTILE, 1, 2)
    yield fmt.Label(0, "generation", "generation")
    yield fmt.Label(1, HOSTILE, "phase", site=f"/{HOSTILE}.py:3")
    for g in range(8):
        yield fmt.GenerationBegin(g, g, f"{HOSTILE}{g}")
        yield fmt.Point(g * SECOND, 1, fmt.ENTER, g, statm(600 * MIB), {HOSTILE: [g * MIB, 9 * MIB]})
        yield fmt.Point(g * SECOND + 1, 1, fmt.EXIT, g, statm((600 + g) * MIB), {HOSTILE: [g * MIB, 9 * MIB]})
        figures = {f"tracked/{HOSTILE}": g, f"watched/{HOSTILE}": g, f"count/{HOSTILE}": g, "rss_bytes": g}
        yield fmt.Metrics(g * SECOND + 2, g, {**figures, f"{HOSTILE}/allocated_bytes": g * MIB})
        yield fmt.GenerationEnd(g * SECOND + 3, g, 1.0, 10)
    yield fmt.Violation(9, 7, HOSTILE, 7, 1, 2, HOSTILE, 3)
    yield fmt.SnapshotTaken(9, 7, HOSTILE, {"rss_bytes": 1.0}, {HOSTILE: 3})
    yield fmt.Large(9, 7, 1, [(HOSTILE, 10**9, HOSTILE, HOSTILE)])
    yield fmt.Places(9, 7, 3, MIB, [fmt.Place([HOSTILE, HOSTILE], HOSTILE, 1, MIB, 0, [(HOSTILE, 1, MIB)], [])],
                     [fmt.HeapPlace(-1, HOSTILE, 1, MIB, MIB), fmt.HeapPlace(0, HOSTILE, 1, MIB, MIB)])  # fmt: skip
    yield fmt.Cost(9, 7, 1.0, {HOSTILE: 0.1}, {HOSTILE: 4})
    yield fmt.Note(9, HOSTILE)
    yield fmt.End(9, HOSTILE)


def hostile_finding() -> Finding:
    return Finding(
        "leak", "objects", phase=HOSTILE, subject=HOSTILE, holder=(HOSTILE, HOSTILE), site=HOSTILE, metric=HOSTILE,
        slope=1.0, slope_unit=f"{HOSTILE}/{HOSTILE}", summary=HOSTILE, advice=HOSTILE,
        evidence=(Evidence(HOSTILE, HOSTILE, (0, 1), (1.0, 2.0)),),
    )  # fmt: skip


def many_readings(n_generations: int, *, spike_at: int = -1) -> Iterable[fmt.Record]:
    yield header()
    yield fmt.Label(0, "generation", "generation")
    for at in range(1, 6):
        yield fmt.Label(at, f"phase {at}", "phase")
    t = 0
    for g in range(n_generations):
        yield fmt.GenerationBegin(t, g, g)
        for at in range(6):
            yield fmt.Point(t, at, fmt.ENTER, g, statm((600 + g // 10) * MIB))
            grown = 4096 if g == spike_at and at == 3 else 1
            if at:
                yield fmt.Point(t := t + SECOND, at, fmt.EXIT, g, statm((600 + g // 10 + grown) * MIB))
        yield fmt.Point(t, 0, fmt.EXIT, g, statm((600 + g // 10) * MIB))
        yield fmt.GenerationEnd(t, g, 5.0)
