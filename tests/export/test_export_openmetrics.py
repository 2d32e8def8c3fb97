from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaseprof.analysis.open_names import family_of, metric_of
from phaseprof.recording import format as fmt
from phaseprof.report.export import export_run

SAMPLE = re.compile(
    r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"
    r'\{(?P<labels>(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\} '
    r"(?P<value>-?[0-9.e+-]+)\Z"
)
SUFFIX = {"gauge": "", "counter": "_total", "info": "_info"}


def text_of(tmp_path: Path, *records: fmt.Record) -> str:
    header = fmt.Header(
        format=1, phaseprof="0", pid=7, started_unix_s=0, started_ns=0, page_bytes=4096, rank=3, host='a"b\\c'
    )
    run = tmp_path / "run"
    run.mkdir()
    (run / "rank3-pid7.jsonl").write_bytes(b"".join(fmt.encode(record) + b"\n" for record in (header, *records)))
    export_run(run, tmp_path / "out.prom", form="openmetrics")
    text = (tmp_path / "out.prom").read_text(encoding="utf-8")
    check(text)
    return text


def check(text: str) -> None:
    """Hold the text against OpenMetrics: families whole and once, suffixes and units fitting, EOF at the end."""
    assert text.endswith("\n# EOF\n")
    families: dict[str, str] = {}
    current = ""
    for line in text.splitlines()[:-1]:
        if line.startswith("# TYPE "):
            current, kind = line.split(" ")[2:]
            assert current not in families
            families[current] = kind
        elif line.startswith("# UNIT "):
            assert line.split(" ")[2:] == [current, current.rpartition("_")[2]]
        elif line.startswith("# HELP "):
            assert line.split(" ")[2] == current
        else:
            match = SAMPLE.match(line)
            assert match, line
            assert match["name"] == current + SUFFIX[families[current]]


METRICS = fmt.Metrics(
    5, 0, {"rss_bytes": 5.0, "cuda1/allocated_bytes": 6.5, "live/Env": 2.0, "n_total": 1.0}, at='x "y"'
)


def test_newest_readings_are_gauges(tmp_path: Path) -> None:
    text = text_of(tmp_path, fmt.Metrics(1, 0, {"rss_bytes": 4.0}, at='x "y"'), METRICS)

    assert 'phaseprof_rss_bytes{rank="3",pid="7",host="a\\"b\\\\c",point="x \\"y\\""} 5\n' in text
    assert "# UNIT phaseprof_rss_bytes bytes" in text


def test_device_is_a_label(tmp_path: Path) -> None:
    assert re.search(r'phaseprof_device_allocated_bytes\{.*device="cuda1"\} 6\.5', text_of(tmp_path, METRICS))


def test_name_that_is_not_allowed_is_kept_as_a_label(tmp_path: Path) -> None:
    assert re.search(r'phaseprof_live_Env\{.*metric="live/Env"\} 2', text_of(tmp_path, METRICS))


def test_types_are_one_family_with_labels(tmp_path: Path) -> None:
    counted = {"count/Env": 2.0, "count/builtins.list": 7.0, "tracked/replay/obs": 9.0}

    text = text_of(tmp_path, fmt.Metrics(5, 0, counted))

    assert text.count("# TYPE phaseprof_objects gauge") == 1
    assert re.search(r'phaseprof_objects\{.*type="Env"\} 2\n', text)
    assert re.search(r'phaseprof_objects\{.*type="builtins.list"\} 7\n', text)
    assert re.search(r'phaseprof_tracked_bytes\{.*tracked="replay/obs"\} 9\n', text)
    assert "# UNIT phaseprof_tracked_bytes bytes" in text


NAMES = [
    "rss_bytes", "count/a.B", "watched/Env", "untracked/bytes_count", "untracked/bytes_bytes", "tracked/replay/obs",
    "container/list@17", "storages/cpu_count", "storages/cuda:1_bytes", "peak/train_bytes", "gc/gc_collections_0",
    "cuda1/allocated_bytes", "objects", "n_total", "live/Env", "cuda0/odd name",
]  # fmt: skip


@pytest.mark.parametrize("metric", NAMES)
def test_a_name_is_the_same_after_there_and_back(metric: str) -> None:
    name, labels = family_of(metric)

    assert re.fullmatch(r"phaseprof_[a-zA-Z0-9_]+", name)
    assert metric_of(name, labels) == metric


@given(st.text(min_size=1))
def test_any_name_is_the_same_after_there_and_back(text: str) -> None:
    assert metric_of(*family_of(text)) == text


def test_phases_are_counters(tmp_path: Path) -> None:
    text = text_of(
        tmp_path, fmt.Label(0, "train", "phase"), fmt.Point(0, 0, fmt.ENTER), fmt.Point(2_000_000_000, 0, fmt.EXIT)
    )

    assert re.search(r'phaseprof_phase_seconds_total\{.*phase="train"\} 2\n', text)
    assert re.search(r'phaseprof_phase_visits_total\{.*phase="train"\} 1\n', text)


def test_unbroken_watch_is_zero(tmp_path: Path) -> None:
    assert re.search(r'phaseprof_violations_total\{.*watched="Env"\} 0\n', text_of(tmp_path, fmt.Watch("Env", 2, 2)))


def test_reference_parser_reads_it(tmp_path: Path) -> None:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")

    families = {family.name for family in parser.text_string_to_metric_families(text_of(tmp_path, METRICS))}

    assert "phaseprof_rss_bytes" in families
