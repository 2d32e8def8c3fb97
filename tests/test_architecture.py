"""Imports run one way, files and functions stay small, and torch is nobody's import.

The table below is the one that docs/explanation/architecture.md explains.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import phaseprof

ROOT = Path(phaseprof.__file__).parent

# Lower rows first. A module may import from the rows below its own and from its own unit, and from siblings
# of its row only where SIBLINGS says so.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("_version", "errors", "interrupts"),
    ("units",),
    ("progress",),
    ("records",),
    ("verdict", "probes", "native", "recording"),
    ("diagnosis",),
    ("live", "analysis"),
    ("report",),
    ("profiler",),
    ("api",),
    ("",),
    ("attaching",),
    ("cli", "pytest_plugin", "integrations", "demo", "__main__"),
)
# live uses the probes' readings and the verdict; analysis works on what was recorded, anywhere, so it never measures.
# What is loaded into a program that runs must be little.
FORBIDDEN = {
    "analysis": {"probes", "native", "live"}, "live": {"analysis"},
    "attaching": {"analysis", "report", "profiler", "api"},
}  # fmt: skip
SIBLINGS = {
    "__main__": {"cli"}, "cli": {"demo", "integrations"}, "pytest_plugin": {"integrations"},
    "native": {"probes"}, "probes": {"native"},  # one job in two languages; modules form no cycle all the same
}  # fmt: skip
# The names that users import are gathered by the package itself, which only faces may import.
MAY_IMPORT_TORCH = {"demo", "integrations"}
FRAMEWORKS = {
    "torch", "wandb", "tensorboard", "mlflow", "aim", "lightning", "pytorch_lightning", "transformers", "accelerate",
    "stable_baselines3", "keras", "optuna", "skorch", "evotorch", "deap", "ray",
    "matplotlib", "mcp", "pyarrow", "rich", "fsspec", "distributed",
}  # fmt: skip

MAX_FILE_LINES, MAX_FUNCTION_LINES, MAX_PARSER_LINES = 600, 60, 80

RANK = {unit: rank for rank, row in enumerate(LAYERS) for unit in row}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def unit_of(module: str) -> str:
    """Return the part of the package that a module belongs to; "" is the package's own __init__."""
    return module.split(".")[1] if "." in module else ""


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


@dataclass(frozen=True)
class Import:
    name: str
    at_module_level: bool  # as opposed to inside a function
    for_types_only: bool  # under TYPE_CHECKING, so it never runs


@cache
def imports_of(module: str) -> tuple[Import, ...]:
    """Return every import statement of a module, the lazy ones included."""
    return tuple(walk_imports(module))


def walk_imports(module: str) -> Iterator[Import]:
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    pending: list[tuple[ast.AST, bool, bool]] = [(ast.parse(path.read_text(encoding="utf-8")), True, False)]
    while pending:
        node, top, typing = pending.pop()
        for name in imported_names(node, package):
            yield Import(name, top and not typing, typing)
        top = top and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        typing = typing or is_type_checking(node)
        pending.extend((child, top, typing) for child in ast.iter_child_nodes(node))


def imported_names(node: ast.AST, package: str) -> Iterator[str]:
    """Yield the full names of the modules that one statement imports; relative names are resolved from ``package``."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = package.rsplit(".", node.level - 1)[0] if node.level else ""
        origin = ".".join(filter(None, (base, node.module)))
        for alias in node.names:
            whole = f"{origin}.{alias.name}"
            yield whole if whole in MODULES else origin


def own_imports(module: str) -> set[str]:
    """Return what a module imports of ours; a name that only the type checker needs is a dependency too."""
    return {one.name for one in imports_of(module) if one.name.split(".")[0] == "phaseprof"} - {module}


def is_allowed(importer: str, imported: str) -> bool:
    mine, other = unit_of(importer), unit_of(imported)
    if mine == other:
        return True
    if other in FORBIDDEN.get(mine, ()):
        return False
    return RANK[other] < RANK[mine] or other in SIBLINGS.get(mine, ())


def test_every_module_has_a_place_in_the_table() -> None:
    homeless = [module for module in MODULES if unit_of(module) not in RANK]

    assert not homeless, "give each a row in LAYERS, and in docs/explanation/architecture.md"


def test_imports_go_down_the_table() -> None:
    wrong = [f"{m} imports {name}" for m in MODULES for name in sorted(own_imports(m)) if not is_allowed(m, name)]

    assert not wrong


def test_no_import_cycles() -> None:
    edges = {module: own_imports(module) & MODULES.keys() for module in MODULES}

    while leaves := [module for module, targets in edges.items() if not targets]:
        edges = {module: targets - set(leaves) for module, targets in edges.items() if targets}

    assert not edges, f"in or above an import cycle: {', '.join(sorted(edges))}"


def test_torch_is_not_imported() -> None:
    """Not even lazily: only a program that has imported torch has tensors to look at."""
    wrong = [
        module
        for module in MODULES
        for one in imports_of(module)
        if one.name.split(".")[0] == "torch" and not one.for_types_only and unit_of(module) not in MAY_IMPORT_TORCH
    ]

    assert not wrong


def test_frameworks_are_imported_when_used() -> None:
    """A module of ``integrations`` is imported when it is asked for by name, so there its top is early enough."""
    wrong = [
        f"{module} imports {one.name}"
        for module in MODULES
        for one in imports_of(module)
        if one.at_module_level and one.name.split(".")[0] in FRAMEWORKS and unit_of(module) not in MAY_IMPORT_TORCH
    ]

    assert not wrong


def test_files_are_short() -> None:
    lengths = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in MODULES.items()}

    assert {module: n for module, n in lengths.items() if n > MAX_FILE_LINES} == {}


def test_functions_are_short() -> None:
    too_long = []
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                limit = MAX_PARSER_LINES if "add_argument" in ast.dump(node) else MAX_FUNCTION_LINES
                n_lines = (node.end_lineno or node.lineno) - node.lineno + 1
                too_long += [f"{module}.{node.name}: {n_lines} lines, at most {limit}"] * (n_lines > limit)

    assert not too_long


def test_table_agrees_with_the_document() -> None:
    document = ROOT.parent / "docs" / "explanation" / "architecture.md"
    if not document.exists():
        pytest.skip("docs are not part of an installed package")
    text = document.read_text(encoding="utf-8")

    missing = [unit for row in LAYERS for unit in row if unit and f"`{unit}" not in text]

    assert not missing


def test_no_handler_names_what_its_own_block_imports() -> None:
    """What a signal handler raises during the import would end as an UnboundLocalError of ours."""
    found = []
    for module, path in MODULES.items():
        for block in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(block, ast.Try):
                inside = [one for line in block.body for one in ast.walk(line)]
                imports = [one for one in inside if isinstance(one, (ast.Import, ast.ImportFrom))]
                names = {alias.asname or alias.name.partition(".")[0] for one in imports for alias in one.names}
                kinds = [handler.type for handler in block.handlers if handler.type is not None]
                used = {name.id for kind in kinds for name in ast.walk(kind) if isinstance(name, ast.Name)}
                found += [f"{module}:{block.lineno}: {name}" for name in names & used]

    assert found == []
