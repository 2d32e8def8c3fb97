"""Notebooks: ``%load_ext phaseprof``, then ``%%phase NAME`` on a cell, which is a visit of that phase.

A cell that is run again and again is its own axis: each round of phases is a generation, as in any program.  Findings,
reports and loaded runs show themselves as HTML where they are a cell's last expression.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from phaseprof.api import get_profiler
from phaseprof.recording.reader import Run

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["load_ipython_extension", "unload_ipython_extension"]

_PAGE_PX = 640


def load_ipython_extension(shell: Any) -> None:
    """Called by ``%load_ext phaseprof``."""
    shell.register_magic_function(_phase_magic(shell), magic_kind="cell", magic_name="phase")
    shell.display_formatter.formatters["text/html"].for_type(Run, run_html)


def unload_ipython_extension(shell: Any) -> None:
    """Called by ``%unload_ext phaseprof``."""
    shell.magics_manager.magics["cell"].pop("phase", None)
    shell.display_formatter.formatters["text/html"].pop(Run, None)


def _phase_magic(shell: Any) -> Callable[[str, str], None]:
    def phase(line: str, cell: str) -> None:
        """Run the cell as a visit of a phase: ``%%phase NAME``."""
        with get_profiler().phase(line.strip() or "cell"):
            shell.run_cell(cell)  # shows what it returns or raises, as it would without us

    return phase


def run_html(run: Run) -> str:
    """Return the page of a loaded run in a frame of its own, so that its style stays inside."""
    from phaseprof.analysis.findings import find_leaks
    from phaseprof.report.html import render_page

    page = render_page(run, [find_leaks(process) for process in run.processes])
    return f'<iframe srcdoc="{escape(page)}" style="width: 100%; height: {_PAGE_PX}px; border: 0"></iframe>'
