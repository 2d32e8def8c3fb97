"""One suspect, and how far the look at it has come."""

from __future__ import annotations

from dataclasses import dataclass, field

from phaseprof.live.families import Reader, TypeFamily
from phaseprof.live.ledger import BirthLedger, DeltaLedger
from phaseprof.probes.holders import HolderPath
from phaseprof.recording import format as fmt


@dataclass
class Investigation:
    """One suspect: a watched class or a counter; and how far the look at it has come.

    ``rate``: what a counter rises by in a generation, so that what was followed can be held against it; 0: not known.
    """

    key: str
    subject: str
    began: int
    family: TypeFamily | None = None
    counter: Reader | None = None
    births: BirthLedger = field(default_factory=BirthLedger)
    deltas: DeltaLedger = field(default_factory=DeltaLedger)
    phase: str | None = None
    stage: str = "births"
    rate: float = 0.0
    began_ns: int = 0  # when it was begun, on the profiler's clock; 0: not said


def holder_record(one: Investigation, path: HolderPath, *, t: int, g: int) -> fmt.Holder:
    """Make the record of a path to a suspect's survivors.

    Args:
        one: the suspect.
        path: the chain of holders.
        t: now, in nanoseconds.
        g: ordinal of the current generation.
    """
    container, length = path.container or ("", -1)
    return fmt.Holder(
        t=t, g=g, subject=one.key, steps=list(path.steps), root=path.root, reason=path.reason, container=container,
        length=length, item=one.subject, bound=-1 if path.bound is None else path.bound,
        bound_length=-1 if path.bound_length is None else path.bound_length,
    )  # fmt: skip
