"""Record the demo's scenarios anew for the golden texts: python tests/report/record_demos.py [SCENARIO ...]

The recordings hold neither the machine's name nor its folders.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data" / "demo"
SCENARIOS = ("none", "evaluate", "train", "evolve", "losses", "collect")


def scrubbed(line: str) -> str:
    """Take out of a header what says where the recording was made."""
    record = json.loads(line)
    if record["k"] == "header":
        record.update(host="trainer", argv=["phaseprof", "demo"], git_commit="", platform="Linux", pid=1, parent_pid=0)
    return json.dumps(record, ensure_ascii=False)


def keep(run: Path, scenario: str) -> None:
    """Keep the recording of a run as the scenario's."""
    (file,) = run.glob("*.jsonl")
    lines = file.read_text(encoding="utf-8").splitlines()
    text = "".join(f"{scrubbed(line)}\n" for line in lines)
    DATA.mkdir(parents=True, exist_ok=True)
    (DATA / f"{scenario}.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def main(scenarios: list[str]) -> None:
    """Run each scenario and keep what it recorded."""
    for scenario in scenarios or SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            command = [sys.executable, "-m", "phaseprof", "demo", "--scenario", scenario, "--out", str(run)]
            subprocess.run(command, check=True)
            keep(run, scenario)


if __name__ == "__main__":
    main(sys.argv[1:])
