"""Comparisons and experiments as text: one row a run, then what differs, then what the evidence supports."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import PurePath

from tabulate import tabulate

from phaseprof.analysis.compare import GROWS, Change, Comparison, Row, Slope
from phaseprof.analysis.compare_snapshots import POINT
from phaseprof.analysis.experiment import Experiment
from phaseprof.report.words import listed
from phaseprof.units import format_signed_bytes

_MOST_ROWS = 20


def compare_text(comparison: Comparison, *, width: int = 80) -> str:
    """Write a comparison: headline table, other metrics that changed, phases, and the sentence."""
    parts = [_opening(comparison), *_body(comparison), *_wrap(compare_sentence(comparison), width)]
    return "\n".join(parts)


def experiment_text(experiment: Experiment, *, width: int = 80) -> str:
    """Write an experiment: as a comparison, with the setting beside each run."""
    comparison = experiment.comparison
    parts = [_opening(comparison), *_body(comparison, experiment), *_wrap(experiment_sentence(experiment), width)]
    return "\n".join(parts)


def _opening(comparison: Comparison) -> str:
    if comparison.headline is None:
        return f"{len(comparison.names)} runs, no series in common"
    span = f"{comparison.unit}s {comparison.first:g} to {comparison.last:g}"
    where = "" if _is_of_snapshots(comparison) else f' at "{comparison.headline.point}"'
    return f"{len(comparison.names)} {_noun(comparison)} over {span}: {comparison.headline.metric}{where}"


def _is_of_snapshots(comparison: Comparison) -> bool:
    return comparison.headline is not None and comparison.headline.point == POINT


def _noun(comparison: Comparison) -> str:
    return "series of snapshots" if _is_of_snapshots(comparison) else "runs"


def _body(comparison: Comparison, experiment: Experiment | None = None) -> list[str]:
    lines: list[str] = []
    if comparison.headline is not None:
        lines += ["", _run_table(comparison, comparison.headline, experiment)]
        lines += _leak_lines(comparison)
        lines += _changed_table(comparison, comparison.headline)
        lines += _phase_table(comparison)
    if comparison.also_differ:
        lines += ["", "Also different: " + "; ".join(comparison.also_differ)]
    lines += [f"Note: {note}" for note in comparison.notes]
    return [*lines, ""]


def _run_table(comparison: Comparison, headline: Row, experiment: Experiment | None) -> str:
    head, rows = run_cells(comparison, headline, experiment)
    return str(tabulate(rows, headers=head, disable_numparse=True))


def run_cells(
    comparison: Comparison, headline: Row, experiment: Experiment | None = None
) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the table of runs: readings, verdict, slope, and how it differs from the first."""
    unit = f"per {comparison.unit}"
    first = experiment.parameter or "settings" if experiment else ""
    head = ["run", *([first] if experiment else []), "n", "verdict", unit, "95 %", "against first"]
    rows = []
    for at, (name, slope) in enumerate(zip(short_names(comparison.names), headline.slopes, strict=True)):
        against = _against(headline.changes[at - 1]) if at else "-"
        setting = [experiment.values[at]] if experiment else []
        figures = [_rate(slope.slope, headline.metric), _interval(slope, headline.metric)]
        rows.append([name, *setting, str(slope.n), _verdict(slope), *figures, against])
    return head, rows


def _leak_lines(comparison: Comparison) -> list[str]:
    texts = [f"  {text}" for text in leak_texts(comparison)]
    lines = [line for text in texts for line in textwrap.wrap(text, 80, subsequent_indent="    ")]
    return ["", "Leaks, per generation:", *lines] if lines else []


def leak_texts(comparison: Comparison) -> list[str]:
    """Say what became of each leak of the first run, and which are new: ``trainer.used_envs: gone (...)``."""
    names = short_names(comparison.names)
    texts = []
    for leak in comparison.leaks:
        where = f" in {names[leak.run]}" if len(names) > 2 else ""
        moved = f", now in {leak.moved_to}" if leak.moved_to else ""
        rates = [(leak.before, names[0]), (leak.after, names[leak.run])]
        told = ", ".join([leak.subject, *(f"{_growth(*rate)} in {name}" for rate, name in rates if rate is not None)])
        texts.append(f"{leak.place}: {leak.fate}{moved}{where} ({told})")
    return texts


