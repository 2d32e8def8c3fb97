"""Build a C file as an extension, for the tests that need one of their own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest


def build(source: Path, folder: Path, *options: str) -> ModuleType:
    """Build and import an extension; skip the test where that cannot be done."""
    name = source.stem
    script = (
        "from setuptools import Extension, setup\n"
        f"setup(name='x', ext_modules=[Extension({name!r}, [{str(source)!r}], extra_compile_args={list(options)!r}, "
        "define_macros=[('_DEFAULT_SOURCE', '1')])])\n"
    )
    (folder / "build_it.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "build_it.py", "-q", "build_ext", "--inplace"],
        cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    built = sorted(folder.glob(f"{name}*.so"))
    if done.returncode or not built:
        pytest.skip(f"no extension can be built here: {done.stderr[-300:]}")
    spec = importlib.util.spec_from_file_location(name, built[0])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
