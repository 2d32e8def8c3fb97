"""Settings: arguments, then environment (``PHASEPROF_...``), then ``[tool.phaseprof]``, then defaults."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Literal, Union

from phaseprof.errors import UsageError
from phaseprof.live.arguments import refuse, shown
from phaseprof.live.project_file import read_project_table, working_folder
from phaseprof.live.warn import warn_user
from phaseprof.recording.addresses import is_address

OnViolation = Union[Literal["report", "warn", "raise"], Callable[[str], object]]  # noqa: UP007 - needed on 3.10

PREFIX = "PHASEPROF_"
# Keys of a trainer's config (seed layout) and the setting each one means.
CONFIG_KEYS = {
    "memory_tracking_enabled": "enabled",
    "memory_report_interval": "report_every",
    "memory_leak_threshold_mb": "leak_threshold_mb",
}
# Generations between two reports where a trainer's config turns them on and names no interval, as trainers have it.
REPORT_EVERY = 100
# How alike, 0 to 1 by ``difflib``, a name must be to be proposed, and to be taken for a slip where most are others'.
NEAR, ALIKE = 0.6, 0.85
# Seconds and megabytes that a setting may be: as nanoseconds and bytes they are to be whole numbers.
MOST = 1e9
# Settings of a file that are warned of one by one: what has more of them wrong is no file of settings.
MOST_WARNED = 20


@dataclass(frozen=True)
class Settings:
    """What a profiler may do.

    Attributes:
        run: folder of the recording; ``None`` keeps it in memory only.
        enabled: ``False`` makes every call return at once.
        budget: share of wall time that measuring may take (0.02 is 2 %); ``None``: unbounded.
        report_every: print a memory report every N generations; ``None``: never by itself.
        leak_threshold_mb: a tracked name that grows faster, in MB a generation, is reported.
        on_violation: what a broken expectation does: ``"report"``, ``"warn"``, ``"raise"``, or a callable that is
            given the text.
        track_every: tracked names are sized every N generations.
        sample_every_s: interval of the sampling thread; ``None``: no thread.
        max_file_mb: a recording file that grows beyond it is continued in another; ``None``: no bound.
        max_pause: seconds for which a job inside the loop may keep the program waiting; a longer one is made in parts,
            or left to the end.
        max_look: seconds for which the looks at the end, and those asked for, may go on; what they left is said.
        signals: look at once when the process is told to end (SIGTERM) or asked to look (SIGUSR1).
        min_generation_s: where the program declares no generations, rounds of its phases are gathered to this length.
    """

    run: str | None = None
    enabled: bool = True
    budget: float | None = 0.02
    report_every: int | None = None
    leak_threshold_mb: float = 5.0
    on_violation: OnViolation = "report"
    track_every: int = 1
    sample_every_s: float | None = None
    max_file_mb: float | None = None
    max_pause: float = 0.1
    max_look: float = 2.0
    signals: bool = False
    min_generation_s: float = 0.5

    def __post_init__(self) -> None:
        for name in ("leak_threshold_mb", "track_every", "max_pause", "max_look", "min_generation_s"):
            _require(getattr(self, name) is not None, name, "be a number", None)
        for name in ("max_pause", "max_look", "leak_threshold_mb"):
            _require(0 < getattr(self, name) <= MOST, name, f"be > 0 and at most {MOST:g}", getattr(self, name))
        least = self.min_generation_s
        _require(0 <= least <= MOST, "min_generation_s", f"be >= 0 and at most {MOST:g}", least)
        _require(self.budget is None or 0 < self.budget <= 1, "budget", "be in (0, 1] or None", self.budget)
        every = self.report_every
        _require(every is None or every > 0, "report_every", "be > 0 or None", every)
        _require(self.track_every > 0, "track_every", "be > 0", self.track_every)
        sampled = self.sample_every_s
        _require(sampled is None or 0.001 <= sampled <= 86400, "sample_every_s", "be >= 0.001 or None", sampled)
        most = self.max_file_mb
        _require(most is None or 0 < most <= MOST, "max_file_mb", f"be > 0 and at most {MOST:g}, or None", most)
        _require(self.run is None or self.run != "", "run", "name a folder, or be None", self.run)
        if not callable(self.on_violation):
            is_known = self.on_violation in ("report", "warn", "raise")
            _require(is_known, "on_violation", "be 'report', 'warn', 'raise' or callable", self.on_violation)


def _require(holds: bool, name: str, rule: str, given: object) -> None:
    if not holds:
        raise refuse(name, rule, given)


NAMES = tuple(field.name for field in fields(Settings))
# What else the table and the environment may hold: what ``phaseprof run`` instruments.
INSTRUCTIONS = ("phase", "generation", "watch", "track")
# Every variable that some part of phaseprof reads; ``PHASEPROF_ASCII`` asks reports for plain text,
# ``PHASEPROF_NATIVE=0`` for passes over the heap in Python, ``PHASEPROF_CFLAGS`` is the build's.
VARIABLES = tuple(PREFIX + name.upper() for name in (*NAMES, *INSTRUCTIONS, "ascii", "native", "cflags"))


def resolve(
    given: Mapping[str, object], *, environ: Mapping[str, str] | None = None, folder: Path | None = None
) -> Settings:
    """Join what was given with the environment and the project's file; what comes first wins.

    What is wrong in the environment or the file is warned of and left out, so that a slip there ends no run.

    Raises:
        UsageError: a name in ``given`` is unknown (the nearest is named) or a value breaks its rule.
    """
    reject_unknown(given, NAMES, "setting")
    merged = _from_file(working_folder() if folder is None else folder)
    merged.update(_from_environment(os.environ if environ is None else environ))
    merged.update({name: _checked(name, value) for name, value in given.items()})
    return replace(Settings(), **merged)  # type: ignore[arg-type]  # checked one by one


def _checked(name: str, value: object) -> object:
    converted = _convert(name, value)
    replace(Settings(), **{name: converted})  # type: ignore[arg-type]  # it checks
    return converted


def from_config(config: Mapping[str, object]) -> dict[str, object]:
    """Translate a trainer's config keys into settings; phaseprof's own names are taken too.

    A whole config, in which the keys stand under ``trainer``, is full of settings of others, which are passed over.
    Where a key of the trainer's is used and no interval is given, a report is printed every 100 generations.

    Raises:
        UsageError: a key is neither, or nearly one of a trainer's keys; the nearest is named.
    """
    if not isinstance(config, Mapping):
        raise refuse("config", "be a mapping", config, "write Profiler.from_config({'memory_report_interval': 100})")
    nested = config.get("trainer")
    if isinstance(nested, Mapping):
        ours = {**_keys_for_us(config), **_keys_for_us(nested)}
    else:
        reject_unknown(config, (*CONFIG_KEYS, *NAMES), "config key")
        ours = dict(config)
    given = {CONFIG_KEYS.get(key, key): value for key, value in ours.items()}
    if CONFIG_KEYS.keys() & ours.keys() and not os.environ.get(PREFIX + "REPORT_EVERY"):
        given.setdefault("report_every", REPORT_EVERY)
    return given


def _keys_for_us(config: Mapping[str, object]) -> dict[str, object]:
    """Take the trainer's keys out of a part of a whole config; one that is nearly such a key is a slip."""
    slips = [key for key in config if key not in CONFIG_KEYS and _nearest(key, CONFIG_KEYS, cutoff=ALIKE)]
    reject_unknown(dict.fromkeys(slips), tuple(CONFIG_KEYS), "config key")
    return {key: value for key, value in config.items() if key in CONFIG_KEYS}


