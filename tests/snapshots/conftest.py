"""Shared by the tests of snapshots."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.fixture(scope="session", autouse=True)
def hypothesis_is_warm() -> None:
    """Hypothesis adds a collector callback of its own at its first example: before any test compares the callbacks."""

    @settings(max_examples=1, database=None)
    @given(st.none())
    def first(_: None) -> None:
        pass

    first()
