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


def load_yaml(name: str, *, templates: bool = False) -> Any:
    yaml = pytest.importorskip("yaml", reason="workflows are written in YAML")
    text = (ROOT / name).read_text(encoding="utf-8")
    if templates:
        text = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "", text)
    return yaml.load(text, Loader=yaml.BaseLoader)  # which takes "on" for a word


WORKFLOWS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / ".github" / "workflows").glob("*.yml"))


def steps_of(name: str) -> list[dict[str, Any]]:
    found = load_yaml(name)
    jobs = found["jobs"].values() if "jobs" in found else [found["runs"]]
    return [step for job in jobs for step in job.get("steps", ())]


@pytest.mark.parametrize("name", [*WORKFLOWS, "action.yml"])
def test_each_step_runs_something_or_uses_a_version_of_something(name: str) -> None:
    steps = steps_of(name)

    assert steps
    for step in steps:
        assert ("run" in step) != ("uses" in step), step
        assert "uses" not in step or re.fullmatch(r"[\w./-]+@[\w./-]+", step["uses"]), step


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_makes_targets_that_exist(name: str) -> None:
    made = {target for step in steps_of(name) for target in re.findall(r"^make ([\w-]+)", step.get("run", ""), re.M)}

    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))

    assert made <= targets


def test_a_release_is_tested_before_it_is_published() -> None:
    jobs = load_yaml(".github/workflows/release.yml")["jobs"]

    called = {job["uses"].removeprefix("./") for job in jobs.values() if "uses" in job}

    assert set(jobs["publish"]["needs"]) == {name for name, job in jobs.items() if "uses" in job}
    assert called <= set(WORKFLOWS)
    assert all("workflow_call" in load_yaml(name)["on"] for name in called)
    assert jobs["publish"]["permissions"] == {"id-token": "write"}


def test_the_action_asks_for_what_its_steps_use() -> None:
    action = load_yaml("action.yml")
    text = (ROOT / "action.yml").read_text(encoding="utf-8")

    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(action["inputs"])
    # A value that a workflow passes reaches the shell as a variable, never as part of its program.
    assert [step for step in steps_of("action.yml") if "${{" in step["run"]] == []


def test_one_version_is_in_every_file_that_names_it() -> None:
    recipe = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")

    assert load_yaml("CITATION.cff")["version"] == phaseprof.__version__
    assert re.findall(r'set version = "(.*)"', recipe) == [phaseprof.__version__]


def test_the_recipe_for_conda_needs_what_the_package_needs() -> None:
    needed = load_yaml("conda/meta.yaml", templates=True)["requirements"]["run"]

    named = {one.split(" #")[0].replace(" ", "") for one in needed if not one.startswith("python ")}

    assert named == {one.split(";")[0] for one in pyproject()["project"]["dependencies"]}


def test_the_site_shows_every_page() -> None:
    def pages(part: Any) -> list[str]:
        if isinstance(part, str):
            return [part]
        return [page for inner in (part.values() if isinstance(part, dict) else part) for page in pages(inner)]

    shown = pages(load_yaml("mkdocs.yml")["nav"])

    docs = ROOT / "docs"
    assert sorted(shown) == sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
