"""What agents are told of runs: the answers themselves, and the official SDK's client that asks for them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from phaseprof.cli.mcp import make_server
from phaseprof.cli.serving import RunServer
from phaseprof.errors import PhaseprofError, UsageError
from phaseprof.recording import format as fmt

MIB = 1 << 20


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    (folder / "runs" / "a").mkdir(parents=True)
    (folder / "snapshots").mkdir()
    (folder / "snapshots" / "snapshot_step_1.pickle").write_bytes(b"")
    records: list[fmt.Record] = [
        fmt.Header(format=1, phaseprof="0.1.0", pid=7, started_unix_s=1.0, started_ns=0, page_bytes=4096),
        *(fmt.GenerationBegin(g, g, 10 + g) for g in range(400)),
        *(fmt.Metrics(g, g, {"anonymous_bytes": 1e6, "rss_bytes": 2e6 + 5e8 * (g == 333)}) for g in range(400)),
        fmt.Holder(9, 9, "Batch", ["module app.kept (list)"], root="module", explains=3, asked=4),
        fmt.Places(9, 399, 5, MIB,
                   [fmt.Place(["module app", ".kept (list)"], "list", 1, MIB, 0, [("Batch", 4, MIB)], [])],
                   [fmt.HeapPlace(-1, "heap", 9, 3 * MIB, MIB), fmt.HeapPlace(0, "module app", 1, 2 * MIB, MIB)]),
    ]  # fmt: skip
    (folder / "runs" / "a" / "rank0-pid7.jsonl").write_bytes(b"".join(fmt.encode(one) + b"\n" for one in records))
    return folder


@pytest.fixture
def answers(root: Path) -> RunServer:
    return RunServer(root)


def test_runs_and_snapshots_are_listed_apart(answers: RunServer) -> None:
    assert answers.runs() == {"runs": ["runs/a"], "snapshots": ["snapshots"]}


def test_a_run_is_judged(answers: RunServer) -> None:
    told = answers.findings("runs/a")

    assert (told["verdict"], told["exit_code"], told["n_processes"]) == ("no leak", 0, 1)


def test_a_series_is_thinned_and_keeps_its_peak(answers: RunServer) -> None:
    told: Any = answers.series("runs/a", "rss_bytes")

    assert told["n"] == 400
    assert len(told["readings"]) <= 120
    assert ["343", 502e6] in told["readings"]  # by the program's own number
    assert {"metric": "rss_bytes", "point": "generation end"} in answers.series("runs/a")["series"]  # type: ignore[operator]


def test_places_and_holders_are_paths(answers: RunServer) -> None:
    places: Any = answers.places("runs/a")

    assert places["places"][0]["path"] == ["module app", ".kept (list)"]
    assert places["heap"][1] == {"path": ["heap", "module app"], "bytes": 2 * MIB, "came_bytes": MIB}
    assert answers.holders("runs/a")["holders"][0]["path"] == ["module app.kept (list)"]  # type: ignore[index]


@pytest.mark.parametrize("name", ["..", "/etc", "runs/../../x"])
def test_nothing_outside_of_the_folder_is_read(answers: RunServer, name: str) -> None:
    for ask in (answers.findings, answers.series, answers.places, answers.holders, answers.snapshots):
        with pytest.raises(UsageError, match="only what lies below"):
            ask(name)


def test_a_link_out_of_the_folder_is_not_followed(root: Path, answers: RunServer, tmp_path: Path) -> None:
    (root / "link").symlink_to(tmp_path)

    with pytest.raises(UsageError, match="only what lies below"):
        answers.findings("link")


def test_what_is_not_there_is_said(answers: RunServer, tmp_path: Path) -> None:
    with pytest.raises(PhaseprofError):
        answers.findings("runs/nothing")
    with pytest.raises(UsageError, match="no series 'x'"):
        answers.series("runs/a", "x")
    with pytest.raises(UsageError, match="name one that exists"):
        RunServer(tmp_path / "no")


def test_the_official_client_gets_the_answers(root: Path) -> None:
    mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")

    async def ask() -> tuple[list[str], Any, Any]:
        async with mcp.Client(make_server(root)) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            told = await client.call_tool("findings", {"run": "runs/a"})
            wrong = await client.call_tool("findings", {"run": "../x"})
            return tools, told, wrong

    tools, told, wrong = asyncio.run(ask())

    assert tools == ["runs", "findings", "series", "places", "holders", "snapshots"]
    assert json.loads(told.content[0].text)["verdict"] == "no leak"
    assert "only what lies below" in wrong.content[0].text
