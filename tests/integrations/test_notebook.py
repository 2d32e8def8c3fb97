"""Notebooks and rich: what they show of findings and reports, and the cell magic of the extension."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

import phaseprof as pp
from phaseprof.profiler import Findings
from phaseprof.records import Finding

LEAK = Finding("leak", "objects", "train <b>", "Env", ("module trainer", ".kept (list, 3)"), slope=1e6, slope_low=1e6,
               slope_high=1e6, summary="Env leaks in [bold]train")  # fmt: skip


@pytest.fixture
def findings() -> Findings:
    return Findings([LEAK])


def test_findings_are_a_table_whose_cells_are_text(findings: Findings) -> None:
    html = findings._repr_html_()

    assert "<td>leak</td>" in html
    assert "train &lt;b&gt;" in html
    assert "<b>1 leak found.</b>" in html
    assert "<script" not in html


def test_a_report_keeps_its_columns() -> None:
    profiler = pp.Profiler()
    with profiler.generation(), profiler.phase("a < b"):
        pass

    html = profiler.report()._repr_html_()
    profiler.close()

    assert html.startswith("<pre")
    assert "a &lt; b" in html


@pytest.mark.skipif(importlib.util.find_spec("rich") is None, reason="needs rich")
def test_rich_prints_a_table_and_takes_no_text_for_markup(findings: Findings) -> None:
    from rich.console import Console

    printed = io.StringIO()
    Console(file=printed, width=120).print(findings)
    Console(file=printed, width=120).print(Findings())

    assert "train <b>" in printed.getvalue()
    assert "No leak found" in printed.getvalue()


@pytest.fixture
def shell() -> Iterator[object]:
    if importlib.util.find_spec("IPython") is None:
        pytest.skip("make integrations installs IPython")
    from IPython.core.interactiveshell import InteractiveShell

    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "phaseprof")
    yield made
    made.run_line_magic("unload_ext", "phaseprof")
    InteractiveShell.clear_instance()


def test_a_cell_is_a_visit_of_its_phase(shell: object, tmp_path: Path) -> None:
    pp.configure(run=str(tmp_path / "run"))
    for _ in range(2):
        shell.run_cell("%%phase train\nkept = [0] * 10")  # type: ignore[attr-defined]
    pp.get_profiler().close()

    assert pp.load(tmp_path / "run").main.phases["train"].visits == 2
    assert shell.user_ns["kept"] == [0] * 10  # type: ignore[attr-defined]


def test_what_a_cell_raises_is_shown_and_ends_the_phase(
    shell: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pp.configure(run=str(tmp_path / "run"))
    shell.run_cell("%%phase train\n1 / 0")  # type: ignore[attr-defined]
    pp.get_profiler().close()

    assert "ZeroDivisionError" in capsys.readouterr().out
    assert pp.load(tmp_path / "run").main.phases["train"].visits == 1


def test_a_loaded_run_shows_its_page(shell: object, tmp_path: Path) -> None:
    pp.configure(run=str(tmp_path / "run"))
    with pp.generation():
        pass
    pp.get_profiler().close()

    shown, _ = shell.display_formatter.format(pp.load(tmp_path / "run"))  # type: ignore[attr-defined]

    assert shown["text/html"].startswith("<iframe srcdoc=")
