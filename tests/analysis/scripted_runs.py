"""Recordings made record by record, of which every number is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from phaseprof.analysis.symptoms import Symptom
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Evidence
from phaseprof.verdict import judge

END = "generation end"
MIB = 1 << 20
LAST = 19
# Of one in each generation the run feels something.
EACH = 65536
# What a metric reads at each generation: a number that stands still, or a function of the generation.
Curve = float | Callable[[int], float]

LOSSES = ("trainer (Trainer)", ".stats (Stats)", ".losses (list, 82)", "[-1] Episode")


def rising(slope: float, start: float = 100.0) -> Curve:
    return lambda g: start + slope * g


def record(metrics: Mapping[str, Curve], extra: Iterable[fmt.Record] = (), *, n: int = LAST + 1) -> ProcessRun:
    """A run of ``n`` generations in which ``metrics`` were read at each end; evidence in ``extra`` follows."""
    process = ProcessRun()
    for g in range(n):
        figures = {name: float(curve(g)) if callable(curve) else curve for name, curve in metrics.items()}
        process.add(fmt.Metrics(g, g, {"n_objects": 1e5, **figures}))
    process.extend(list(extra))
    return process


def seldom(key: str, values: Mapping[int, float], counter: str, slope: float, *extra: fmt.Record) -> ProcessRun:
    """A run in which a type was counted at a few generations, and a counter read at each."""
    process = ProcessRun()
    for g in range(LAST + 1):
        process.add(fmt.Metrics(g, g, {counter: 1e8 + slope * g}))
        if g in values:
            process.add(fmt.Metrics(g, g, {"n_objects": 1e5, key: values[g]}))
    process.extend(list(extra))
    return process


def held(
    subject: str, steps: Iterable[str] = LOSSES, *, item: str = "user.Episode", each: int = EACH,
    root: str = "module global", container: str = "builtins.list", length: int = 82, bound: int = -1,
    bound_length: int = -1,
) -> fmt.Holder:  # fmt: skip
    """What holds a subject: by default a list of episodes, 64 KiB each."""
    return fmt.Holder(
        0, LAST, subject, list(steps), root=root, explains=6, asked=6, item=item, container=container, length=length,
        retained_bytes=each, bound=bound, bound_length=bound_length,
    )  # fmt: skip


def in_c(subject: str, *, each: int = EACH) -> fmt.Holder:
    """A holder record of what nothing in Python refers to."""
    steps = ["outside Python", subject.rpartition(".")[2]]
    return fmt.Holder(0, LAST, subject, steps, root="outside Python", retained_bytes=each, asked=6, explains=6)


def dead(subject: str, *, each: int = 16384) -> fmt.Holder:
    """A holder record of what no root reaches."""
    steps = ["garbage", subject.rpartition(".")[2]]
    return fmt.Holder(0, LAST, subject, steps, root="garbage", retained_bytes=each, asked=6, explains=6)


def born(subject: str, after: int = 2, **phases: float) -> fmt.Births:
    """Survivors by phase, counted and without bytes."""
    return fmt.Births(0, LAST, subject, {phase: [count, 0.0] for phase, count in phases.items()}, after)


def symptom(
    key: str, slope: float = 1.0, *, holder: fmt.Holder | None = None, births: fmt.Births | None = None,
    n: int = LAST + 1,
) -> Symptom:  # fmt: skip
    """A symptom of a series that rises by ``slope`` a generation."""
    values = tuple(100.0 + slope * g for g in range(n))
    evidence = Evidence(END, key, tuple(range(n)), values)
    return Symptom(key, judge(values), evidence, births, holder)
