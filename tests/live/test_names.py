"""Classes by dotted name: what looks misspelt, what is no class, and why none was found."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator

import pytest

from phaseprof.errors import UsageError
from phaseprof.live.names import misspelt, not_a_class, why_missing
from phaseprof.live.watching import WatchList


@pytest.fixture(autouse=True)
def package() -> Iterator[None]:
    """An imported package with one module: a class, one nested in it, and a function."""
    market, envs = types.ModuleType("market"), types.ModuleType("market.envs")
    market.__path__ = []  # a package, in which no other module can be found
    agent = type("Agent", (), {"Inner": type("Inner", (), {})})
    vars(envs).update(TradingEnv=type("TradingEnv", (), {}), Agent=agent, reset=lambda: None, __path__=[])
    market.envs = envs  # type: ignore[attr-defined]
    sys.modules.update({"market": market, "market.envs": envs})
    yield
    del sys.modules["market"], sys.modules["market.envs"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("market.envs.TradngEnv", "market.envs.TradingEnv"), ("market.envs.tradingenv", "market.envs.TradingEnv"),
        ("market.env.TradingEnv", "market.envs.TradingEnv"), ("market.envs.Agent.Iner", "market.envs.Agent.Inner"),
        ("dict", "builtins.dict"), ("market.envs.Position", ""), ("markets.envs.TradingEnv", "market.envs.TradingEnv"),
        ("market.envs.TradingEnvPool", ""), ("another.package.TradingEnv", ""),
    ],
)  # fmt: skip
def test_a_slip_is_told_from_what_may_still_come(given: str, meant: str) -> None:
    assert misspelt(given) == meant


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("market.envs.TradngEnv", "module market.envs has no TradngEnv"),
        ("market.envs.Agent.Iner", "class market.envs.Agent has no Iner"),
        ("market.env.TradingEnv", "there is no module market.env"),
        ("another.package.TradingEnv", "module another.package was not imported"),
    ],
)
def test_why_a_name_was_not_found(given: str, why: str) -> None:
    assert why_missing(given) == why


@pytest.mark.parametrize(("given", "kind"), [("market.envs.reset", "function"), ("market.envs", "module")])
def test_what_is_no_class_is_refused_at_once(given: str, kind: str) -> None:
    assert not_a_class(given) == kind
    with pytest.raises(UsageError, match=f"which is a {kind}"):
        WatchList().add(given, None)
