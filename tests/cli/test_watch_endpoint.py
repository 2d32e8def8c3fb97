"""``phaseprof watch --port``: figures for a scraper, on this machine only, as fresh as the folder."""

from __future__ import annotations

import http.client
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from phaseprof.cli import main
from phaseprof.cli.watch_choice import Choice
from phaseprof.cli.watch_endpoint import serving
from phaseprof.recording import format as fmt


def append(file: Path, *records: fmt.Record) -> None:
    with file.open("ab") as stream:
        stream.writelines(fmt.encode(record) + b"\n" for record in records)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for rank in range(2):
        header = fmt.Header(
            format=1, phaseprof="0", pid=7 + rank, started_unix_s=0, started_ns=0, page_bytes=4096, rank=rank
        )
        append(tmp_path / f"rank{rank}-pid{7 + rank}.jsonl", header, fmt.Metrics(1, 0, {"threads": 3.0 + rank}))
    return tmp_path / "rank0-pid7.jsonl"


@pytest.fixture
def address(file: Path) -> Iterator[str]:
    with serving(file.parent, 0, Choice()) as address:
        yield address


def get(address: str) -> tuple[str, str]:
    with urllib.request.urlopen(address, timeout=30) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def test_a_scrape_has_every_rank_as_it_is_now(file: Path, address: str) -> None:
    kind, before = get(address)
    append(file, fmt.Metrics(2, 1, {"threads": 9.0}))
    _, after = get(address)

    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    assert before.count("\nphaseprof_threads{") == 2
    assert before.endswith("# EOF\n")
    assert [line[-2:] for line in after.splitlines() if line.startswith("phaseprof_threads{")] == [" 9", " 4"]


def test_ranks_that_were_not_asked_for_are_left_out(file: Path) -> None:
    with serving(file.parent, 0, Choice(ranks=((1, 1),))) as address:
        _, text = get(address)

    assert 'rank="1"' in text
    assert 'rank="0"' not in text


def test_only_this_machine_reaches_it(address: str) -> None:
    assert address.startswith("http://127.0.0.1:")
    host, _, port = address.removeprefix("http://").partition("/")[0].partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    connection.request("GET", "/metrics", headers={"Host": f"evil.example:{port}"})

    assert connection.getresponse().status == 403
    connection.close()


def test_there_is_nothing_else_to_read(address: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(address.replace("/metrics", "/../rank0-pid7.jsonl"))

    assert caught.value.code == 404
    caught.value.close()


def test_a_port_that_is_taken_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        assert main(["watch", str(tmp_path), "--port", str(port)]) == 2

    assert f"cannot listen on port {port}" in capsys.readouterr().err
    assert main(["watch", str(tmp_path), "--port", "70000"]) == 2
