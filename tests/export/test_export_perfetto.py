from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from phaseprof.recording import format as fmt
from phaseprof.records import Finding
from phaseprof.report.export import export_run

Event = dict[str, Any]

# What the trace event format asks of each kind of event, beside ph, pid, tid and name.
NEEDS = {"X": {"ts", "dur", "cat"}, "C": {"ts", "args"}, "i": {"ts", "s"}, "M": {"args"}, "b": {"ts", "id", "cat"},
         "e": {"ts", "id", "cat"}}  # fmt: skip
META = {"process_name": "name", "thread_name": "name", "process_sort_index": "sort_index"}


def check(events: list[Event]) -> None:
    """Hold events against the trace event format, and slices of a thread against each other."""
    for event in events:
        assert event["ph"] in NEEDS
        assert {"name", "pid", "tid"} <= event.keys()
        assert event.keys() >= NEEDS[event["ph"]]
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0
        if event["ph"] == "M":
            assert META[event["name"]] in event["args"]
        if event["ph"] == "i":
            assert event["s"] in "gpt"
        if event["ph"] == "C":
            assert all(isinstance(value, int | float) for value in event["args"].values())
    check_nesting([event for event in events if event["ph"] == "X"])
    begun = sorted(event["id"] for event in events if event["ph"] == "b")
    assert begun == sorted(event["id"] for event in events if event["ph"] == "e")


def check_nesting(slices: list[Event]) -> None:
    for track in {(event["pid"], event["tid"]) for event in slices}:
        ends: list[float] = []
        here = [event for event in slices if (event["pid"], event["tid"]) == track]
        for event in sorted(here, key=lambda event: (event["ts"], -event["dur"])):
            while ends and ends[-1] <= event["ts"]:
                ends.pop()
            assert not ends or event["ts"] + event["dur"] <= ends[-1] + 0.001, event
            ends.append(event["ts"] + event["dur"])


def header(rank: int = 0, pid: int = 7, started_unix_s: float = 100.0) -> fmt.Header:
    return fmt.Header(
        format=1, phaseprof="0", pid=pid, started_unix_s=started_unix_s, started_ns=0, page_bytes=4096, rank=rank
    )


LABELS = [fmt.Label(0, "train", "phase"), fmt.Label(1, "forward", "block"), fmt.Label(2, "mid", "checkpoint")]
US = 1000


def trace(tmp_path: Path, *records: fmt.Record, findings: tuple[Finding, ...] = ()) -> list[Event]:
    write(tmp_path / "run", "rank0-pid7", [header(), *LABELS, *records])
    return exported(tmp_path, findings)


def write(run: Path, name: str, records: list[fmt.Record]) -> None:
    run.mkdir(exist_ok=True)
    (run / f"{name}.jsonl").write_bytes(b"".join(fmt.encode(record) + b"\n" for record in records))


def exported(tmp_path: Path, findings: tuple[Finding, ...] = ()) -> list[Event]:
    export_run(tmp_path / "run", tmp_path / "out.json", form="perfetto", findings=findings)
    document = json.loads((tmp_path / "out.json").read_bytes())
    check(document["traceEvents"])
    return list(document["traceEvents"])


def kind(events: list[Event], ph: str, cat: str | None = None) -> list[Event]:
    return [event for event in events if event["ph"] == ph and (cat is None or event.get("cat") == cat)]


def test_nested_phases_are_slices(tmp_path: Path) -> None:
    events = trace(
        tmp_path, fmt.Point(10 * US, 0, fmt.ENTER, 0), fmt.Point(12 * US, 1, fmt.ENTER, 0),
        fmt.Point(15 * US, 1, fmt.EXIT, 0), fmt.Point(20 * US, 0, fmt.EXIT, 0),
    )  # fmt: skip

    assert [(e["name"], e["ts"], e["dur"]) for e in kind(events, "X")] == [("forward", 12, 3), ("train", 10, 10)]


def test_overlapping_coroutines_get_tracks_of_their_own(tmp_path: Path) -> None:
    events = trace(
        tmp_path, fmt.Point(10 * US, 0, fmt.ENTER, 0), fmt.Point(12 * US, 1, fmt.ENTER, 0),
        fmt.Point(15 * US, 0, fmt.EXIT, 0), fmt.Point(20 * US, 1, fmt.EXIT, 0),
    )  # fmt: skip

    assert [e["name"] for e in kind(events, "b")] == ["train"]
    assert [e["name"] for e in kind(events, "X")] == ["forward"]


