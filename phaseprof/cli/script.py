"""Runs a script or module as ``__main__`` inside this process, as the interpreter would."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import io
import pkgutil
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader, SourcelessFileLoader
from pathlib import Path

from phaseprof.cli.targets import Target, nearest
from phaseprof.errors import UsageError

HOOK = "__phaseprof_bound__"


@dataclass(frozen=True)
class Script:
    """A program that is ready to run: its code, and what ``__main__`` and ``sys`` must say.

    Attributes:
        code: the program, compiled.
        file: ``__file__``.
        search_path: ``sys.path[0]``, ``None`` where the interpreter was told to add none.
        spec: the spec of a module run with ``-m``, ``None`` for a script.
        loader: ``__loader__``.
        source: the program's text, where there is one.
        program: ``sys.argv[0]``.
    """

    code: types.CodeType
    file: str
    search_path: str | None
    spec: ModuleSpec | None
    loader: object
    source: bytes | None
    program: str


def find_script(path: str) -> Script:
    """Find a script, or a folder or archive with a ``__main__.py``, by its path.

    Raises:
        UsageError: it cannot be read, or is no Python.
    """
    where = Path(path)
    if where.is_dir() or (where.is_file() and _is_archive(path)):
        return _find_in(path)
    try:
        with io.open_code(str(where.absolute())) as stream:
            source = stream.read()
    except OSError as error:
        raise UsageError(f"cannot run {path}: {error.strerror}; give a Python script, or -m and a module") from error
    file, folder = str(where.absolute()), _first(where.resolve().parent)
    if where.suffix == ".pyc":
        compiled = SourcelessFileLoader("__main__", file)
        code = compiled.get_code("__main__")
        if code is None:
            raise UsageError(f"cannot run {path}: it holds no code; give a Python script")
        return Script(code, file, folder, None, compiled, None, path)
    return Script(_compile(source, file), file, folder, None, SourceFileLoader("__main__", file), source, path)


def _is_archive(path: str) -> bool:
    return type(pkgutil.get_importer(path)).__name__ == "zipimporter"


def _find_in(path: str) -> Script:
    """As for ``python folder`` and ``python archive.zip``."""
    folder = str(Path(path).absolute())
    importer = pkgutil.get_importer(folder)
    spec = importer.find_spec("__main__") if importer is not None else None
    if spec is None or spec.loader is None:
        raise UsageError(f"cannot run {path}: there is no __main__.py in it; give a Python script")
    code, source = _code_of(spec)
    return Script(code, spec.origin or path, folder, spec, spec.loader, source, path)


def find_module(name: str) -> Script:
    """Find a module, or a package with a ``__main__``, as ``python -m`` does; ``sys.path[0]`` must be set before.

    Raises:
        UsageError: there is no such module, or it has no code.
    """
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except ModuleNotFoundError as error:
        raise UsageError(f"cannot run -m {name}: {error}; give a module that can be imported here") from error
    except (ImportError, ValueError) as error:
        raise UsageError(f"cannot run -m {name}: {error}") from error
    if spec is None or spec.loader is None:
        known = [module.name for module in pkgutil.iter_modules()]
        hint = nearest(name, known)
        raise UsageError(f"cannot run -m {name}: no such module, or a package without __main__{hint}")
    code, source = _code_of(spec)
    return Script(code, spec.origin or name, None, spec, spec.loader, source, spec.origin or name)


def _code_of(spec: ModuleSpec) -> tuple[types.CodeType, bytes | None]:
    get_code = getattr(spec.loader, "get_code", None)
    code = None if get_code is None else get_code(spec.name)
    if not isinstance(code, types.CodeType):
        raise UsageError(f"cannot run {spec.name}: it has no Python code; give a script or a module in Python")
    get_source = getattr(spec.loader, "get_source", None)
    source = None if get_source is None else get_source(spec.name)
    return code, source.encode() if isinstance(source, str) else None


def _first(folder: Path) -> str | None:
    """What the interpreter would put first on ``sys.path``; nothing under ``-P`` and ``-I``."""
    return None if getattr(sys.flags, "safe_path", False) or sys.flags.isolated else str(folder)


def _compile(source: bytes | ast.Module, file: str) -> types.CodeType:
    return compile(source, file, "exec", dont_inherit=True)


def make_main(script: Script) -> types.ModuleType:
    """Make the ``__main__`` module that the interpreter would make for this program."""
    module = types.ModuleType("__main__")
    package = None if script.spec is None else script.spec.name.rpartition(".")[0]
    vars(module).update(
        __file__=script.file, __loader__=script.loader, __spec__=script.spec, __cached__=None, __package__=package,
        __builtins__=builtins,
    )  # fmt: skip
    return module


def prepare(
    script: Script, module: types.ModuleType, targets: Sequence[Target], bound: Callable[[str], None]
) -> types.CodeType:
    """Return the code to execute in ``module``; it calls ``bound`` with a target's first name when that is bound.

    Only names at the program's top level are followed, in blocks such as ``if`` and ``try`` too.

    Raises:
        UsageError: the program binds no such name, or its text is not there.
    """
    if not targets:
        return script.code
    vars(module)[HOOK] = bound
    return _with_hooks(script, targets)


def _with_hooks(script: Script, targets: Sequence[Target]) -> types.CodeType:
    """Compile the program with a call behind each top-level statement that binds a target's first name."""
    if script.source is None:
        raise UsageError(f"{targets[0]}: {script.file} has no source text; name a module that it imports instead")
    tree = ast.parse(script.source, script.file)
    wanted = {target.path[0] for target in targets}
    bound = _hook_block(tree.body, wanted)
    for target in targets:
        if target.path[0] not in bound and "*" not in bound:
            raise UsageError(f"{target}: the script has no {target.path[0]!r}{nearest(target.path[0], bound)}")
    return _compile(ast.fix_missing_locations(tree), script.file)


def _hook_block(body: list[ast.stmt], wanted: set[str]) -> set[str]:
    """Insert the calls into a list of statements and the blocks inside it; return every name that it binds."""
    bound: set[str] = set()
    for at in range(len(body) - 1, -1, -1):
        statement = body[at]
        names = set(_names_bound_by(statement))
        for block in _blocks_of(statement):
            bound |= _hook_block(block, wanted)
        hits = wanted if "*" in names else names & wanted
        body[at + 1 : at + 1] = [_call(name, statement) for name in sorted(hits)]
        bound |= names
    return bound


def _blocks_of(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of if, for, while, with, try and match, which are all part of the top level."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    for field in ("body", "orelse", "finalbody"):
        block = getattr(statement, field, None)
        if isinstance(block, list):
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _names_bound_by(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))


def _call(name: str, after: ast.stmt) -> ast.stmt:
    call = ast.Expr(ast.Call(ast.Name(HOOK, ast.Load()), [ast.Constant(name)], []))
    return ast.copy_location(call, after)
