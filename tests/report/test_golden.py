"""The text of every report, pinned at 80 columns, with Unicode and without, on a leaking and on an empty recording."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run
from phaseprof.records import Finding
from phaseprof.report import build
from phaseprof.report.text import Report, Style, text_width

Compare = Callable[[str, str], None]
Build = Callable[[ProcessRun, list[Finding]], Report]

BUILDERS: dict[str, Build] = {
    "trend": lambda p, f: build.build_trend(p),
    "growth": lambda p, f: build.build_growth(p),
    "large_objects": lambda p, f: build.build_large_objects(p, 50),
    "counts": lambda p, f: build.build_counts(p),
    "tracked": lambda p, f: build.build_tracked(p),
    "rollout": lambda p, f: build.build_rollout(p),
    "cost": lambda p, f: build.build_cost(p),
    "findings": lambda p, f: build.build_findings(f, process=p),
    "explained": lambda p, f: build.build_explained(p),
    "what_to_report": build.build_what_to_report,
    "summary": build.build_summary,
    "run": lambda p, f: build.build_report(Run(None, [p]), [f]),
}
STYLES = {"unicode": Style(), "ascii": Style(unicode=False)}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", BUILDERS)
def test_leaking_run(name: str, style: str, leaky: ProcessRun, leak: Finding, golden: Compare) -> None:
    report = BUILDERS[name](leaky, [leak])

    golden(f"{name}-{style}.txt", report.render(STYLES[style]))


@pytest.mark.parametrize("style", STYLES)
def test_snapshot(style: str, leaky: ProcessRun, golden: Compare) -> None:
    baseline = build.build_snapshot(leaky, "Trainer initialized (baseline)")
    broken = build.build_snapshot(leaky, "Gen 2: After evaluate_population")

    golden(f"snapshot-{style}.txt", "\n".join(r.render(STYLES[style]) for r in (baseline, broken)))


@pytest.mark.parametrize("name", BUILDERS)
def test_empty_recording(name: str, empty: ProcessRun, golden: Compare) -> None:
    golden(f"{name}-empty.txt", BUILDERS[name](empty, []).render(Style()))


def test_markdown(leaky: ProcessRun, leak: Finding, golden: Compare) -> None:
    golden("what_to_report.md", build.build_what_to_report(leaky, [leak]).to_markdown())


@pytest.mark.parametrize("name", BUILDERS)
def test_json(name: str, leaky: ProcessRun, leak: Finding) -> None:
    """What to_dict() gives is what comes back from JSON."""
    data = BUILDERS[name](leaky, [leak]).to_dict()

    assert json.loads(json.dumps(data, allow_nan=False)) == data


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("width", [50, 60, 80])
def test_no_line_is_wider_than_asked(name: str, width: int, leaky: ProcessRun, leak: Finding) -> None:
    text = BUILDERS[name](leaky, [leak]).render(Style(width=width))

    assert [line for line in text.splitlines() if text_width(line) > width] == []


@pytest.mark.parametrize("name", BUILDERS)
def test_plain_text_is_ascii(name: str, leaky: ProcessRun, leak: Finding) -> None:
    assert BUILDERS[name](leaky, [leak]).render(Style(unicode=False)).isascii()


def test_golden_files_are_all_in_use() -> None:
    """A report that was renamed must not leave its old golden file behind."""
    stems = {path.stem.rpartition("-")[0] or path.stem for path in (Path(__file__).parent / "golden").iterdir()}

    assert stems - BUILDERS.keys() == {"snapshot", "demo", "sums"}
