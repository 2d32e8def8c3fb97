"""Ray: each worker records a file of its own, and the calls of an actor's methods are its phases.

    ray.init(runtime_env=pp.integrations.ray.runtime_env("runs/ray"))

That is all for a cluster whose machines have phaseprof installed.  Trainings of Ray Train and RLlib are marked by
``phaseprof.integrations.ray_train`` and ``phaseprof.integrations.rllib``.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from phaseprof.api import get_profiler
from phaseprof.errors import MissingExtra
from phaseprof.integrations._steps import wrap_method
from phaseprof.live.settings import PREFIX
from phaseprof.recording.addresses import is_address

try:
    import ray as _package
    from ray._private.function_manager import FunctionActorManager as _FunctionActorManager
except ImportError as error:
    raise MissingExtra("phaseprof.integrations.ray needs ray; pip install ray") from error

__all__ = ["actor", "begin_worker", "install", "runtime_env"]

Class = TypeVar("Class", bound=type)


def runtime_env(run: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what ``ray.init(runtime_env=...)`` needs so that every worker records into one folder.

    Args:
        run: the folder; one that all machines see, or that exists on each, or an address such as ``s3://bucket/run``.
    """
    where = str(run) if is_address(str(run)) else str(Path(run).absolute())
    ours = {name: value for name, value in os.environ.items() if name.startswith(PREFIX)}
    return _with_hook({"env_vars": {**ours, f"{PREFIX}RUN": where}})


def actor(cls: Class) -> Class:
    """Make each call of an actor's public methods a phase; workers of ``runtime_env`` do it to every actor.

    Elsewhere it stands below ``ray.remote``.  What lies between two calls of the same method is a generation, unless
    the actor says what one is.
    """
    if "__phaseprof__" not in vars(cls):
        members = {name: member for base in reversed(cls.__mro__) for name, member in vars(base).items()}
        for name, member in members.items():
            if not name.startswith("_") and inspect.isfunction(member):
                setattr(cls, name, _marked(member, f"{cls.__name__}.{name}"))
        cls.__phaseprof__ = True  # type: ignore[attr-defined]  # how it is known the next time
    return cls


def _marked(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Wrap a method by what can be sent to a worker: the profiler is the worker's own."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: object, **kwargs: object) -> Any:
            with get_profiler().phase(name):
                return await function(*args, **kwargs)

        return awaited
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return function  # what it yields is somebody else's work: between two items no phase of it is open

    @functools.wraps(function)
    def called(*args: object, **kwargs: object) -> Any:
        with get_profiler().phase(name):
            return function(*args, **kwargs)

    return called


def install() -> None:
    """Let the workers of a cluster that the program starts on this machine record, each in a file of its own."""

    def wrap(init: Callable[..., Any]) -> Callable[..., Any]:
        def started(*args: object, **kwargs: Any) -> Any:
            if _starts_here(kwargs.get("address", args[0] if args else None)):
                kwargs["runtime_env"] = _with_hook(kwargs.get("runtime_env"))
            return init(*args, **kwargs)

        return started

    wrap_method(_package, "init", wrap)


def _starts_here(address: object) -> bool:
    """Whether ``ray.init`` starts a cluster: another may not have phaseprof, and a hook that fails ends its workers."""
    if address == "local":
        return True
    if address is not None or "RAY_ADDRESS" in os.environ:
        return False
    return _package._private.utils.read_ray_address() is None


def _with_hook(given: Any) -> dict[str, Any]:
    """Add what every worker does first, unless the program has a hook or an environment of its own."""
    if given is not None and set(given) - {"env_vars"}:
        return given  # type: ignore[no-any-return]  # as it came
    return {**(given or {}), "worker_process_setup_hook": f"{__name__}.begin_worker"}


def begin_worker() -> None:
    """Record this worker: each actor that it becomes has its methods marked.  Ray calls it in each new worker."""
    get_profiler()
    wrap_method(_FunctionActorManager, "_load_actor_class_from_gcs", _marks_classes)
    wrap_method(_FunctionActorManager, "_load_actor_class_from_local", _marks_classes)


def _marks_classes(load: Callable[..., Any]) -> Callable[..., Any]:
    def loaded(*args: object, **kwargs: object) -> Any:
        found = load(*args, **kwargs)
        is_the_programs = inspect.isclass(found) and found.__module__.partition(".")[0] != "ray"
        return actor(found) if is_the_programs else found

    return loaded
