"""What is done where a count of a watched class is not what was expected."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from phaseprof.errors import ExpectationError, PhaseprofWarning
from phaseprof.interrupts import raise_the_programs
from phaseprof.live.warn import users_level
from phaseprof.live.watching import Watched
from phaseprof.units import for_terminal


def act_on(text: str, action: str | Callable[[str], object], warn: Callable[[str, str], None]) -> None:
    """Do with a broken expectation what the settings say.

    Args:
        text: what is wrong.
        action: ``"report"`` does nothing here, ``"warn"`` warns, ``"raise"`` raises; or it is called with the text.
        warn: tells the user that ``action`` itself failed: a sentence, and a detail that is not recorded.

    Raises:
        ExpectationError: ``action`` is ``"raise"``.
    """
    if action == "raise":
        raise ExpectationError(text)
    if action == "warn":
        warnings.warn(text, PhaseprofWarning, stacklevel=users_level())
    elif callable(action):
        try:
            action(text)
        except Exception as error:  # noqa: BLE001 - the user's callable must not stop the training
            raise_the_programs(error)
            warn(f"on_violation raised {type(error).__name__}", f": {error}")


def describe(entry: Watched, phase: str | None, generation: int | str, since: int | str) -> str:
    """Say what was expected, what was found, since which generation, and in which phase it was born, if known."""
    where = f" (made in {phase})" if phase else ""
    first = "" if since == generation else f"; broken since generation {since}"
    return for_terminal(
        f"{entry.name}: expected {entry.expectation()}, found {entry.count}{where} at the end of generation "
        f"{generation}{first}"
    )
