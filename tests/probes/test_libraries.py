"""Which packages are libraries."""

from __future__ import annotations

import pytest

from phaseprof.probes.libraries import installed_packages, is_installed


@pytest.mark.parametrize(
    ("name", "expected"),
    [("numpy.ndarray", True), ("numpy", True), ("logging", True), ("list", True), ("__main__.Episode", False),
     (f"{__name__}.Episode", False)],
)  # fmt: skip
def test_what_comes_with_python_or_a_package_is_installed(name: str, expected: bool) -> None:
    assert is_installed(name) is expected


def test_the_programs_own_modules_are_no_packages() -> None:
    found = installed_packages()

    assert {"numpy", "pytest", "logging", "builtins"} <= found
    assert not {"__main__", __name__.partition(".")[0]} & found
