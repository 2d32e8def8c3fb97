"""The block to paste, and printing, where the recording knows less than usual."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run
from phaseprof.records import Finding
from phaseprof.report import build
from phaseprof.report.text import Style

GIB = 1 << 30


def recorded(*records: fmt.Record) -> ProcessRun:
    process = ProcessRun()
    for record in records:
        process.add(record)
    return process


def pasted(process: ProcessRun, finding: Finding) -> str:
    return build.build_what_to_report(process, [finding]).render(Style())


def test_a_count_is_found_in_the_recording_where_the_finding_has_none(leaky: ProcessRun, leak: Finding) -> None:
    assert "- TradingEnvironment count: 2 → 82 (increasing by 16 each gen)" in pasted(leaky, replace(leak, evidence=()))


def test_a_subject_that_was_never_counted_is_named(leaky: ProcessRun, leak: Finding) -> None:
    text = pasted(
        leaky, replace(leak, evidence=(), subject="Tensor", slope=3072.0, slope_low=3072.0, slope_high=3072.0)
    )

    assert "- Subject: Tensor" in text
    assert "- Growth: +3,072 objects per generation (whole process: +1.00 GiB per generation)" in text.replace(
        "\n  ", " "
    )


def test_what_is_not_known_is_said_to_be_unknown(leak: Finding) -> None:
    finding = replace(leak, phase=None, since_generation=None, eta_s=None, evidence=(), subject=None, slope=0.0)

    text = pasted(recorded(), finding)

    assert "- Phase: unknown" in text
    assert "- Growth: not measured" in text
    assert "- Started at an unknown generation" in text
    assert "Limit" not in text


def test_the_line_of_the_allocation_is_given_where_it_is_known(leaky: ProcessRun, leak: Finding) -> None:
    assert "- Made at: train.py:81" in pasted(leaky, replace(leak, site="train.py:81"))


def test_the_snapshot_is_of_the_guilty_phase(leaky: ProcessRun, leak: Finding) -> None:
    report = build.build_what_to_report(leaky, [replace(leak, phase="train_population")])

    assert report.snapshot is not None
    assert report.snapshot.label == "Gen 5: After train_population"


def test_only_leaks_are_pasted(leaky: ProcessRun, leak: Finding) -> None:
    assert pasted(leaky, replace(leak, verdict="filling")).startswith("NO LEAK FOUND\n")


def test_a_generation_has_the_user_s_number(leaky: ProcessRun, leak: Finding) -> None:
    text = build.build_what_to_report(leaky, [replace(leak, since_generation=103)]).render(Style())

    assert "- Started at generation 103\n" in text


def test_without_items_the_table_shows_how_long_turns_took() -> None:
    process = recorded(fmt.GenerationBegin(0, 0, 1), fmt.GenerationEnd(1, 0, 95.0))

    text = build.build_rollout(process).render(Style())

    assert "Epoch 1:   1 min 35 s" in text
    assert "generation(g, items=n) adds throughput" in " ".join(text.split())
    assert "- Rollout:            95.0 s" in text


def test_many_notes_are_cut_and_counted() -> None:
    process = recorded(*(fmt.Note(0, f"note number {n}") for n in range(30)))

    text = build.build_report(Run(None, [process]), [[]]).render(Style())

    assert "note number 10" in text
    assert "note number 11" not in text
    assert "19 more notes" in text


def test_a_recording_without_its_header_is_reported() -> None:
    text = build.build_report(Run(None, [recorded()]), [[]]).render(Style())

    assert "the recording has no header" in text


def test_more_large_objects_than_are_shown_are_summed_up() -> None:
    process = recorded(fmt.Large(0, 0, 1, [("bytes", GIB, "", "")] * 25))

    assert "... 5 more, 5.37 GB together" in build.build_large_objects(process, 10).render(Style())


def test_a_violation_alone_shows_the_count() -> None:
    process = recorded(fmt.Watch("Env", 2, 2), fmt.Violation(0, 3, "Env", 18, 2, 2, "train", 3))

    row = build.build_counts(process).rows[0]

    assert (row.now, row.highest, row.broken_since, row.is_broken) == (18, 18, "3", True)


@pytest.mark.parametrize(("encoding", "arrow"), [("utf-8", "→"), ("ascii", "->"), ("latin-1", "->")])
def test_print_shows_what_stdout_takes(
    encoding: str, arrow: str, leaky: ProcessRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TERM", "NO_COLOR", "PHASEPROF_ASCII"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))

    assert arrow in str(build.build_growth(leaky))
