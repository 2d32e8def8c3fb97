"""Texts read line by line by regular expressions: the user's, those of known tools, and what a log says of itself."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from phaseprof.analysis.imports.builder import Builder
from phaseprof.analysis.imports.columns import STEPS, TIMES, normal
from phaseprof.analysis.imports.layouts import clean
from phaseprof.analysis.imports.limits import fail, iter_lines
from phaseprof.analysis.imports.names import is_about_memory
from phaseprof.analysis.imports.readings import NO_TIME, Readings
from phaseprof.analysis.imports.sequence import Sequencer
from phaseprof.analysis.imports.times import read_time
from phaseprof.analysis.imports.units import Units, read_quantity, split_unit
from phaseprof.analysis.metric_roles import meaning_of
from phaseprof.errors import UsageError

_PROCESSES = ("host", "name", "container", "pod", "rank", "worker", "process", "pid")
_DEVICES = ("gpu", "device")
_HEAD_LINES = 300
_LONGEST_LINE = 4000
_MOST_BYTES = 2.0**63


@dataclass
class Found:
    """What one line says: figures as (name, text), and axes by name."""

    figures: list[tuple[str, str]] = field(default_factory=list)
    axes: dict[str, str] = field(default_factory=dict)


Finder = Callable[[str], Found]


def parse_patterns(texts: Sequence[str]) -> list[re.Pattern[str]]:
    """Compile ``--pattern`` texts.

    Raises:
        UsageError: one is no regular expression, or names no group.
    """
    patterns = []
    for text in texts:
        try:
            pattern = re.compile(text)
        except re.error as error:
            raise UsageError(f"--pattern must be a regular expression (got {text!r}: {error}); fix it") from error
        if not pattern.groupindex:
            raise UsageError(
                rf"--pattern must name what it finds (got {text!r}); write for example 'RSS: (?P<rss_MB>\d+)'"
            )
        patterns.append(pattern)
    return patterns


def read_patterns(file: Path, patterns: Sequence[re.Pattern[str]], units: Units) -> list[Readings]:
    """Read a log by the user's patterns: groups are figures, or axes by their names (``step``, ``time``, ``pid``, ...).

    Raises:
        ImportFailure: no line fits, or the unit of a figure is not known.
    """
    readings = _LineReader(file, units, finder_of(patterns)).read(iter_lines(file))
    if not readings:
        rule = f"no line of it matches {patterns[0].pattern!r}"
        raise fail(file, rule, "try the pattern on a line of the file")
    return readings


def finder_of(patterns: Sequence[re.Pattern[str]]) -> Finder:
    """Return what finds figures and axes by the named groups of patterns."""

    def find(text: str) -> Found:
        found = Found()
        for pattern in patterns:
            for match in pattern.finditer(text):
                given = {name: value for name, value in match.groupdict().items() if value is not None}
                if "key" in given and "value" in given:
                    found.figures.append((given.pop("key"), given.pop("value")))
                for name, value in given.items():
                    if _is_axis(name):
                        found.axes[name] = value
                    else:
                        found.figures.append((name, value))
        return found

    return find


def _is_axis(name: str) -> bool:
    return name in (*STEPS, *TIMES, *_PROCESSES, *_DEVICES, "point")


class _LineReader:
    """Takes in what lines say; axes that stand on a line of their own hold for the lines after it."""

    def __init__(self, file: Path, units: Units, find: Finder, *, point: str = "log", prefix: str = "") -> None:
        self._builder = Builder(file, units, point=point)
        self._file, self._find, self._prefix = file, find, prefix
        self._sequence = Sequencer()
        self._axes: dict[str, str] = {}

    def read(self, lines: Iterable[tuple[int, str]]) -> list[Readings]:
        for line, text in lines:
            found = self._find(clean(text[:_LONGEST_LINE]))
            if found.axes:
                self._axes.update(found.axes)
            for name, cell in found.figures:
                self._add(name, cell, line=line)
        return self._builder.finish()

    def _add(self, name: str, cell: str, *, line: int) -> None:
        quantity = read_quantity(cell)
        if quantity is None or abs(quantity.number) > _MOST_BYTES / (quantity.factor or 1.0):
            raise fail(
                self._file, f"{name} must be a size (got {cell[:40]!r})", "fix the line or the pattern", line=line
            )
        axes = self._axes
        device = next((axes[axis] for axis in _DEVICES if axis in axes), "")
        process = " ".join(f"{axis} {axes[axis]}" for axis in _PROCESSES if axis in axes)
        named = f"gpu.{device}.{name}" if device and not _names_a_device(name) else self._prefix + name
        is_bytes = quantity.factor is not None
        self._builder.add(
            named, quantity.number * (quantity.factor or 1.0), is_bytes, step=self._step((process, named), line=line),
            point=axes.get("point", ""), time_s=self._time((process,)), process=process,
        )  # fmt: skip

    def _step(self, key: tuple[str, ...], *, line: int) -> float:
        text = next((self._axes[axis] for axis in STEPS if axis in self._axes), None)
        if text is None:
            return self._sequence.step(key)
        try:
            step = float(text.replace(",", ""))
        except ValueError as error:
            raise fail(self._file, f"the step must be a number (got {text[:40]!r})", "mend it", line=line) from error
        if not 0 <= step <= 2**53:
            raise fail(self._file, f"the step must be from 0 to 2**53 (got {text[:40]!r})", "mend it", line=line)
        return self._sequence.step(key, step)

    def _time(self, key: tuple[str, ...]) -> float:
        text = next((self._axes[axis] for axis in TIMES if axis in self._axes), None)
        time_s = None if text is None else read_time(text)
        if text is None or time_s is None:
            return NO_TIME
        return self._sequence.time(key, time_s, is_clock=time_s < 86401 and ":" in text)


def _names_a_device(name: str) -> bool:
    owner = meaning_of(name).owner
    return owner in ("container", "host") or (owner not in ("", "process") and any(map(str.isdigit, name)))


# --- texts of known tools ---------------------------------------------------------------------------------------------

_SIZE = r"\d+(?:\.\d+)?\s*[KMGT]?i?B"


@dataclass(frozen=True)
class KnownText:
    """A text of a known tool: what a line of its head looks like, and what its lines say."""

    name: str
    mark: re.Pattern[str]
    patterns: tuple[re.Pattern[str], ...]
    prefix: str = ""
    is_binary: bool = True


KNOWN_TEXTS = (
    KnownText(
        "torch.cuda.memory_summary", re.compile(r"PyTorch CUDA memory summary"),
        (
            re.compile(r"device ID (?P<gpu>\d+)"),
            re.compile(rf"^\|\s*Allocated memory\s*\|\s*(?P<allocated>{_SIZE})"),
            re.compile(rf"^\|\s*Active memory\s*\|\s*(?P<active>{_SIZE})"),
            re.compile(rf"^\|\s*GPU reserved memory\s*\|\s*(?P<reserved>{_SIZE})"),
        ), prefix="gpu_",
    ),
    KnownText(
        "nvidia-smi", re.compile(r"NVIDIA-SMI \d"),
        (
            re.compile(r"^(?P<time>[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \d{4})"),
            re.compile(r"^\|\s+(?P<gpu>\d+)\s+[A-Z][\w -]+?(?:On|Off|N/A)?\s*\|"),
            re.compile(r"\|\s*(?P<memory_used>\d+\s*MiB)\s*/\s*(?P<memory_total>\d+\s*MiB)\s*\|"),
        ), prefix="gpu_",
    ),
    KnownText(
        "psutil", re.compile(r"\b(?:pmem|pfullmem|svmem)\([a-z]+=\d+"),
        (
            re.compile(r"^\W{0,3}(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?)"),
            re.compile(r"\bp(?:full)?mem\(rss=(?P<rss_bytes>\d+), vms=(?P<vms_bytes>\d+)"),
            re.compile(r"\bpfullmem\([^)]*?\buss=(?P<uss_bytes>\d+)"),
            re.compile(r"\bsvmem\([^)]*?\bused=(?P<system_memory_used_bytes>\d+)"),
        ),
    ),
    KnownText(
        "kubectl top", re.compile(r"\A\S+ +\d+m +\d+[KMG]i\s*$", re.MULTILINE),
        (re.compile(r"^(?P<name>\S+) +\d+m +(?P<memory>\d+[KMG]i)\s*$"),), prefix="container_",
    ),
    KnownText(
        "gpustat", re.compile(r"^\[\d+\] .*\|\s*\d+\s*/\s*\d+ [MG]i?B", re.MULTILINE),
        (
            re.compile(r"^\[(?P<gpu>\d+)\] .*?\|\s*(?P<memory_used_MiB>\d+)\s*/\s*(?P<memory_total_MiB>\d+) Mi?B"),
        ), prefix="gpu_",
    ),
    KnownText(
        "sadf -p", re.compile(r"^\S+\t\d+\t[^\t]+\t[^\t]*\t[%a-z]\S*\t[\d.]+$", re.MULTILINE),
        (
            re.compile(r"^\S+\t\d+\t(?P<time>[^\t]+)\t[^\t]*\t(?P<key>kb(?:mem|swp)?(?:used|free|avail)\S*)\t(?P<value>[\d.]+)$"),
        ),
    ),
)  # fmt: skip


def read_known_text(file: Path, start: str, units: Units) -> list[Readings] | None:
    """Read the text of a known tool; ``None`` where it is none."""
    for known in KNOWN_TEXTS:
        if known.mark.search(clean(start)):
            reader = _LineReader(
                file, units.of_format(is_binary=known.is_binary), finder_of(known.patterns), point=known.name,
                prefix=known.prefix,
            )  # fmt: skip
            return reader.read(iter_lines(file)) or None
    return None


# --- logs that say it themselves --------------------------------------------------------------------------------------

_NUMBER = r"\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d{1,3})?"
_SAID = re.compile(
    rf"(?P<key>[A-Za-z%][\w./()%-]{{0,60}}(?: [A-Za-z(][\w./()%-]{{0,40}}){{0,3}})\s*(?P<mark>[:=]?)\s*"
    rf"(?P<value>{_NUMBER})\s*(?P<unit>(?:[kKMGT]i?)?[bB](?:ytes?)?\b|[KMGT]i\b)?(?![\w.])"
)
_STEP_SAID = re.compile(rf"\b(?P<name>{'|'.join(STEPS)})s?\b\s*[:=#]?\s*\[?(?P<value>\d{{1,15}})\b", re.IGNORECASE)
_TIME_SAID = re.compile(r"^\W{0,3}(?P<time>\d{4}[-/]\d\d?[-/]\d\d?[T ]\d\d?:\d\d?:\d\d?(?:[.,]\d+)?|\d\d?:\d\d:\d\d)")
# A log speaks of memory if it does so this often.
_LEAST_LINES = 2


def read_free_log(file: Path, units: Units) -> list[Readings] | None:
    """Read a log whose lines say figures of memory with their units, as in ``RSS: 1020 MB``; ``None`` if none does."""
    head = [clean(text[:_LONGEST_LINE]) for _, text in itertools.islice(iter_lines(file), _HEAD_LINES)]
    if sum(bool(find_said(text).figures) for text in head) < _LEAST_LINES:
        return None
    readings = _LineReader(file, units, find_said).read(iter_lines(file))
    if readings:
        names = dict.fromkeys(name for text in head for name, _ in find_said(text).figures)
        readings[0].notes.insert(0, f"read as a log that says {', '.join(list(names)[:4])}; --pattern overrules")
    return readings or None


def find_said(text: str) -> Found:
    """Find figures of memory with a unit, steps and a time in a line of prose.

    >>> find_said("10:00:01 INFO epoch 3 loss 0.1 | RSS: 1,020 MB | GPU mem: 4007 MiB").figures
    [('RSS', '1,020 MB'), ('GPU mem', '4007 MiB')]
    """
    found = Found()
    for match in _SAID.finditer(text):
        name = _name_said(match["key"])
        has_unit = bool(match["unit"]) or bool(split_unit(name)[1])
        if name and has_unit and is_about_memory(name):
            found.figures.append((name, f"{match['value']} {match['unit'] or ''}".strip()))
    if found.figures:
        found.axes = {match["name"].lower(): match["value"] for match in _STEP_SAID.finditer(text)}
        time = _TIME_SAID.match(text)
        if time:
            found.axes["time"] = time["time"]
    return found


def _name_said(key: str) -> str:
    """Take from the words before a number those that name it: the last ones, as far back as they speak of memory."""
    words = key.split()
    known = 0
    for word in reversed(words):
        meaning = meaning_of(word)
        if not (meaning.owner or meaning.measure != "unknown" or is_about_memory(word) or normal(word) in _JOINING):
            break
        known += 1
    return " ".join(words[len(words) - known :]) if known else ""


_JOINING = ("set", "size", "in", "use", "current", "cpu", "of")
