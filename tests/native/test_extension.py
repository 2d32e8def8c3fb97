"""Whether the extension is used, and what is said where it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from phaseprof.native.extension import INTERFACE

CODE = (
    "from phaseprof.native.extension import extension, missing_because\nprint(extension() is None, missing_because())"
)


def answer(*, code: str = CODE, **environ: str) -> str:
    environ = {**os.environ, "PHASEPROF_NATIVE": "1", **environ}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], env=environ,
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_a_variable_turns_it_off() -> None:
    assert answer(PHASEPROF_NATIVE="0") == "True PHASEPROF_NATIVE=0"


def test_an_extension_that_was_not_built_is_named_as_the_reason() -> None:
    code = "import sys; sys.modules['phaseprof.native._heap'] = None\n" + CODE

    assert answer(code=code) == "True the extension was not built"


@pytest.mark.parametrize("wrong", ["count=lambda types: [0]", "count=no", "local_values=lambda frame: []"])
def test_an_extension_that_gives_wrong_answers_is_not_used(wrong: str) -> None:
    code = (
        "import sys, types, gc\n"
        "def no(*given): raise RuntimeError('not here')\n"
        "def count(types): return [sum(type(o) is t for o in gc.get_objects()) for t in types]\n"
        f"names = dict(interface={INTERFACE}, count=count, pick=lambda *given: [], local_values=lambda frame: [])\n"
        f"names.update({wrong})\n"
        "sys.modules['phaseprof.native._heap'] = types.SimpleNamespace(**names)\n"
    ) + CODE

    assert answer(code=code) == "True the extension does not know this Python"


def test_an_extension_of_other_sources_is_not_used() -> None:
    code = "import sys, types; sys.modules['phaseprof.native._heap'] = types.SimpleNamespace(interface=1)\n" + CODE

    assert answer(code=code) == "True the extension was built from other sources"


@pytest.mark.parametrize("native", ["0", "1"])
def test_the_cost_table_says_once_where_the_passes_run(native: str) -> None:
    code = (
        "import phaseprof as pp\n"
        "profiler = pp.Profiler(None)\n"
        "with profiler.generation(0): pass\n"
        "profiler.close()\n"
        "text = ' '.join(str(profiler.report()).split())\n"
        "print(text.count('Passes over the heap run in Python, which takes longer: PHASEPROF_NATIVE=0.'))\n"
    )

    assert answer(code=code, PHASEPROF_NATIVE=native) == ("1" if native == "0" else "0")
