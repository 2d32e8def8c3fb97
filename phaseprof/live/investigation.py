"""One suspect, and how far the look at it has come."""

from __future__ import annotations

from dataclasses import dataclass, field

from phaseprof.live.families import ContainerFamily, Family, Reader, TypeFamily
from phaseprof.live.ledger import BirthLedger, DeltaLedger
from phaseprof.live.suspicion import PLUMBING_TIER, type_tier


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
    sample: set[int] = field(default_factory=set)  # identities that were asked where no births are known

    @property
    def is_telling(self) -> bool:
        """Whether it is more than plumbing, of which every program has some that grows."""
        return not isinstance(self.family, TypeFamily) or type_tier(self.key) < PLUMBING_TIER