def _growth(value: float, unit: str) -> str:
    what = unit.partition("/")[0]
    return format_signed_bytes(value) if what == "bytes" else f"{value:+.3g} {what}"


def _verdict(slope: Slope) -> str:
    return slope.verdict if slope.whole == slope.verdict else f"{slope.verdict}, later {slope.whole}"


def _against(change: Change) -> str:
    if change.ratio is None or change.word in ("unchanged", "too short"):
        return change.word
    return f"{change.word}, x{change.ratio:.2f}"


def moved_rows(comparison: Comparison, headline: Row) -> list[Row]:
    """Return the other metrics at the headline's point that changed in any run."""
    here = [row for row in comparison.rows if row.point == headline.point and row.metric != headline.metric]
    return [row for row in here if any(change.word not in ("unchanged", "too short") for change in row.changes)]


def _changed_table(comparison: Comparison, headline: Row) -> list[str]:
    """Other metrics at the headline's point, where any run changed; the rest is counted."""
    moved = moved_rows(comparison, headline)
    lines: list[str] = []
    if moved:
        table = _slopes_table(moved[:_MOST_ROWS], "metric", comparison, by_metric=True)
        where = "" if _is_of_snapshots(comparison) else f' at "{headline.point}"'
        lines += ["", f"Also changed{where}, per {comparison.unit}:", table]
    rest = len(comparison.rows) - 1 - len(moved[:_MOST_ROWS])
    if rest:
        lines.append(f"--json compares {rest} more series.")
    return lines


def _phase_table(comparison: Comparison) -> list[str]:
    if not comparison.phases:
        return []
    table = _slopes_table(comparison.phases[:_MOST_ROWS], "phase", comparison, by_metric=False)
    return ["", f"Mean change within each phase or interval, per {comparison.unit}:", table]


def _slopes_table(rows: Sequence[Row], head: str, comparison: Comparison, *, by_metric: bool) -> str:
    headers, body = slope_cells(rows, head, comparison, by_metric=by_metric)
    return str(tabulate(body, headers=headers, disable_numparse=True))


