"""Settings that somebody else wrote, in a file or the environment: a bad one is warned of, and the program runs on."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from phaseprof import Profiler
from phaseprof.live.settings import MOST_WARNED

BAD = {
    "a folder without a name": 'run = "a\\u0000b"',
    "an address without a name": 'run = "s3://a\\u0000b"',
    "a folder that is a file": 'run = "pyproject.toml"',
    "a folder too deep": f'run = "{"x/" * 5000}"',
    "times beyond all clocks": "max_pause = 1e308\nmax_look = 1e308\nmin_generation_s = 1e308",
    "files beyond all disks": 'run = "here"\nmax_file_mb = 1e308',
    "no numbers": "budget = nan\nsample_every_s = -inf\ntrack_every = 1e400\nreport_every = 1979-05-27",
    "numbers without end": f"budget = 1{'0' * 4000}\nreport_every = {'9' * 400}",
    "other things": 'budget = [1]\nenabled = {}\non_violation = "os.system"\nsignals = "\\u001b[31m"',
    "many": "\n".join(f"k{n} = 1" for n in range(3 * MOST_WARNED)),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_raises_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(f"[tool.phaseprof]\n{BAD[case]}\n")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        profiler = Profiler()
        for _ in range(3):
            with profiler.generation(), profiler.phase("train"):
                pass
        profiler.close()

    assert len(profiler._model().generations) == 3
    told = [str(warning.message) for warning in caught]
    assert told or case == "numbers without end"  # Python may refuse to read those at all
    assert len(told) <= MOST_WARNED + 1
    assert all(text.isprintable() for text in told)


@pytest.mark.parametrize("text", ["1e308", "nan", "9" * 5000, "\x1b[31m", "a\nb", "0x10"])
@pytest.mark.parametrize("name", ["MAX_PAUSE", "MAX_LOOK", "MAX_FILE_MB", "MIN_GENERATION_S", "BUDGET", "TRACK_EVERY"])
def test_a_bad_variable_raises_nothing(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv(f"PHASEPROF_{name}", text)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        profiler = Profiler(None)
        with profiler.generation(), profiler.phase("train"):
            pass
        profiler.close()

    assert len(profiler._model().generations) == 1
