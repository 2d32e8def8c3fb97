"""Where the processes of a large run are read: in workers of this machine, or on a cluster of Ray or Dask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from phaseprof.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")
R = TypeVar("R")
ENGINES = "ray, ray://HOST:PORT, dask, or tcp://HOST:PORT of a Dask scheduler"


def map_on(engine: str, work: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """Call ``work`` for each item on a cluster, and yield the results in the items' order.

    Args:
        engine: ``"ray"`` joins the cluster that Ray's own settings name, or starts one here; ``"ray://HOST:PORT"``
            joins that one.  ``"dask"`` uses the client that is open, or starts workers here; ``"tcp://HOST:PORT"``
            joins a scheduler.
        work: a function of a module; the workers must be able to import phaseprof, and to see the run's files.
        items: what it is called with, one after the other.

    Raises:
        UsageError: no such engine.
        MissingExtra: Ray or Dask is not installed.
    """
    if engine == "ray" or engine.startswith("ray://"):
        return _on_ray(engine, work, items)
    if engine == "dask" or engine.startswith("tcp://"):
        return _on_dask(engine, work, items)
    raise UsageError(f"--on must be {ENGINES} (got {engine!r})")


def _on_ray(engine: str, work: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    try:
        import ray
    except ImportError:
        raise MissingExtra("--on ray needs Ray, which is not installed: pip install ray") from None
    is_ours = not ray.is_initialized()
    if is_ours:
        ray.init(
            address=engine if engine != "ray" else None, log_to_driver=False, logging_level="error",
            include_dashboard=False if engine == "ray" else None,
        )  # fmt: skip
    try:
        remote = ray.remote(_call)
        yield from map(ray.get, [remote.remote(work, item) for item in items])
    finally:
        if is_ours:
            ray.shutdown()


def _call(work: Callable[[T], R], item: T) -> R:
    """Ray takes plain functions only."""
    return work(item)


def _on_dask(engine: str, work: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    client, is_ours = _dask_client(engine)
    try:
        for future in client.map(work, items, pure=False):
            yield future.result()
    finally:
        if is_ours:
            client.close()


def _dask_client(engine: str) -> tuple[Client, bool]:
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtra("--on dask needs Dask, which is not installed: pip install 'dask[distributed]'") from None
    if engine != "dask":
        return Client(engine), True
    try:
        return Client.current(), False
    except ValueError:
        return Client(dashboard_address=None), True