def test_threads_are_apart(tmp_path: Path) -> None:
    events = trace(
        tmp_path, fmt.Point(1 * US, 0, fmt.ENTER, 0, th=140001), fmt.Point(2 * US, 0, fmt.ENTER, 0, th=140002),
        fmt.Point(3 * US, 0, fmt.EXIT, 0, th=140001), fmt.Point(4 * US, 0, fmt.EXIT, 0, th=140002),
    )  # fmt: skip

    assert {e["tid"] for e in kind(events, "X")} == {1, 2}


def test_phase_open_when_killed_ends_with_the_recording(tmp_path: Path) -> None:
    events = trace(tmp_path, fmt.Point(10 * US, 0, fmt.ENTER, 0), fmt.Point(30 * US, 2, fmt.POINT, 0))

    slices = kind(events, "X")
    assert [(e["name"], e["dur"], e["args"]) for e in slices] == [("train", 20, {"unfinished": True})]


def test_number_of_an_ended_thread_is_taken_over(tmp_path: Path) -> None:
    events = trace(
        tmp_path, fmt.Point(1 * US, 0, fmt.ENTER, 0, th=5), fmt.Thread(3 * US, 5),
        fmt.Point(4 * US, 0, fmt.ENTER, 0, th=5),
        fmt.Point(6 * US, 0, fmt.EXIT, 0, th=5),
    )  # fmt: skip

    assert [(e["tid"], e["ts"], e["dur"]) for e in kind(events, "X")] == [(1, 1, 2), (2, 4, 2)]


def test_memory_is_counters_that_change(tmp_path: Path) -> None:
    pages = ["10 5 1", "10 5 1", "10 6 1"]
    events = trace(tmp_path, *(fmt.Point(at * US, 2, fmt.POINT, 0, m=text) for at, text in enumerate(pages)))

    rss = [(e["ts"], e["args"]["value"]) for e in kind(events, "C") if e["name"] == "rss_bytes"]
    assert rss == [(0, 5 * 4096), (2, 6 * 4096)]


def test_generations_have_a_track(tmp_path: Path) -> None:
    events = trace(tmp_path, fmt.GenerationBegin(5 * US, 0, "warm"), fmt.GenerationEnd(9 * US, 0, 4e-6, 32))

    (generation,) = kind(events, "X", "generation")
    assert (generation["name"], generation["ts"], generation["dur"]) == ("generation warm", 5, 4)
    assert generation["args"]["items"] == 32


def test_findings_are_instants_where_growth_began(tmp_path: Path) -> None:
    finding = Finding("leak", "objects", "train", "Env", since_generation=1, since_ordinal=1, summary="Env grows")
    events = trace(
        tmp_path, fmt.GenerationBegin(5 * US, 0, 0), fmt.GenerationBegin(9 * US, 1, 1), findings=(finding,)
    )  # fmt: skip

    (instant,) = kind(events, "i", "finding")
    assert (instant["ts"], instant["name"]) == (9, "leak: Env grows")


def test_finding_without_a_beginning_stands_at_the_end(tmp_path: Path) -> None:
    finding = Finding("leak", "native", summary="grows")
    events = trace(tmp_path, fmt.Point(8 * US, 2), findings=(finding,))

    assert kind(events, "i", "finding")[0]["ts"] == 8


def test_violations_are_instants(tmp_path: Path) -> None:
    events = trace(tmp_path, fmt.Violation(3 * US, 0, "Env", 5, 2, 2, "evaluate"))

    assert kind(events, "i", "violation")[0]["name"] == "Env: 5 instances"


def test_processes_share_one_clock_and_keep_their_numbers_apart(tmp_path: Path) -> None:
    write(tmp_path / "run", "rank0-pid7", [header(), *LABELS, fmt.Point(0, 2)])
    write(tmp_path / "run", "rank1-pid7", [header(1, 7, 100.5), *LABELS, fmt.Point(0, 2)])

    marks = kind(exported(tmp_path), "i", "checkpoint")

    assert [mark["ts"] for mark in marks] == [0, 500_000]
    assert len({mark["pid"] for mark in marks}) == 2


def test_packed_trace(tmp_path: Path) -> None:
    write(tmp_path / "run", "rank0-pid7", [header(), *LABELS, fmt.Point(0, 2)])

    export_run(tmp_path / "run", tmp_path / "out.json.gz", form="perfetto")

    check(json.loads(gzip.decompress((tmp_path / "out.json.gz").read_bytes()))["traceEvents"])


def test_labels_with_quotes_and_markup_survive(tmp_path: Path) -> None:
    label = fmt.Label(9, '</script>"\n\\', "checkpoint")
    events = trace(tmp_path, label, fmt.Point(1, 9))

    assert kind(events, "i")[0]["name"] == label.name