def slope_cells(
    rows: Sequence[Row], head: str, comparison: Comparison, *, by_metric: bool
) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of a table with the slope of each row in each run."""
    headers = [head, *short_names(comparison.names), "against first"]
    body = [
        [
            row.metric if by_metric else row.point,
            *(_rate(slope.slope, row.metric) for slope in row.slopes),
            ", ".join(change.word for change in row.changes),
        ]
        for row in rows
    ]
    return headers, body


def _rate(value: float, metric: str) -> str:
    return format_signed_bytes(value) if metric.endswith("_bytes") else f"{value:+.4g}"


def _interval(slope: Slope, metric: str) -> str:
    if slope.verdict == "too short":
        return "-"
    if slope.low == slope.high:
        return "exact"
    return f"{_rate(slope.low, metric)} .. {_rate(slope.high, metric)}"


def short_names(names: Sequence[str]) -> list[str]:
    """Return the last parts of paths, as many as it takes to tell them apart."""
    parts = [PurePath(name).parts for name in names]
    for depth in range(1, max(map(len, parts), default=1) + 1):
        short = ["/".join(part[-depth:]) for part in parts]
        if len(set(short)) == len(set(names)):
            return short
    return list(names)


def compare_sentence(comparison: Comparison) -> str:
    """Say in one or two sentences what the evidence supports, and what it does not."""
    headline = comparison.headline
    if headline is None:
        return "The runs have no series in common, so nothing can be said."
    if comparison.is_too_short:
        short = min(slope.n for slope in headline.slopes)
        readings = "1 reading in common does" if short == 1 else f"{short} readings in common do"
        return f"Too short: {readings} not tell growth from warm-up; run longer."
    names = short_names(comparison.names)
    told = [
        _change_clause(names[0], name, headline, slope, change)
        for name, slope, change in zip(names[1:], headline.slopes[1:], headline.changes, strict=True)
    ]
    return " ".join([*told, *_where(comparison), _limits(comparison)])


def _where(comparison: Comparison) -> list[str]:
    """Name the phases in which two runs part, where they account for the difference between the slopes."""
    headline = comparison.headline
    if headline is None or len(headline.changes) != 1 or headline.changes[0].word == "unchanged":
        return []
    parted = [row for row in comparison.phases if row.changes[0].word in ("higher", "lower")]
    accounted = sum(row.changes[0].difference for row in parted)
    difference = headline.changes[0].difference
    if not parted or len(parted) == len(comparison.phases) or abs(accounted - difference) > 0.2 * abs(difference):
        return []
    return [f"They differ in {listed([repr(row.point) for row in parted])}, and nowhere else."]


def _change_clause(first: str, name: str, headline: Row, slope: Slope, change: Change) -> str:
    before = headline.slopes[0]
    rates = f"{_rate(before.slope, headline.metric)} in {first}, {_rate(slope.slope, headline.metric)} in {name}"
    if change.word == "unchanged":
        if before.verdict not in GROWS and slope.verdict not in GROWS:
            return f"Neither {first} nor {name} grows."
        return f"Growth is unchanged ({rates}): what differs between them is not what makes it grow."
    p = "p < 0.001" if change.p < 0.001 else f"p = {change.p:.3f}"
    if change.word == "collapsed":
        rest = f"; {name} still grows a little" if slope.verdict in GROWS else ""
        rest += f", and levels off later ({slope.whole})" if rest and slope.whole not in GROWS else ""
        return f"Growth collapsed ({rates}; {p}){rest}: what differs between them made it grow."
    return f"Growth is {change.word} ({rates}; {p}): what differs between them contributes to it."


def _limits(comparison: Comparison) -> str:
    runs = "One run of each cannot show how runs vary among themselves"
    if comparison.also_differ:
        return f"{runs}, and where they differ in more than one thing, the evidence does not say which of them it was."
    return f"{runs}." if comparison.leaks else f"{runs}, and the evidence does not say what holds the memory."


def experiment_sentence(experiment: Experiment) -> str:
    """Say whether growth follows the setting, and what the runs cannot show."""
    comparison = experiment.comparison
    if comparison.headline is None or comparison.is_too_short:
        return compare_sentence(comparison)
    if not experiment.parameter:
        return (
            f"{listed(experiment.changed)} changed together: the runs cannot say which of them did it; "
            f"change one at a time. {compare_sentence(comparison)}"
        )
    if experiment.scaling == "does not apply":
        return compare_sentence(comparison)
    return f"{_scaling_sentence(experiment, comparison.headline)} {_limits(comparison)}"


def _scaling_sentence(experiment: Experiment, headline: Row) -> str:
    name = experiment.parameter
    rates = ", ".join(
        f"{_rate(slope.slope, headline.metric)} at {value}"
        for value, slope in zip(experiment.values, headline.slopes, strict=True)
    )
    if experiment.exponent is None:
        if experiment.scaling == "independent":
            return f"No run grows, whatever {name} is."
        if experiment.scaling == "undecided":
            return f"Growth at the values of {name} cannot be compared yet ({rates})."
        growing = [v for v, s in zip(experiment.values, headline.slopes, strict=True) if s.verdict in GROWS]
        return f"Memory grows only at {name} = {', '.join(growing)} ({rates})."
    power = f"{name}^{experiment.exponent[0]:.2f}, 95 % {experiment.exponent[1]:.2f} to {experiment.exponent[2]:.2f}"
    if experiment.scaling == "proportional":
        return f"Growth scales with {name} ({rates}; {power}): each unit of {name} leaves its share behind."
    if experiment.scaling == "independent":
        return f"Growth does not depend on {name} ({rates}; {power})."
    if experiment.scaling == "undecided":
        return f"Whether growth follows {name} is not decided ({rates}; {power}): longer runs narrow the interval."
    offset = experiment.offset_share
    constant = "" if offset is None else f"; about {offset:.0%} of it at {experiment.values[0]} does not depend on it"
    return f"Growth follows {name}, but not in proportion ({rates}; {power}){constant}."


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
