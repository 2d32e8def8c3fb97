"""What the tests of importers share."""

from __future__ import annotations

from pathlib import Path

import pytest

from phaseprof.analysis.imports import ImportFailure, import_files, parse_patterns, parse_units
from phaseprof.cli.judged import JudgedRun, judge_run
from phaseprof.recording.model import ProcessRun

DATA = Path(__file__).parents[1] / "data" / "imports"
KIB, MIB, GIB = 2**10, 2**20, 2**30
LEAK, CLEAN, NOT_SAID = 1, 0, 3


def judged(tmp_path: Path, text: str, *units: str, name: str = "log.txt", patterns: tuple[str, ...] = ()) -> JudgedRun:
    """Import a text and judge the run."""
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text, encoding="utf-8")
    return judged_file(tmp_path / name, tmp_path / "run", *units, patterns=patterns)


def judged_file(file: Path, out: Path, *units: str, patterns: tuple[str, ...] = ()) -> JudgedRun:
    """Import a file and judge the run."""
    import_files([file], out, units=parse_units(list(units)), patterns=parse_patterns(list(patterns)))
    return judge_run(str(out))


def refusal(tmp_path: Path, text: str | bytes, name: str = "log.txt", patterns: tuple[str, ...] = ()) -> str:
    """Return the one line with which a text is refused."""
    file = tmp_path / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ImportFailure) as caught:
        import_files([file], tmp_path / "run", patterns=parse_patterns(list(patterns)))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()
    return str(caught.value)


def values(process: ProcessRun, metric: str) -> list[float]:
    """Return the readings of a metric at its only point beside the end of a generation."""
    found = [series.values for (point, name), series in process.series.items() if name == metric and "end" not in point]
    assert len(found) == 1, f"{metric} among {sorted(process.series)}"
    return found[0]
