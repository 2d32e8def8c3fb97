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


def test_a_class_that_does_not_exist_fails_the_test(suite: pytest.Pytester) -> None:
    result = run(suite, "\n@pytest.mark.object_count(Envv=2)\ndef test_it(): pass\n")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*'Envv' must name exactly one class*"])


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("object_count(Env='two')", "expected must be a count"),
        ("object_count(2)", "object_count takes Env=2 or one mapping"),
        ("object_count()", "object_count takes Env=2 or one mapping"),
        ("object_count({3: 2})", "object_count takes classes and names (got 3)"),
        ("no_growth(3)", "no_growth takes repeat, warm_up, max_objects by name (got 3)"),
        ("no_growth(times=3)", "no_growth takes repeat, warm_up, max_objects by name (got times)"),
        ("no_growth(repeat=1)", "no_growth: repeat must be a whole number from 5"),
        ("object_count(Env=-1)", "object_count: Env: expected must be a count"),
    ],
)
@pytest.mark.parametrize("kind", ["function", "unittest"])
def test_wrong_arguments_are_an_error_at_collection(
    suite: pytest.Pytester, marker: str, said: str, kind: str
) -> None:
    test = f"@pytest.mark.{marker}\ndef test_wrong(self=None): pass\ndef test_right(self=None): pass\n"
    if kind == "unittest":
        test = "import unittest\nclass TestIt(unittest.TestCase):\n    " + test.replace("\n", "\n    ")

    result = run(suite, "\n" + test, "--continue-on-collection-errors")

    result.assert_outcomes(errors=1, passed=1)
    assert said in result.stdout.str()
    result.stdout.fnmatch_lines(["ERROR test_it.py::*test_wrong*"])


def test_cases_of_unittest_are_counted(suite: pytest.Pytester) -> None:
    result = run(
        suite,
        """
import unittest

class TestIt(unittest.TestCase):
    @pytest.mark.object_count(Env=1)
    def test_right(self):
        env = Env()

    @pytest.mark.object_count(Env=0)
    def test_wrong(self):
        env = Env()

    @pytest.mark.object_count(Env=0)
    def test_its_own_failure(self):
        env = Env()
        self.assertEqual(1, 2)
""",
    )

    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines_random(["object_count: Env: expected 0, found 1", "*AssertionError: 1 != 2*"])


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
    assert calls >= 2 * (2 + 6 + 1)     # warm-up, a stretch, and the round that is reported
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


def test_each_round_has_its_fixtures_anew(suite: pytest.Pytester) -> None:
    result = run(
        suite,
        """
n = {"up": 0, "down": 0, "modules": 0}

@pytest.fixture(scope="module")
def module():
    n["modules"] += 1
    yield

@pytest.fixture
def fresh(module):
    n["up"] += 1
    yield Env()
    n["down"] += 1

@pytest.mark.no_growth(repeat=5, warm_up=0)
def test_it(fresh):
    assert n["up"] == n["down"] + 1

def test_after(module):
    assert n["up"] == n["down"] >= 6
    assert n["modules"] == 1
""",
    )

    result.assert_outcomes(passed=2)


FIXTURES = {
    "monkeypatch": "def test_it(monkeypatch): monkeypatch.setenv('A', '1')",
    "caplog": "import logging\ndef test_it(caplog): logging.getLogger('x').warning('hello %d', 1)",
    "capsys": "def test_it(capsys): print('x' * 1000)",
    "print": "def test_it(): print('x' * 1000)",
    "tmp_path": "def test_it(tmp_path): (tmp_path / 'a').write_text('x' * 1000)",
    "recwarn": "import warnings\ndef test_it(recwarn): warnings.warn('x')",
    "warnings": "import warnings\ndef test_it(): warnings.warn('x')",
    "request": "def test_it(request): request.addfinalizer(lambda: None)",
    "record_property": "def test_it(record_property): record_property('a', 1)",
    "mock": "import unittest.mock as m\ndef test_it():\n    with m.patch('os.getcwd'): m.MagicMock().call(1)",
    "regex": "import itertools, re\nn = itertools.count()\ndef test_it(): re.compile(f'a{next(n)}')",
    "class": "def test_it():\n    class Local: pass\n    Local()",
    "cycle": "def test_it():\n    env = Env()\n    env.me = env",
    "exception": "def test_it():\n    with pytest.raises(ValueError): raise ValueError([Env()])",
    "thread": "import threading\ndef test_it():\n    t = threading.Thread(target=list)\n    t.start(); t.join()",
    "filling": "cache = {}\ndef test_it():\n    if len(cache) < 20: cache[len(cache)] = Env()",
    "getfixturevalue": "def test_it(request): request.getfixturevalue('tmp_path')",
    "parametrize": "@pytest.mark.parametrize('n', [1])\ndef test_it(n): Env()",
    "unittest": "import unittest\nclass TestIt(unittest.TestCase):\n    def setUp(self): self.env = Env()\n"
    "    def test_it(self): self.addCleanup(print)",
}  # fmt: skip


def test_what_pytest_and_the_standard_library_keep_is_no_growth(suite: pytest.Pytester) -> None:
    files = {f"test_{name}": HEAD + "pytestmark = pytest.mark.no_growth\n" + code for name, code in FIXTURES.items()}
    suite.makepyfile(**files)

    result = suite.runpytest_subprocess()

    result.assert_outcomes(passed=len(FIXTURES), warnings=1)


