"""Every look at the heap, as a function of an object that the look is to meet."""

from __future__ import annotations

from collections.abc import Callable

from phaseprof.native.places import read_places
from phaseprof.probes import arrays, census, large
from phaseprof.probes.holders import find_holders
from tests.sizing import deep_size

LOOKS: dict[str, Callable[[object], object]] = {
    "places": lambda obj: read_places({"object": obj}),
    "census": lambda obj: census.count_type_names(),
    "watched": lambda obj: census.counts_in_order([type(obj)]),
    "arrays": lambda obj: arrays.count_arrays(),
    "large": lambda obj: large.large_objects(4096, 50),
    "holders": lambda obj: find_holders([obj], deadline_s=0.5),
    "size": deep_size,
}
