"""Which of the recorded lines a finding is given."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaseprof.analysis.made import with_sites
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import NATIVE_MEMORY, STAYED, Finding, Site
from phaseprof.report.findings import build_findings, sites_text
from phaseprof.report.text import Style

PATH = ["module m.trainer (Trainer)", ".envs (list, 12)"]
HOLDER = ("module m.trainer (Trainer)", ".envs (list, 96)")
LEAK = Finding("leak", "objects", "collect", "Env", HOLDER)


def row(name: str, line: int, n_bytes: int, *, steps: list[str] = PATH, file: str = "/src/train.py") -> fmt.Site:
    return fmt.Site(steps, name, file, line, 1, n_bytes, f"f{line}" if file else "")


def recorded(*looks: list[fmt.Site]) -> ProcessRun:
    process = ProcessRun()
    for g, rows in enumerate(looks):
        process.add(fmt.decode(fmt.encode(fmt.Sites(g, g, "collect", rows))))
    return process


def lines(finding: Finding) -> list[tuple[int, float]]:
    return [(site.line, site.share) for site in finding.sites]


def test_the_lines_of_what_grows_where_it_is_held() -> None:
    elsewhere = row("m.Env", 1, 9, steps=["module m.other (list)"])
    rows = [row("m.Env", 7, 300), row("m.Env", 9, 100), row("numpy.ndarray", 3, 1 << 20), elsewhere]

    found = with_sites(recorded(rows), LEAK)

    assert lines(found) == [(7, 0.75), (9, 0.25)]
    assert found.site == "/src/train.py:7"
    assert found.sites[0] == Site("/src/train.py", 7, "f7", 0.75)


def test_what_no_own_line_made_counts_and_is_not_named() -> None:
    found = with_sites(recorded([row("m.Env", 7, 300), row("m.Env", 0, 100, file="")]), LEAK)

    assert lines(found) == [(7, 0.75)]


def test_the_newest_look_that_met_it_speaks() -> None:
    process = recorded([row("m.Env", 7, 1)], [row("m.Env", 9, 1)], [row("m.Other", 2, 1)])

    assert lines(with_sites(process, LEAK)) == [(9, 1.0)]


def test_a_look_that_met_it_at_its_place_goes_before_a_newer_one_that_met_its_type_elsewhere() -> None:
    process = recorded([row("m.Env", 7, 1)], [row("m.Env", 9, 1, steps=["module m.other (list)"])])

    assert lines(with_sites(process, LEAK)) == [(7, 1.0)]


@pytest.mark.parametrize(
    ("finding", "rows", "expected"),
    [
        (Finding("leak", "container", "collect", "list", HOLDER), [row("float", 5, 90), row("list", 6, 10)], [5, 6]),
        (Finding("leak", "tensors", "collect", "Tensor", HOLDER), [row("torch.nn.parameter.Parameter", 4, 8)], [4]),
        (Finding("leak", "garbage", "collect", "Env"), [row("m.Env", 2, 8, steps=["unreachable", "(Env)"])], [2]),
        (Finding("leak", "threads", "collect", "Thread", ("elsewhere",)), [row("threading.Thread", 3, 8)], [3]),
        (LEAK, [row("numpy.ndarray", 3, 8)], []),
        (Finding("leak", "autograd graph", "collect", "Tensor", HOLDER), [row("m.ClipBackward", 7, 8)], [7]),
        (Finding("leak", "native", "collect"), [row("m.Env", 3, 8)], []),
        (Finding("slowdown", "throughput", "collect", "Env", HOLDER), [row("m.Env", 3, 8)], []),
    ],
)
def test_which_rows_speak_for_a_finding(finding: Finding, rows: list[fmt.Site], expected: list[int]) -> None:
    assert [site.line for site in with_sites(recorded(rows), finding).sites] == expected


def test_a_recording_without_a_traced_phase_names_no_line() -> None:
    found = with_sites(recorded(), LEAK)

    assert (found.site, found.sites) == (None, ())


sizes = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 10**9)), min_size=1, max_size=30)


@given(sizes)
def test_shares_are_of_one_whole_and_the_largest_comes_first(made: list[tuple[int, int]]) -> None:
    found = with_sites(recorded([row("m.Env", line, n, file="/a.py" if line else "") for line, n in made]), LEAK)

    shares = [site.share for site in found.sites]
    assert sum(shares) <= 1.001 * 1.005
    assert shares == sorted(shares, reverse=True)
    assert len({site.line for site in found.sites}) == len(shares)
    assert 0 not in {site.line for site in found.sites}


def test_text_and_json_name_the_lines() -> None:
    found = with_sites(recorded([row("m.Env", 7, 870), row("m.Env", 9, 130)]), LEAK)

    assert sites_text(found) == "train.py:7 in f7 (87 %), train.py:9 in f9 (13 %)"
    assert "   Made at:  train.py:7 in f7 (87 %), train.py:9 in f9 (13 %)\n" in build_findings([found]).render(Style())
    assert json.loads(json.dumps(found.to_dict()))["sites"][1] == {
        "file": "/src/train.py", "line": 9, "function": "f9", "share": 0.13,
    }  # fmt: skip


def test_what_stayed_anywhere_tells_where_no_place_does_and_only_of_its_phase() -> None:
    garbage = Finding("leak", "garbage", "collect", "Env", ())
    stayed = [row("m.Env", 7, 300, steps=[STAYED]), row("m.Other", 9, 900, steps=[STAYED])]

    assert lines(with_sites(recorded(stayed), garbage)) == [(7, 1.0)]
    assert with_sites(recorded(stayed), replace(garbage, phase="learn")).sites == ()
    assert lines(with_sites(recorded([row("m.Env", 3, 1)], stayed), LEAK)) == [(3, 1.0)]


@pytest.mark.parametrize(("n_bytes", "expected"), [(199, []), (200, [(7, 1.0)])])
def test_native_lines_must_come_to_a_good_part_of_the_growth(n_bytes: int, expected: list[tuple[int, float]]) -> None:
    finding = Finding("leak", NATIVE_MEMORY, "collect", None, (), slope=1000.0)

    found = with_sites(recorded([row("", 7, n_bytes, steps=[NATIVE_MEMORY])]), finding)

    assert lines(found) == expected
