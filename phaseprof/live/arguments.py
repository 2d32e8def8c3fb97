"""The rules that arguments of public calls keep, and the one line that refuses what breaks them.

What a program writes down, such as a label, a class, a bound or a setting, is refused with ``UsageError`` by the call
that is given it: it is wrong the first time as every time.  A figure that the run computes, such as ``items``, may go
wrong after days: it is warned of once and counts as not given.
"""

from __future__ import annotations

import os
import reprlib

from phaseprof.errors import UsageError
from phaseprof.probes.typeinfo import is_a
from phaseprof.recording.format import MOST_FIGURE

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = _repr.maxlong = 100


def shown(given: object) -> str:
    """Return what was given on one short line, whatever its ``repr`` says."""
    return " ".join(_repr.repr(given).split())


def refuse(name: str, rule: str, given: object, hint: str = "") -> UsageError:
    """Say which argument is wrong, the rule, what was given, and what to write."""
    return UsageError(f"{name} must {rule} (got {shown(given)}){f'; {hint}' if hint else ''}")


def check_label(name: str, given: object, example: str) -> None:
    """Let only text pass that is not blank."""
    if not is_label(given):
        raise refuse(name, "be a non-empty string", given, f"write {example}") from None


def is_label(given: object) -> bool:
    """Whether it is a text that is not blank."""
    return is_a(given, str) and bool(given.strip())


def not_a_label(given: object) -> UsageError:
    """Say of a checkpoint's label that it must be a text that is not blank."""
    return refuse("label", "be a non-empty string", given, "write checkpoint('encoder')")


def check_index(given: object) -> None:
    """Let only what can number or name a generation pass: ``None``, a number, or a text that is not blank."""
    if given is None or type(given) is int:
        return
    if not is_label(given) and not is_a(given, bool) and not _is_number(given):
        raise refuse("index", "be a number or a name", given, "write with generation(epoch):")


def check_items(given: object) -> None:
    """Let only what can count items pass: ``None``, a number, or a function; a negative number is warned of later."""
    if given is None or type(given) is int or callable(given):
        return
    if not _is_number(given):
        raise refuse("items", "be a number or a function that returns one", given, "write items=n_steps")


def item_count(value: object) -> float:
    """Turn what counts items into a number.

    Raises:
        TypeError: it is none.
        ValueError: it is negative, or larger than what a reader of a recording believes.
    """
    if not _is_number(value):
        raise TypeError(f"items must be a number (got {shown(value)})")
    n = float(value)  # type: ignore[arg-type]  # just checked
    if not 0 <= n <= MOST_FIGURE:
        raise ValueError(f"items must be >= 0 and at most {MOST_FIGURE:g} (got {n:g})")
    return n


def check_number(name: str, given: object, *, least: float = 0.0) -> None:
    """Let only a finite number pass that is no less than ``least``."""
    is_real = (is_a(given, int) or is_a(given, float)) and not is_a(given, bool)
    if not is_real or not least <= given < 2.0**63:  # type: ignore[operator]  # just checked
        raise refuse(name, f"be a number >= {least:g}", given)


def check_whole(name: str, given: object, *, least: int, most: int = 10**6) -> None:
    """Let only a whole number within bounds pass."""
    if not is_a(given, int) or is_a(given, bool) or not least <= given <= most:
        raise refuse(name, f"be a whole number from {least} to {most:,}", given)


def check_flag(name: str, given: object) -> None:
    """Let only ``True`` and ``False`` pass."""
    if not is_a(given, bool):
        raise refuse(name, "be True or False", given)


def check_function(name: str, given: object) -> None:
    """Let only what can be called pass."""
    if not callable(given):
        raise refuse(name, "be callable", given)


def check_path(name: str, given: object) -> None:
    """Let only a text or a path pass."""
    if not is_a(given, str) and not issubclass(type(given), os.PathLike):
        raise refuse(name, "be a path", given)


def check_stream(given: object) -> None:
    """Let only ``None`` and what can be written to pass."""
    if given is not None and not hasattr(given, "write"):
        raise refuse("file", "be a text stream", given, "write file=sys.stderr")


def _is_number(given: object) -> bool:
    """Whether a type is one of numbers, those of numpy and torch included; what a text says does not count."""
    kind = type(given)
    return kind is not bool and (hasattr(kind, "__float__") or hasattr(kind, "__index__"))
