from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from phaseprof.analysis.imports import ImportFailure, import_files, limits

HEADER = "step,point,metric,value\n"


def refusal(file: Path) -> str:
    with pytest.raises(ImportFailure) as caught:
        import_files([file], file.parent / "run")
    return str(caught.value)


def test_endless_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", 1000)
    (tmp_path / "a.csv").write_text(HEADER + "0,end,n," + "1" * 2000)

    assert "line 2: a line is over" in refusal(tmp_path / "a.csv")


def test_small_file_that_unpacks_to_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", 10_000)
    (tmp_path / "a.csv").write_bytes(gzip.compress((HEADER + "0,end,n,1\n" * 10_000).encode()))

    assert "it is over 4 GiB" in refusal(tmp_path / "a.csv")


def test_too_many_readings_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_READINGS", 10)
    (tmp_path / "a.csv").write_text(HEADER + "".join(f"{step},end,n,1\n" for step in range(11)))

    assert "over 10 readings" in refusal(tmp_path / "a.csv")


def test_too_many_names_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_NAMES", 10)
    (tmp_path / "a.csv").write_text(HEADER + "".join(f"0,point {at},n,1\n" for at in range(11)))

    assert "over 10 names" in refusal(tmp_path / "a.csv")


def test_large_json_document_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_DOCUMENT_BYTES", 100)
    (tmp_path / "a.json").write_text("[" + ",".join(['{"step":1,"rss_bytes":2}'] * 20) + "]")

    assert "one JSON object a line" in refusal(tmp_path / "a.json")
