"""Drives the command as users do: a process of its own, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import phaseprof

ROOT = Path(phaseprof.__file__).parent.parent


def environment(**extra: str) -> dict[str, str]:
    """The environment without settings of ours, and with this phaseprof importable from any folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PHASEPROF_")}
    return {**kept, "PYTHONPATH": str(ROOT), "PHASEPROF_ASCII": "1", **extra}


def phaseprof_command(*arguments: object, cwd: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run ``python -m phaseprof`` to its end."""
    command = [sys.executable, "-m", "phaseprof", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment(**extra), capture_output=True, text=True, timeout=120)


def python(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the interpreter itself, to compare with."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=120)
