"""OpenMetrics text: where a run stands, for a scraper or a push gateway."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from phaseprof.analysis.open_names import PREFIX, family_of
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run, load_run

Load = Callable[[Path], Run]

_UNITS = ("bytes", "seconds")


@dataclass
class _Family:
    """One metric family: its kind, help and samples as (name, labels, value)."""

    kind: str
    help: str
    samples: list[tuple[str, dict[str, str], float]] = field(default_factory=list)


def write_openmetrics(run: Path, out: Path, *, load: Load = load_run) -> int:
    """Write the newest reading of every series, totals of phases and generations; return the number of samples.

    What is counted by type or sized by name is one family, with the type or name as a label.
    """
    text, n = openmetrics_text(load(run).processes)
    out.write_text(text, encoding="utf-8")
    return n


def openmetrics_text(processes: Iterable[ProcessRun]) -> tuple[str, int]:
    """Return the text and its number of samples.

    Reference: OpenMetrics 1.0.0.  Names are those of ``analysis.open_names``; those that OpenMetrics does not allow are
    the label ``metric``.
    """
    families: dict[str, _Family] = {}
    for process in processes:
        _add_process(families, process)
    return _render(families)


def _add_process(families: dict[str, _Family], process: ProcessRun) -> None:
    header = process.header
    who = {"rank": str(header.rank), "pid": str(header.pid), "host": header.host} if header else {"rank": "0"}
    add = _Adder(families, who)
    if header:
        versions = {"python": header.python, "torch": header.torch, "phaseprof": header.phaseprof}
        add("phaseprof_process", "info", "The process that was recorded.", 1, suffix="_info", labels=versions)
    add("phaseprof_generations", "gauge", "Generations begun.", len(process.generations))
    newest = {key: series.last for key, series in process.series.items() if len(series)}
    newest |= {key: value for key, (_, value) in process.first_counts.items()}
    for (point, metric), value in newest.items():
        name, labels = family_of(metric)
        about = f"Newest reading of {name.removeprefix(PREFIX)}."
        add(name, "gauge", about, value, labels={"point": point, **labels})
    for phase, totals in process.phases.items():
        of = {"phase": phase}
        add("phaseprof_phase_seconds", "counter", "Time in a phase.", totals.seconds, suffix="_total", labels=of)
        add("phaseprof_phase_visits", "counter", "Visits of a phase.", totals.visits, suffix="_total", labels=of)
    broken = Counter(violation.name for violation in process.violations)
    for name in process.watches:
        of = {"watched": name}
        add("phaseprof_violations", "counter", "Broken expectations.", broken[name], suffix="_total", labels=of)


class _Adder:
    """Puts samples of one process to their families."""

    def __init__(self, families: dict[str, _Family], who: dict[str, str]) -> None:
        self._families = families
        self._who = who

    def __call__(
        self, name: str, kind: str, help_text: str, value: float, *, suffix: str = "",
        labels: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        family = self._families.setdefault(name, _Family(kind, help_text))
        family.samples.append((name + suffix, {**self._who, **(labels or {})}, value))


def _render(families: dict[str, _Family]) -> tuple[str, int]:
    lines: list[str] = []
    n = 0
    for name, family in sorted(families.items()):
        lines.append(f"# TYPE {name} {family.kind}")
        unit = name.rpartition("_")[2]
        if unit in _UNITS:
            lines.append(f"# UNIT {name} {unit}")
        lines.append(f"# HELP {name} {_escape(family.help)}")
        lines.extend(_samples(family))
        n += len(family.samples)
    return "\n".join([*lines, "# EOF", ""]), n


def _samples(family: _Family) -> Iterator[str]:
    for name, labels, value in family.samples:
        inside = ",".join(f'{key}="{_escape(text)}"' for key, text in labels.items())
        number = int(value) if value == int(value) else float(value)
        yield f"{name}{{{inside}}} {number!r}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
