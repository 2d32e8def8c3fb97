"""Hold the interpreter for those looks that need it: where a look is one call in C, that call holds it anyway."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from phaseprof.native.looking import is_available
from phaseprof.probes import tensors
from phaseprof.probes.uninterrupted import uninterrupted

Function = TypeVar("Function", bound=Callable[..., Any])


def held_where_needed(function: Function) -> Function:
    """Make a function ``uninterrupted``, unless its passes are in C and no tensor can be handed out by them.

    Tensors are asked for their storages one by one, and referred to meanwhile.  Threads that compute make it wait for
    its turn to begin such a look, so it is done only where there is a reason.
    """
    held = uninterrupted(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        is_one_call = is_available() and tensors.loaded_torch() is None
        return (function if is_one_call else held)(*args, **kwargs)

    return cast("Function", call)
