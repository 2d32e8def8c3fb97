"""A run of many processes on S3, read on this machine and on clusters of Ray and Dask: one and the same report."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import phaseprof

ROOT = Path(phaseprof.__file__).parents[1]
N_RANKS = 6
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    """The settings by which a program finds a server of S3 on this machine."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    pytest.importorskip("s3fs")
    server.start()
    _host, port = server.get_host_and_port()
    yield {
        **os.environ, "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    server.stop()


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    """A run of six ranks, here and as ``s3://runs/ddp``."""
    folder = tmp_path_factory.mktemp("ranks") / "ddp"
    program = (
        "import os, phaseprof\n"
        "profiler, kept = phaseprof.Profiler(budget=None), []\n"
        "for g in range(14):\n"
        "    with profiler.generation(g), profiler.phase('collect'):\n"
        "        if os.environ['RANK'] == '3':\n"
        "            kept.append(bytearray(3_000_000))\n"
        "profiler.close()\n"
    )
    for rank in range(N_RANKS):
        own = {**environment, "RANK": str(rank), "WORLD_SIZE": str(N_RANKS), "PHASEPROF_RUN": str(folder)}
        subprocess.run([sys.executable, "-c", program], env=own, check=True, timeout=120)
    upload = (
        "import sys, s3fs\n"
        "system = s3fs.S3FileSystem()\n"
        "system.mkdir('runs')\n"
        "system.put(sys.argv[1] + '/', 'runs/ddp', recursive=True)\n"
    )
    subprocess.run([sys.executable, "-c", upload, str(folder)], env=environment, check=True, timeout=120)
    return folder


def report(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "-m", "phaseprof", "report", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("engine", ["", "ray", "dask"])
def test_every_way_of_reading_gives_one_report(environment: dict[str, str], run_folder: Path, engine: str) -> None:
    # Importing Ray would set an excepthook in this process.
    if engine and importlib.util.find_spec({"ray": "ray", "dask": "distributed"}[engine]) is None:
        pytest.skip(f"{engine} is not installed")
    here = report(environment, str(run_folder))

    there = report(environment, "s3://runs/ddp", *(["--on", engine] if engine else []))

    assert "rank 3" in here
    assert there.replace("s3://runs/ddp", "RUN") == here.replace(str(run_folder), "RUN")


def test_what_a_program_records_to_a_bucket_arrives_there(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import phaseprof\n"
        "kept = []\n"
        "for g in phaseprof.generations(range(14)):\n"
        "    with phaseprof.profile_phase('collect'):\n"
        "        kept.append(bytearray(3_000_000))\n"
    )

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "phaseprof", *words]
        return subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )

    subprocess.run([sys.executable, "-c", "import s3fs; s3fs.S3FileSystem().mkdir('recorded')"], env=environment)
    recorded = call("run", "--budget", "none", "--out", "s3://recorded/run", "train.py")
    assert (recorded.returncode, recorded.stderr) == (0, "")
    checked = call("check", "s3://recorded/run")
    assert checked.returncode == 1
    assert "bytearray created in collect leaks" in checked.stdout
    assert call("run", "--out", "s3://recorded/run", "train.py").returncode == 2  # it holds a recording


def test_check_and_export_read_it_too(environment: dict[str, str], run_folder: Path, tmp_path: Path) -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "phaseprof", "check", "s3://runs/ddp"],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    command = [sys.executable, "-m", "phaseprof", "export", "s3://runs/ddp", "--out", str(tmp_path / "run.csv")]
    subprocess.run(command, env=environment, check=True, timeout=120)

    assert checked.returncode == 1
    assert "rank 3" in checked.stdout
    assert (tmp_path / "run.csv").stat().st_size > 1000


def test_a_bucket_that_is_not_there_is_one_line(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "phaseprof", "report", "s3://nobody/run"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 2
    assert "s3://nobody/run" in done.stderr
    assert done.stderr.count("\n") == 1
