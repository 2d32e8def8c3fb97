"""What the type checker sees of the package: right programs pass, wrong ones do not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import phaseprof

HERE = Path(__file__).parent


def check(program: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    """Run the type checker from elsewhere, so that it finds the package as an installed one with types of its own."""
    pytest.importorskip("mypy")
    environment = {**os.environ, "MYPYPATH": str(Path(phaseprof.__file__).parent.parent)}
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--follow-imports=silent",
               "--cache-dir", str(cache), str(program)]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, cwd=cache, env=environment, timeout=300, check=False)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


def test_a_right_program_passes(cache: Path) -> None:
    done = check(HERE / "program.py", cache)

    assert done.returncode == 0, done.stdout + done.stderr


def test_each_mistake_is_found(cache: Path) -> None:
    program = HERE / "wrong.py"
    expected = {
        (number, match[1])
        for number, line in enumerate(program.read_text().splitlines(), 1)
        if (match := re.search(r"# error: (\S+)", line))
    }

    done = check(program, cache)

    found = {(int(number), code) for number, code in re.findall(r"wrong\.py:(\d+): error: .*\[(\S+)\]", done.stdout)}
    assert found == expected, done.stdout
