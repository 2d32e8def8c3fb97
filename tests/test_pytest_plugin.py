"""The pytest plugin, under pytester: real test files, judged by their outcomes and what they print."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import phaseprof

ROOT = Path(phaseprof.__file__).parent.parent

HEAD = """
import asyncio
import pytest

class Env:
    def __init__(self):
        self.state = [0.0] * 4096

kept = []
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A suite with strict markers that has the plugin, whether or not phaseprof is installed."""
    installed = any(ep.name == "phaseprof" for ep in entry_points(group="pytest11"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    loaded = "" if installed else "-p phaseprof.pytest_plugin "
    pytester.makeini(
        "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
        f"addopts = {loaded}--strict-markers -p no:cacheprovider\n"
    )
    return pytester


def run(suite: pytest.Pytester, tests: str, *options: str) -> pytest.RunResult:
    suite.makepyfile(test_it=HEAD + tests)
    return suite.runpytest_subprocess(*options)


# --- the fixture ----------------------------------------------------------------------------------------------------


def test_the_fixture_is_a_fresh_profiler_in_memory(suite: pytest.Pytester) -> None:
    result = run(
        suite,
        """
        @pytest.mark.parametrize("turn", [1, 2])
        def test_it(phaseprof, turn):
            assert (phaseprof.settings.run, phaseprof.settings.budget) == (None, None)
            assert phaseprof.counts().to_dict()["rows"] == []
            phaseprof.watch(Env)
        """.replace("\n        ", "\n"),
    )

    result.assert_outcomes(passed=2)


def test_the_fixture_finds_a_leak_by_its_phase(suite: pytest.Pytester) -> None:
    result = run(
        suite,
        """
def test_it(phaseprof):
    phaseprof.watch(Env)
    for g in range(12):
        with phaseprof.generation(g), phaseprof.phase("evaluate"):
            kept.append(Env())
    leaks = [(f.subject, f.phase) for f in phaseprof.findings() if f.verdict == "leak"]
    assert ("Env", "evaluate") in leaks
""",
    )

    result.assert_outcomes(passed=1)


def test_the_fixture_is_closed_after_the_test(suite: pytest.Pytester) -> None:
    result = run(
        suite,
        """
import threading
profilers = []

def test_use(phaseprof):
    profilers.append(phaseprof)

def test_after():
    assert not profilers[0].enabled
""",
    )

    result.assert_outcomes(passed=2)


def test_recordings_are_kept_where_asked(suite: pytest.Pytester) -> None:
    result = run(
        suite,
        """
def test_it(phaseprof):
    with phaseprof.generation(0):
        pass
""",
        "--phaseprof-run=recorded",
    )

    result.assert_outcomes(passed=1)
    assert len(list((suite.path / "recorded").glob("test_it.py_test_it/*.jsonl"))) == 1


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_reports_are_printed_where_asked(suite: pytest.Pytester, workers: tuple[str, ...]) -> None:
    if workers:
        pytest.importorskip("xdist")
    tests = """
def test_it(phaseprof):
    with phaseprof.generation(0), phaseprof.phase("evaluate"):
        pass

def test_other(): pass
"""

    result = run(suite, tests, "--phaseprof-report", *workers)

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*phaseprof: test_it.py::test_it*", "*FINAL MEMORY ANALYSIS*"])
    assert result.stdout.str().count("FINAL MEMORY ANALYSIS") == 1


def test_nothing_is_printed_unless_asked(suite: pytest.Pytester) -> None:
    result = run(suite, "\ndef test_it(phaseprof): pass\n")

    assert "FINAL MEMORY ANALYSIS" not in result.stdout.str()


# --- object_count ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "marker", ["Env=2", "{Env: 2}", "Env=(1, 2)", "{'test_it.Env': 2}", "{Env: (2, 9)}", "Env=None", "{'Env': 2}"]
)
def test_counts_that_are_right_pass(suite: pytest.Pytester, marker: str) -> None:
    result = run(suite, f"\n@pytest.mark.object_count({marker})\ndef test_it():\n    kept.extend([Env(), Env()])\n")

    result.assert_outcomes(passed=1)


def test_locals_of_the_test_count(suite: pytest.Pytester) -> None:
    result = run(
        suite,
        """
class TestIt:
    @pytest.mark.object_count(Env=2)
    def test_right(self):
        first, second = Env(), Env()

    @pytest.mark.object_count(Env=2)
    def test_wrong(self):
        first = Env()

    @pytest.mark.object_count(Env=0)
    def test_gone_after_the_test(self):
        pass
""",
    )

    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["object_count: Env: expected 2, found 1"])


def test_a_surplus_object_is_shown_with_its_holder(suite: pytest.Pytester) -> None:
    result = run(suite, "\n@pytest.mark.object_count(Env=1)\ndef test_it():\n    kept.extend([Env(), Env()])\n")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["object_count: Env: expected 1, found 2", "  one of them is held by: module test_it.kept (list, 2)*Env"]
    )


def test_dead_cycles_do_not_count(suite: pytest.Pytester) -> None:
    result = run(
        suite,
        """
