"""A drawing of who refers to instances: the holder is in it, and what cannot be drawn is said in one line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("objgraph", reason="drawings are made by objgraph, an extra")

import phaseprof as pp
from phaseprof.errors import MissingExtra, UsageError


class Environment:
    """What is kept."""


class Keeper:
    """What keeps it."""

    def __init__(self) -> None:
        self.kept = [Environment() for _ in range(5)]


def test_the_newest_instances_are_drawn_with_their_keeper(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keeper = Keeper()

    n = pp.Profiler().draw_holders(Environment, tmp_path / "holders.dot")

    text = (tmp_path / "holders.dot").read_text()
    assert n == 3
    assert text.count("Environment\\n") == 3
    assert "Keeper" in text
    assert len(keeper.kept) == 5
    assert capsys.readouterr().out == ""


class Nowhere:
    """Of which there is no instance."""


@pytest.mark.parametrize(
    ("cls", "name", "depth", "said"),
    [(Nowhere, "holders.dot", 5, "has no instance"), ("Keeper", "holders.dot", 5, "cls must be a class"),
     (Keeper, "holders.dot", 0, "depth must be"), (Keeper, "no/holders.dot", 5, "a folder that exists")],
)  # fmt: skip
def test_what_cannot_be_drawn_is_wrong_use(cls: type, name: str, depth: int, said: str, tmp_path: Path) -> None:
    keeper = Keeper()

    with pytest.raises(UsageError, match=said):
        pp.Profiler().draw_holders(cls, tmp_path / name, depth=depth)
    del keeper


def test_a_picture_needs_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = Keeper()
    if shutil.which("dot"):
        assert pp.Profiler().draw_holders(Keeper, tmp_path / "holders.png") == 1
        assert (tmp_path / "holders.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(MissingExtra, match="Graphviz"):
        pp.Profiler().draw_holders(Keeper, tmp_path / "holders.png")
    del keeper
