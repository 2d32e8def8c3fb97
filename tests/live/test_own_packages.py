"""Which packages of a recording are the program's own, whatever they are called and however they are imported."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from phaseprof import Profiler
from phaseprof.recording.model import ProcessRun

Recorded = Callable[[Profiler], ProcessRun]


def test_modules_of_the_program_are_its_own_and_installed_ones_are_not(
    make: Callable[..., Profiler], recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, package in ((tmp_path, "own_trainer"), (tmp_path / "lib" / "site-packages", "other_library")):
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").touch()
        (folder / package / "envs.py").write_text("class Env:\n    pass\n")
        monkeypatch.syspath_prepend(str(folder))
    kept = []
    profiler = make(budget=None)
    try:
        modules = [importlib.import_module(f"{name}.envs") for name in ("own_trainer", "other_library")]
        for index in range(3):
            with profiler.generation(index):
                kept += [module.Env() for module in modules for _ in range(50)]
        run = recorded(profiler)
    finally:
        for name in [name for name in sys.modules if name.startswith(("own_trainer", "other_library"))]:
            del sys.modules[name]

    assert run.is_own("own_trainer.envs.Env")
    assert run.is_own("__main__.Env")
    assert not any(map(run.is_own, ("other_library.envs.Env", "collections.OrderedDict", "dict", "phaseprof.api.X")))
