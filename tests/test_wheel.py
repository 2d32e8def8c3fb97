"""The wheel: built from the sources, installed beside nothing but its dependencies, and driven."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import phaseprof

ROOT = Path(phaseprof.__file__).parent.parent
SOURCES = ("setup.cfg", "setup.py", "pyproject.toml", "README.md", "LICENSE")
OLDEST_SETUPTOOLS = 77  # what pyproject.toml builds with


def has_build_tools() -> bool:
    try:
        return int(version("setuptools").partition(".")[0]) >= OLDEST_SETUPTOOLS
    except PackageNotFoundError:
        return False


pytestmark = [
    pytest.mark.skipif(not (ROOT / "setup.cfg").exists(), reason="needs the sources"),
    pytest.mark.skipif(not has_build_tools(), reason="building without a network needs setuptools"),
]


def call(*command: object, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environ = more | {k: v for k, v in os.environ.items() if not k.startswith(("PHASEPROF_", "PYTHON", "PIP_"))}
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env=environ, capture_output=True, text=True, timeout=300
    )  # fmt: skip


def check_call(*command: object, cwd: Path, **more: str) -> None:
    done = call(*command, cwd=cwd, **more)
    assert done.returncode == 0, done.stdout + done.stderr


BUILD = (
    sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "--quiet",
    "--wheel-dir", "dist", ".",
)  # fmt: skip


def copy_sources(folder: Path) -> None:
    """Copy what the package is built from, without what was built of it."""
    for name in SOURCES:
        shutil.copy(ROOT / name, folder)
    built = shutil.ignore_patterns("__pycache__", ".*", "*.so")
    shutil.copytree(ROOT / "phaseprof", folder / "phaseprof", ignore=built)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build in a copy, so that the sources stay as they are."""
    copy = tmp_path_factory.mktemp("sources")
    copy_sources(copy)
    check_call(*BUILD, cwd=copy)
    (built,) = (copy / "dist").iterdir()
    return built


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an environment that sees this one's packages, and return its folder of scripts."""
    folder = tmp_path_factory.mktemp("installed")
    check_call(sys.executable, "-m", "venv", "--without-pip", "environment", cwd=folder)
    scripts = folder / "environment" / "bin"
    found = call(scripts / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
    purelib = Path(found.stdout.strip())
    # A plain line is a folder to search; the *.pth files in it, such as an editable install's, are not read.
    (purelib / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    check_call(
        sys.executable, "-m", "pip", "--python", scripts / "python", "install", "--no-deps", "--no-index", "--quiet",
        "--ignore-installed", wheel, cwd=folder,
    )  # fmt: skip
    return scripts


def test_the_package_is_the_wheels(scripts: Path, tmp_path: Path) -> None:
    found = call(scripts / "python", "-c", "import phaseprof; print(phaseprof.__file__)", cwd=tmp_path)

    assert found.stdout.startswith(str(scripts.parent))


def test_the_command_is_installed(scripts: Path, tmp_path: Path) -> None:
    assert call(scripts / "phaseprof", "--version", cwd=tmp_path).stdout == f"phaseprof {phaseprof.__version__}\n"


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    sources = ROOT / "phaseprof"
    hidden = {"__pycache__", ".mypy_cache", ".ruff_cache"}

    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("phaseprof/")}

    assert {name for name in packed if not name.endswith(".so")} == {
        path.relative_to(ROOT).as_posix()
        for path in sources.rglob("*")
        if path.is_file() and not hidden & set(path.parts) and path.suffix not in (".c", ".so")
    }


def test_the_wheel_has_the_extension_where_a_compiler_is(wheel: Path, scripts: Path, tmp_path: Path) -> None:
    code = "from phaseprof.native.extension import extension; print(extension())"

    found = call(scripts / "python", "-c", code, cwd=tmp_path).stdout

    assert any(name.endswith(".so") for name in zipfile.ZipFile(wheel).namelist()) == ("_heap" in found)
    assert "_heap" in found or shutil.which("cc") is None or sysconfig.get_config_var("Py_GIL_DISABLED")


def test_the_package_installs_without_a_compiler(tmp_path: Path) -> None:
    copy_sources(tmp_path)

    check_call(*BUILD, cwd=tmp_path, CC="/bin/false")

    (built,) = (tmp_path / "dist").iterdir()
    assert not any(name.endswith(".so") for name in zipfile.ZipFile(built).namelist())


def test_a_run_is_recorded_and_judged_by_the_command(scripts: Path, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "kept = []\n"
        "class Env:\n    def __init__(self):\n        self.state = [0.0] * 4096\n"
        "def turn():\n    kept.append(Env())\n"
        "for _ in range(10):\n    turn()\n"
    )
    options = ("--budget", "none", "--generation", "__main__:turn", "--watch", "__main__:Env=1")

    ran = call(scripts / "phaseprof", "run", "--out", "run", *options, "script.py", cwd=tmp_path)

    assert (ran.returncode, ran.stderr) == (0, "")
    checked = call(scripts / "phaseprof", "check", "run", cwd=tmp_path)
    assert checked.returncode == 1
    assert "Env" in checked.stdout


def test_the_pytest_plugin_works_with_no_flag(scripts: Path, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\nclass Env: pass\n@pytest.mark.object_count(Env=1)\ndef test_it(phaseprof):\n    env = Env()\n"
    )

    done = call(scripts / "python", "-m", "pytest", "-q", "--strict-markers", "test_it.py", cwd=tmp_path)

    assert done.returncode == 0, done.stdout
