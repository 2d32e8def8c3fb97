"""Counts by type in C agree with the collector's list."""

from __future__ import annotations

import gc
from collections import Counter

import pytest

from phaseprof.native.extension import passes_in_python
from phaseprof.native.looking import count, look
from phaseprof.probes.census import count_types, counts_in_order
from tests.native.languages import needs_extension


class Base:
    pass


class Derived(Base):
    pass


@needs_extension
def test_a_census_agrees_with_the_collectors_list() -> None:
    gc.collect()
    listed = Counter(map(id, map(type, gc.get_objects())))
    found = look({}, is_deep=False)
    assert found is not None
    counted = {id(cls): n for cls, n in found.tally}

    off = {key: (n, listed[key]) for key, n in counted.items() if abs(n - listed[key]) > 80}

    assert not off
    assert abs(sum(counted.values()) - sum(listed.values())) < 500


@needs_extension
@pytest.mark.parametrize("n", [0, 1, 2, 3, 1000])
def test_exact_types_are_counted(n: int) -> None:
    kept = [Derived() for _ in range(n)]

    assert count((Base, Derived)) == [0, len(kept)]


def test_watched_classes_count_the_same_in_both_languages() -> None:
    kept = [Base(), *(Derived() for _ in range(7))]
    native = counts_in_order([Base, Derived, dict])
    with passes_in_python():
        python = counts_in_order([Base, Derived, dict])

    assert kept
    assert native[:2] == python[:2] == [8, 7]
    assert abs(native[2] - python[2]) < 20


def test_a_census_is_the_same_in_both_languages() -> None:
    gc.collect()
    native = count_types()
    with passes_in_python():
        python = count_types()

    assert {cls for cls in native | python if abs(native.get(cls, 0) - python.get(cls, 0)) > 10} == set()
