"""Imports run one way, files and functions stay small, and torch is nobody's import.

The table below is the one that docs/explanation/architecture.md explains.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import phaseprof

ROOT = Path(phaseprof.__file__).parent

# Lower rows first. A module may import from the rows below its own and from its own unit, and from siblings
# of its row only where SIBLINGS says so.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("_version", "errors", "units"),
    ("records",),
    ("trend", "probes", "recording"),
    ("live", "analysis"),
    ("report",),
    ("profiler",),
    ("", "api"),
    ("cli", "pytest_plugin", "integrations", "demo", "__main__"),
)
# live uses the probes' readings and the trend; analysis works on what was recorded, anywhere, so it never measures.
FORBIDDEN = {"analysis": {"probes", "live"}, "live": {"analysis"}}
SIBLINGS = {"__main__": {"cli"}, "cli": {"demo", "integrations"}, "pytest_plugin": {"integrations"}}
# The names that users import are gathered by the package itself, which only faces may import.
MAY_IMPORT_TORCH = {"demo", "integrations"}

MAX_FILE_LINES, MAX_FUNCTION_LINES, MAX_PARSER_LINES = 400, 60, 80

FILES = sorted(ROOT.rglob("*.py"))
RANK = {unit: rank for rank, row in enumerate(LAYERS) for unit in row}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in FILES}


def unit_of(module: str) -> str:
    """Return the part of the package that a module belongs to; "" is the package's own __init__."""
    return module.split(".")[1] if "." in module else ""


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imports_of(module: str) -> Iterator[tuple[str, bool]]:
    """Yield (imported module, whether at module level) for each import statement, the lazy ones included.

    Imports for the type checker count too: a layer that needs the name of a higher one depends on it.
    """
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    pending: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text(encoding="utf-8")), True)]
    while pending:
        node, top = pending.pop()
        if isinstance(node, ast.Import):
            yield from ((alias.name, top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            origin = ".".join(filter(None, (base, node.module)))
            for alias in node.names:
                whole = f"{origin}.{alias.name}"
                yield (whole if whole in MODULES else origin), top
        inside = top and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        inside = inside and not is_type_checking(node)
        pending.extend((child, inside) for child in ast.iter_child_nodes(node))


def own_imports(module: str) -> set[str]:
    return {name for name, _ in imports_of(module) if name.split(".")[0] == "phaseprof"} - {module}


def is_allowed(importer: str, imported: str) -> bool:
    mine, other = unit_of(importer), unit_of(imported)
    if mine == other:
        return True
    if other in FORBIDDEN.get(mine, ()):
        return False
    return RANK[other] < RANK[mine] or other in SIBLINGS.get(mine, ())


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_place_in_the_table(module: str) -> None:
    assert unit_of(module) in RANK, f"give {module} a row in LAYERS, and in docs/explanation/architecture.md"


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_down_the_table(module: str) -> None:
    wrong = sorted(name for name in own_imports(module) if not is_allowed(module, name))

    assert not wrong, f"{module} may not import {', '.join(wrong)}"


def test_no_import_cycles() -> None:
    edges = {module: own_imports(module) & MODULES.keys() for module in MODULES}

    while leaves := [module for module, targets in edges.items() if not targets]:
        edges = {module: targets - set(leaves) for module, targets in edges.items() if targets}

    assert not edges, f"in or above an import cycle: {', '.join(sorted(edges))}"


@pytest.mark.parametrize("module", [m for m in MODULES if unit_of(m) not in MAY_IMPORT_TORCH])
def test_torch_is_never_imported(module: str) -> None:
    """Not even lazily: only a program that has imported torch has tensors to look at."""
    assert not [name for name, _ in imports_of(module) if name.split(".")[0] == "torch"]


@pytest.mark.parametrize("module", [m for m in MODULES if unit_of(m) == "integrations"])
def test_integrations_import_their_framework_when_used(module: str) -> None:
    at_import = {name.split(".")[0] for name, top in imports_of(module) if top}

    assert not at_import & {"torch", "wandb", "tensorboard", "mlflow", "lightning", "transformers", "ray"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_are_short(path: Path) -> None:
    n_lines = len(path.read_text(encoding="utf-8").splitlines())

    assert n_lines <= MAX_FILE_LINES, f"{n_lines} lines: split the file by job"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_functions_are_short(path: Path) -> None:
    too_long = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            limit = MAX_PARSER_LINES if "add_argument" in ast.dump(node) else MAX_FUNCTION_LINES
            n_lines = (node.end_lineno or node.lineno) - node.lineno + 1
            too_long += [f"{node.name} ({n_lines} > {limit})"] * (n_lines > limit)

    assert not too_long


def test_table_agrees_with_the_document() -> None:
    document = ROOT.parent / "docs" / "explanation" / "architecture.md"
    if not document.exists():
        pytest.skip("docs are not part of an installed package")
    text = document.read_text(encoding="utf-8")

    missing = [unit for row in LAYERS for unit in row if unit and f"`{unit}" not in text]

    assert not missing
