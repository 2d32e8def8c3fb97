"""The deep size of one object, as tracked names are sized."""

from __future__ import annotations

import math

from phaseprof.probes.sizes import NamedSize, deep_sizes


def deep_size(obj: object, *, deadline_s: float = math.inf) -> NamedSize:
    return deep_sizes({"it": obj}, deadline_s=deadline_s).names["it"]
