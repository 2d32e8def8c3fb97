"""One suspect, and how far the look at it has come."""

from __future__ import annotations

from dataclasses import dataclass, field

from phaseprof.live.families import ContainerFamily, Family, Reader, TypeFamily
from phaseprof.live.ledger import BirthLedger, DeltaLedger
from phaseprof.live.retained import item_after
from phaseprof.live.suspicion import PLUMBING_TIER, type_tier
from phaseprof.probes.holders import HolderPath
from phaseprof.recording import format as fmt


@dataclass
class Investigation:
    """One suspect: a family with identities, a container, or a counter; and how far the look at it has come."""

    key: str
    subject: str
    began: int
    family: Family | None = None
    container: ContainerFamily | None = None
    counter: Reader | None = None
    births: BirthLedger = field(default_factory=BirthLedger)
    deltas: DeltaLedger = field(default_factory=DeltaLedger)
    phase: str | None = None
    rate: float = 0.0  # how much the family rose per generation when it was suspected; 0: not known
    stage: str = "births"
    since: int = 0
    began_ns: int = 0  # when it was begun, on the profiler's clock; 0: not said
    sample: set[int] = field(default_factory=set)  # identities that were asked where no births are known

    @property
    def is_telling(self) -> bool:
        """Whether it is more than plumbing, of which every program has some that grows."""
        return not isinstance(self.family, TypeFamily) or type_tier(self.key) < PLUMBING_TIER


def holder_record(one: Investigation, path: HolderPath, *, t: int, g: int, own_length: int) -> fmt.Holder:
    """Make the record of a path to a suspect's survivors, or to the suspect itself if that is a container.

    Args:
        one: the suspect.
        path: the chain of holders.
        t: now, in nanoseconds.
        g: ordinal of the current generation.
        own_length: of a suspect that is a container, its length.
    """
    container, length = path.container or ("", -1)
    if one.container is not None:
        container, length = one.subject, own_length
    return fmt.Holder(
        t=t, g=g, subject=one.key, steps=list(path.steps), root=path.root, reason=path.reason,
        container=container, length=length, item=item_after(path.steps, container, length),
        bound=-1 if path.bound is None else path.bound,
        bound_length=-1 if path.bound_length is None else path.bound_length,
    )  # fmt: skip