def reject_unknown(given: Iterable[str], known: tuple[str, ...], what: str) -> None:
    """Raise for the first name that is not known, naming the nearest that is, if one is near."""
    for name in given:
        if name not in known:
            near = _nearest(name, known, cutoff=NEAR)
            hint = f"; did you mean {near!r}?" if near else ""
            raise UsageError(f"{what} must be one of {', '.join(known)} (got {shown(name)}){hint}")


def _nearest(name: object, known: Iterable[str], *, cutoff: float) -> str:
    """Return the known name that is most like this one, whatever its case; empty if none is as near as ``cutoff``."""
    spelt = {right.lower(): right for right in known}
    found = difflib.get_close_matches(str(name)[:100].lower(), spelt, n=1, cutoff=cutoff)
    return spelt[found[0]] if found else ""


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    ours = {name: text for name, text in environ.items() if name.startswith(PREFIX) and text != ""}
    usable: dict[str, object] = {}
    for variable, text in ours.items():
        try:
            reject_unknown([variable], VARIABLES, "environment variable")
            name = variable[len(PREFIX) :].lower()
            if name in NAMES:
                usable[name] = _checked(name, text)
        except UsageError as error:
            warn_user(f"{variable} is ignored: {error}")
    return usable


def _from_file(folder: Path | None) -> dict[str, object]:
    found = read_project_table(folder)
    if found.problem:
        warn_user(f"{found.problem}; it is ignored")
    usable: dict[str, object] = {}
    wrong: list[UsageError] = []
    for name, value in found.values.items():
        try:
            if name not in INSTRUCTIONS:
                reject_unknown([name], NAMES, "setting")
                usable[name] = _checked(name, value)
        except UsageError as error:
            wrong.append(error)
    where = f"ignored in {found.file} [tool.phaseprof]:"
    for one in wrong[:MOST_WARNED]:
        warn_user(f"{where} {one}")
    if len(wrong) > MOST_WARNED:
        warn_user(f"{where} {len(wrong) - MOST_WARNED:,} more")
    return usable


_YES, _NO, _NONE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}, {"none", "null", "off", "unbounded"}
_WHOLE = {"report_every", "track_every"}
_REAL = {"budget", "leak_threshold_mb", "sample_every_s", "max_file_mb", "max_pause", "max_look", "min_generation_s"}


def _convert(name: str, value: object) -> object:
    """Turn text from the environment or a file into the setting's type; other values pass through checks only."""
    if name == "run":
        _require(value is None or isinstance(value, (str, os.PathLike)), name, "name a folder, or be None", value)
        return _fixed_folder(os.fsdecode(value)) if value else value  # type: ignore[arg-type]  # required above
    if name in ("enabled", "signals"):
        return _to_bool(name, value)
    if name in _WHOLE or name in _REAL:
        return _to_number(name, value)
    return value


def _fixed_folder(text: str) -> str:
    """Fix a folder now: the program may change its working folder, and fork afterwards; an address stays as it is."""
    try:
        is_name = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:  # half of a character, as JSON and TOML can write it
        is_name = False
    _require(is_name, "run", "name a folder, with characters that a name can have", text)
    if is_address(text):
        return text
    try:
        return str(Path(text).absolute())
    except OSError as error:
        raise UsageError(f"run must name a folder (got {shown(text)}; the working folder: {error.strerror})") from error


def _to_bool(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word not in _YES | _NO:
        raise refuse(name, "be true or false", value)
    return word in _YES


def _to_number(name: str, value: object) -> float | int | None:
    if value is None or (isinstance(value, str) and value.strip().lower() in _NONE):
        return None
    if isinstance(value, bool):
        raise refuse(name, "be a number", value)
    try:
        return int(str(value)) if name in _WHOLE else float(str(value))
    except (ValueError, OverflowError):
        kind = "whole number" if name in _WHOLE else "number"
        raise refuse(name, f"be a {kind}", value) from None
