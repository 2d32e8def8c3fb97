"""What pyproject.toml says of the package, held against what the code needs."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import phaseprof

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(phaseprof.__file__).parent
ROOT = PACKAGE.parent
pytestmark = pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs the sources")
# Modules whose distribution has another name.
DISTRIBUTIONS = {"tomllib": "tomli"}


@cache
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def extras() -> dict[str, list[str]]:
    found: dict[str, list[str]] = pyproject()["project"]["optional-dependencies"]
    return found


def own_extras(requirement: str) -> list[str]:
    named = re.fullmatch(r"phaseprof\[([\w,-]+)\]", requirement)
    return named[1].split(",") if named else []


def flat_extra(name: str) -> set[str]:
    """Return what an extra installs, with what it includes."""
    found = set()
    for one in extras()[name]:
        inner = own_extras(one)
        found |= set().union(*map(flat_extra, inner)) if inner else {one}
    return found


def flat_group(name: str) -> set[str]:
    found = set()
    for one in pyproject()["dependency-groups"][name]:
        found |= {one} if isinstance(one, str) else flat_group(one["include-group"])
    return found


@pytest.mark.parametrize("name", ["test-base", "test", "lint", "docs"])
def test_a_group_is_the_extra_of_its_name(name: str) -> None:
    assert flat_group(name) == flat_extra(name)


def test_the_group_for_development_has_all_of_them() -> None:
    assert flat_group("dev") == flat_extra("test") | flat_extra("lint") | flat_extra("docs")


def test_extras_include_only_extras_that_exist() -> None:
    included = {name for requirements in extras().values() for one in requirements for name in own_extras(one)}

    assert included <= extras().keys()


def test_the_extra_that_an_error_names_exists() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))

    named = {name for found in re.findall(r"phaseprof\[([\w,-]+)\]", text) for name in found.split(",")}

    assert named
    assert named <= extras().keys()


def test_the_base_install_is_what_modules_import_unasked() -> None:
    """A module that imports a package at its head needs it; faces of one library, such as callbacks, may."""
    base = {re.split(r"[>=;\[ ]", one)[0] for one in pyproject()["project"]["dependencies"]}
    faces = {PACKAGE / "integrations", PACKAGE / "demo", PACKAGE / "pytest_plugin"}

    found = {
        DISTRIBUTIONS.get(name, name)
        for path in PACKAGE.rglob("*.py")
        if not faces & set(path.parents)
        for name in imported_at_head(path)
    }

    assert found - set(sys.stdlib_module_names) - {"phaseprof"} <= base


def imported_at_head(path: Path) -> set[str]:
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


def test_every_package_of_the_base_install_is_imported() -> None:
    base = {re.split(r"[>=;\[ ]", one)[0] for one in pyproject()["project"]["dependencies"]}
    text = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))

    imported = set(re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE))

    assert base <= imported


def test_setup_cfg_says_nothing_of_its_own() -> None:
    lines = (ROOT / "setup.cfg").read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if not line.startswith("#")] == ["[metadata]", "name = phaseprof"]
