"""Names of any length and of bytes that are no text: every line that is written can be read, and leaks are named."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from phaseprof import Profiler, load
from phaseprof.cli import main
from phaseprof.probes.census import by_name, count_type_names
from phaseprof.probes.typeinfo import LONGEST_NAME, all_classes, type_name

NAMES = {"long": "x" * 20_000, "no text": "a\udc80b", "escapes": "\x1b[31m\n=x", "none": ""}

LOOP = """
def loop(profiler, phase, kept, made):
    for _ in range(10):
        with profiler.generation(), profiler.phase(phase):
            kept.extend(made() for _ in range(300))
"""


class Leaked:
    pass


@pytest.mark.parametrize("what", ["class", "its module", "phase", "tracked", "snapshot", "module", "file"])
@pytest.mark.parametrize("kind", NAMES)
def test_what_is_written_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, kind: str) -> None:
    def name_of(this: str, otherwise: str) -> str:
        return NAMES[kind] or otherwise if this == what else otherwise

    made = type("Leaked", (), {"__module__": name_of("its module", "there")})
    made.__qualname__ = NAMES[kind] if what == "class" else "Leaked"
    module = types.ModuleType(name_of("module", "the_program"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(LOOP, name_of("file", "program") + ".py", "exec"), module.__dict__)
    module.kept = []  # type: ignore[attr-defined]
    profiler = Profiler(tmp_path / "run", budget=None)
    profiler.watch(made, expected=0)
    profiler.track(name_of("tracked", "kept"), lambda: module.kept)
    run: Callable[..., None] = module.__dict__["loop"]
    run(profiler, name_of("phase", "learn"), module.kept, made)
    profiler.snapshot(name_of("snapshot", "at last"))
    profiler.close()

    process = load(tmp_path / "run").main

    assert not [note for note in process.notes if "skipped" in note or "failed" in note]
    assert len(process.watches) == len(process.snapshots) == 1
    assert main(["check", str(tmp_path / "run")]) == 1
    assert main(["report", str(tmp_path / "run"), "--html", str(tmp_path / "page.html")]) == 0


def test_names_are_cut_alike_in_both_languages() -> None:
    made = type("y" * 3_000, (), {"__module__": "m" * 3_000})
    kept = made()

    assert len(type_name(type(kept))) == 2 * LONGEST_NAME + 1
    assert count_type_names()[type_name(made)] == 1
    assert by_name([(made, 1)]) == {type_name(made): 1}
    assert any(cls is made for cls in all_classes())


def test_a_figure_that_no_reader_believes_is_not_written(tmp_path: Path) -> None:
    profiler = Profiler(tmp_path / "run", budget=None)
    with pytest.warns(match="items"):
        for _ in range(3):
            with profiler.generation(items=1e308):
                pass
    profiler.close()

    process = load(tmp_path / "run").main

    assert len(process.generations) == 3
    assert not [note for note in process.notes if "skipped" in note]
