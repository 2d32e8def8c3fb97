"""Set-up that the tests of recordings share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture(autouse=True, scope="session")
def hypothesis_is_set_up() -> None:
    """Let hypothesis add its callback to the collector now, not inside the first test that uses it."""
    given(st.none())(lambda _: None)()