LEAKS = {
    "list": "def test_it(): kept.append(Env())",
    "strings": "def test_it(): kept.extend([str(len(kept)) * 300, bytes(1000)])",
    "fixture": "@pytest.fixture\ndef env():\n    kept.append(Env())\n    yield\ndef test_it(env): pass",
    "teardown": "@pytest.fixture\ndef env():\n    yield\n    kept.append(Env())\ndef test_it(env): pass",
    "unittest": "import unittest\nclass TestIt(unittest.TestCase):\n    def test_it(self): kept.append(Env())",
    "setup": "import unittest\nclass TestIt(unittest.TestCase):\n    def setUp(self): kept.append(Env())\n"
    "    def test_it(self): pass",
    "async_case": "import unittest\nclass TestIt(unittest.IsolatedAsyncioTestCase):\n"
    "    async def test_it(self): kept.append(Env())",
    "seldom": "import itertools\nn = itertools.count()\ndef test_it():\n    if next(n) % 3 == 0: kept.append(Env())",
}  # fmt: skip


def test_leaks_of_any_part_of_a_test_are_found(suite: pytest.Pytester) -> None:
    files = {f"test_{name}": HEAD + "pytestmark = pytest.mark.no_growth\n" + code for name, code in LEAKS.items()}
    suite.makepyfile(**files)

    result = suite.runpytest_subprocess()

    result.assert_outcomes(failed=len(LEAKS))
    result.stdout.fnmatch_lines(["*phaseprof: what tests leave behind*"])


def test_a_failure_names_the_holder(suite: pytest.Pytester) -> None:
    result = run(suite, "\n@pytest.mark.no_growth\ndef test_it(): kept.append(Env())\n")

    result.stdout.fnmatch_lines(
        ["no_growth: Env: +1 a call; held by module test_it.kept (list, *) *Env*(over 33 calls)"]
    )


def test_what_is_tolerated_passes(suite: pytest.Pytester) -> None:
    result = run(suite, "\n@pytest.mark.no_growth(max_objects=1)\ndef test_it(): kept.append(Env())\n")

    result.assert_outcomes(passed=1)


def test_a_test_that_is_skipped_or_fails_in_a_later_round_is_reported_so(suite: pytest.Pytester) -> None:
    result = run(
        suite,
        """
import itertools
n = itertools.count()
pytestmark = pytest.mark.no_growth

@pytest.fixture(scope="module")
def module(): yield

def test_skipped(module): pytest.skip("why")

def test_expected(module): pytest.xfail("why")

def test_flaky(module): assert next(n) < 4

@pytest.fixture
def broken(module):
    yield
    assert next(n) < 8

def test_broken_teardown(broken): pass
""",
    )

    result.assert_outcomes(skipped=1, xfailed=1, failed=1, passed=1, errors=1)  # the call passed, its teardown did not


def test_defaults_of_the_ini_file(suite: pytest.Pytester) -> None:
    suite.makeini(f"{suite.path.joinpath('tox.ini').read_text()}\nphaseprof_repeat = 5\nphaseprof_warm_up = 1\n")
    tests = """
calls = 0

@pytest.mark.no_growth
def test_it():
    global calls
    calls += 1

@pytest.mark.no_growth(warm_up=2)
def test_marker_wins():
    test_it()

def test_calls():
    assert calls % 5 == (1 + 1 + 2 + 1) % 5     # warm-ups and rounds that are reported, beside stretches of five
"""

    run(suite, tests).assert_outcomes(passed=3)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("phaseprof_repeat = 2", "repeat must be a whole number from 5"),
        ("phaseprof_warm_up = x", "warm_up must be a whole number from 0"),
    ],
)
def test_wrong_defaults_are_a_usage_error(suite: pytest.Pytester, line: str, said: str) -> None:
    suite.makeini(f"{suite.path.joinpath('tox.ini').read_text()}\n{line}\n")

    result = run(suite, "\ndef test_it(): pass\n")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert said in result.stderr.str()


def test_every_test_is_repeated_where_asked(suite: pytest.Pytester) -> None:
    result = run(suite, "\ndef test_it(): kept.append(Env())\n", "--phaseprof-no-growth")

    result.assert_outcomes(failed=1)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_properties_reach_other_reports(suite: pytest.Pytester, workers: tuple[str, ...]) -> None:
    if workers:
        pytest.importorskip("xdist")
    tests = """
pytestmark = pytest.mark.no_growth

def test_leak(): kept.append(Env())

def test_clean(): pass
"""

    result = run(suite, tests, "--junitxml=out.xml", *workers)

    text = (suite.path / "out.xml").read_text()
    assert '<property name="phaseprof_growth" value="none"' in text
    assert '<property name="phaseprof_growth" value="Env: +1 a call; held by' in text
    assert text.count('name="phaseprof_calls"') == 2
    result.stdout.fnmatch_lines(["test_it.py::test_leak (34 calls): Env: +1 a call*"])


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


def test_tests_of_anyio_are_repeated(suite: pytest.Pytester) -> None:
    pytest.importorskip("anyio")
    tests = """
pytestmark = [pytest.mark.anyio, pytest.mark.no_growth]

@pytest.fixture
def anyio_backend(): return "asyncio"

async def test_leak():
    await asyncio.sleep(0)
    kept.append(Env())

async def test_clean():
    await asyncio.sleep(0)
"""

    run(suite, tests).assert_outcomes(passed=1, failed=1)


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
