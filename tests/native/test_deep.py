"""Deep sizes in C are those in Python."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from phaseprof.native.extension import passes_in_python
from phaseprof.native.places import read_places
from phaseprof.probes.sizes import NamedSize
from tests.native.languages import needs_extension
from tests.native.test_against_reference import heaps
from tests.sizing import deep_size

pytestmark = needs_extension


def in_both(obj: object) -> tuple[NamedSize, NamedSize]:
    native = deep_size(obj)
    with passes_in_python():
        return native, deep_size(obj)


@given(heaps())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_heap(heap: list[object]) -> None:
    native, reference = in_both(heap)

    # From 3.11 on the row of an instance's attributes is measured in C and estimated in Python.
    off = 0 if sys.version_info < (3, 11) else 300 * read_places({"heap": heap}).n_met
    assert abs(native.bytes - reference.bytes) <= off


def test_data_without_instances_is_the_same_to_the_byte() -> None:
    data = [{"step": i, "rows": [(float(i), str(i)) for _ in range(5)], "seen": {i, i + 1}} for i in range(500)]

    native, reference = in_both([data, np.zeros(1000), np.zeros((10, 10))[1:], b"x" * 1000])

    assert native == reference


def test_tensors_are_the_same() -> None:
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(20, 30)
    layer(torch.ones(5, 20)).sum().backward()

    native, reference = in_both([layer.weight, layer.bias, torch.zeros(100)[10:], torch.zeros(9).untyped_storage()])

    assert abs(native.bytes - reference.bytes) < 300  # the rows of the parameters' attributes
