"""The live view where there is no terminal: a line for each generation that ended, and for what changed."""

from __future__ import annotations

from collections.abc import Iterator

from phaseprof.cli.watch_frame import Watched, ended_generations, figures_of, rate_text, seconds_text, state_of
from phaseprof.recording.model import Generation, ProcessRun
from phaseprof.report.access import Generations
from phaseprof.report.text import Style, clean
from phaseprof.units import format_bytes, format_signed_bytes

_STYLE = Style()


class Lines:
    """Turns what was recorded since the last look into lines.

    Args:
        watched: what is known of the run.  Of generations that ended before the first look it names the newest, or as
            many as its choice asks for.
    """

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._last: dict[int, int] = {}  # of each process, the ordinal of the newest generation that was named
        self._said: dict[int, set[str]] = {}

    def new(self) -> list[str]:
        """Return the lines that have not been returned yet."""
        processes = self._watched.judged_processes()
        return [line for process in processes for line in self._of(process, processes)]

    def _of(self, process: ProcessRun, processes: list[ProcessRun]) -> Iterator[str]:
        who = f"rank {process.header.rank}, pid {process.header.pid}" if process.header else "process"
        names = Generations(process)
        ended = ended_generations(process)
        if id(process) not in self._last:
            fresh = ended[-max(1, self._watched.choice.history) :]
        else:
            fresh = [one for one in ended if one.ordinal > self._last[id(process)]]
        for one in fresh:
            yield f"{who}, generation {clean(names.name(one.ordinal), _STYLE)}: {self._figures(process, one)}"
        self._last[id(process)] = ended[-1].ordinal if ended else -1
        yield from self._changes(process, processes, who)

    def _figures(self, process: ProcessRun, one: Generation) -> str:
        memory, change = figures_of(self._watched.choice.memory_of(process), one.ordinal)
        parts = [] if memory is None else [format_bytes(memory)]
        if change is not None:
            parts[-1] += f" ({format_signed_bytes(change)})"
        parts.append(seconds_text(one))
        if one.items is not None:
            parts.append(f"{rate_text(one)} items/s")
        return ", ".join(parts)

    def _changes(self, process: ProcessRun, processes: list[ProcessRun], who: str) -> Iterator[str]:
        """Say once what was found, and each time that the process has ended, fallen silent or gone on."""
        said = self._said.setdefault(id(process), {"running"})
        for finding in self._watched.found_in(process):
            line = f"{who}: {finding.verdict.upper()} {clean(finding.summary, _STYLE)}"
            key = f"{finding.verdict} {finding.phase} {finding.subject}"
            if key not in said:
                said.add(key)
                yield line
        state = state_of(process, processes, self._watched.now())[0]
        word = state.split(" ")[0]
        if word not in said:
            said -= {"running", "silent", "ended", "replaced", "no"}
            said.add(word)
            yield f"{who}: {state}"