@pytest.mark.object_count(Env=0)
def test_it():
    env = Env()
    env.me = env
    del env
""",
    )

    result.assert_outcomes(passed=1)


def test_the_marker_nearest_to_the_test_wins(suite: pytest.Pytester) -> None:
    result = run(
        suite,
        """
pytestmark = pytest.mark.object_count(Env=0)

def test_module(): pass

@pytest.mark.object_count(Env=1)
def test_function():
    env = Env()
""",
    )

    result.assert_outcomes(passed=2)


def test_a_failure_of_the_test_itself_is_shown_as_it_is(suite: pytest.Pytester) -> None:
    result = run(suite, "\n@pytest.mark.object_count(Env=5)\ndef test_it():\n    assert 1 == 2\n")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2*"])
    assert "object_count:" not in result.stdout.str()


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("Envv=2", "'Envv' must name exactly one class"),
        ("Env='two'", "expected must be a count"),
        ("2", "object_count takes Env=2 or one mapping"),
    ],
)
def test_a_wrong_count_marker_fails_the_test(suite: pytest.Pytester, marker: str, said: str) -> None:
    result = run(suite, f"\n@pytest.mark.object_count({marker})\ndef test_it(): pass\n")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{said}*"])


# --- no_growth ------------------------------------------------------------------------------------------------------


def test_a_test_that_leaves_nothing_behind_passes(suite: pytest.Pytester) -> None:
    result = run(
        suite,
        """
calls = 0

@pytest.fixture
def size(): return 10

@pytest.mark.no_growth(repeat=6, warm_up=2)
@pytest.mark.parametrize("more", [1, 2])
def test_it(size, more):
    global calls
    calls += 1
    envs = [Env() for _ in range(size + more)]

def test_calls():
    assert calls == 2 * (6 + 2)
""",
    )

    result.assert_outcomes(passed=3)


def test_a_test_that_leaves_objects_behind_fails(suite: pytest.Pytester) -> None:
    result = run(suite, "\n@pytest.mark.no_growth(repeat=10)\ndef test_it():\n    kept.append(Env())\n")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["no_growth: *Env*"])


def test_an_error_in_a_repeated_test_is_shown_as_it_is(suite: pytest.Pytester) -> None:
    result = run(suite, "\n@pytest.mark.no_growth\ndef test_it():\n    assert 1 == 2\n")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2*"])


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("(3)", "no_growth takes repeat, warm_up, max_objects by name (got 3)"),
        ("(times=3)", "no_growth takes repeat, warm_up, max_objects by name (got times)"),
        ("(repeat=1)", "no_growth: repeat must be >= 5"),
    ],
)
def test_a_wrong_growth_marker_fails_the_test(suite: pytest.Pytester, marker: str, said: str) -> None:
    result = run(suite, f"\n@pytest.mark.no_growth{marker}\ndef test_it(): pass\n")

    result.assert_outcomes(failed=1)
    assert said in result.stdout.str()


# --- everywhere -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_async_tests_work_as_others_do(suite: pytest.Pytester, workers: tuple[str, ...]) -> None:
    pytest.importorskip("pytest_asyncio")
    if workers:
        pytest.importorskip("xdist")
    tests = """
pytestmark = pytest.mark.asyncio

@pytest.mark.object_count(Env=1)
async def test_right():
    env = Env()
    await asyncio.sleep(0)

@pytest.mark.object_count(Env=2)
async def test_wrong():
    env = Env()
    await asyncio.sleep(0)

@pytest.mark.no_growth(repeat=10)
async def test_growth():
    await asyncio.sleep(0)
    kept.append(Env())

async def test_fixture(phaseprof):
    with phaseprof.phase("wait"):
        await asyncio.sleep(0)
"""

    result = run(suite, tests, *workers)

    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines_random(["object_count: Env: expected 2, found 1", "no_growth: *Env*"])


def test_an_async_test_that_cannot_be_repeated_says_so(suite: pytest.Pytester) -> None:
    result = run(suite, "\n@pytest.mark.no_growth\nasync def test_it(): pass\n", "-p", "no:asyncio", "-p", "no:anyio")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no_growth can repeat an async test under pytest-asyncio only*"])


def test_markers_are_documented(suite: pytest.Pytester) -> None:
    out = suite.runpytest_subprocess("--markers").stdout.str()

    assert "@pytest.mark.object_count(Env=2, ...)" in out
    assert "@pytest.mark.no_growth(repeat=10" in out


def test_options_begin_with_the_programs_name(suite: pytest.Pytester) -> None:
    out = suite.runpytest_subprocess("--help").stdout.str()

    assert "--phaseprof-report" in out
    assert "--phaseprof-run=DIR" in out


def test_the_plugin_starts_no_profiler_of_its_own(suite: pytest.Pytester) -> None:
    result = run(
        suite,
        """
import gc, sys, threading

def test_it():
    assert gc.callbacks == []
    assert sys.getprofile() is None
    assert threading.active_count() == 1
    assert "torch" not in sys.modules
    api = sys.modules.get("phaseprof.api")
    assert api is None or api._default is None
""",
    )

    result.assert_outcomes(passed=1)
    assert sys.getprofile() is None
