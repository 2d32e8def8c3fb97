"""What leaks on a device is named by its place, and by what the tensors there are for, from scripted looks."""

from __future__ import annotations

import pytest
from scripted_runs import LAST, MIB, record, rising

from phaseprof.analysis.findings import find_leaks
from phaseprof.recording import format as fmt
from phaseprof.records import Finding, HeldTensors
from phaseprof.report.findings import build_findings
from phaseprof.report.text import Style

ROLLOUTS, WEIGHTS = ["module __main__.trainer (Trainer)", ".rollouts (list, 20)"], ["module __main__.best (list, 20)"]
CAME = 10 * MIB


def place(steps: list[str], n_bytes: int = CAME, *, graphs: int = 0) -> fmt.Place:
    row = ("torch.Tensor", 10, n_bytes)
    return fmt.Place(steps, "list", 1, n_bytes, graphs, [row], [row])


def on(row: int, device: str, category: str = "other", n_bytes: int = 2 * CAME) -> fmt.TensorsAt:
    return fmt.TensorsAt(row, device, category, 20, n_bytes)


def leaks(places: list[fmt.Place], tensors: list[fmt.TensorsAt], **extra: float) -> list[Finding]:
    """Of a run in which a device's allocated memory rises by a mebibyte a generation, and that of the host does not."""
    look = fmt.Places(0, LAST, LAST - 10, sum(one.bytes for one in places), places, tensors=tensors)
    process = record({"cuda0/allocated_bytes": rising(MIB, 1e8), **extra}, [look])
    return [finding for finding in find_leaks(process) if finding.verdict == "leak"]


def test_the_place_that_holds_what_leaks_on_a_device_is_named() -> None:
    (found,) = leaks([place(ROLLOUTS)], [on(0, "cuda:0", "with_graph"), on(0, "cuda:0", "parameters", MIB)])

    assert (found.kind, found.subject, list(found.holder)) == ("tensors", "Tensor", ROLLOUTS)
    assert (found.metric, found.bytes_slope) == ("cuda0/allocated_bytes", MIB)
    assert found.tensors == (
        HeldTensors("cuda:0", "with_graph", 20, 2 * CAME), HeldTensors("cuda:0", "parameters", 20, MIB),
    )  # fmt: skip


@pytest.mark.parametrize("elsewhere", ["cpu", "cuda:1"])
def test_what_lies_elsewhere_explains_no_growth_of_a_device(elsewhere: str) -> None:
    (found,) = leaks([place(ROLLOUTS)], [on(0, elsewhere)])

    assert (found.kind, found.subject, found.holder) == ("gpu", "cuda0", ())


def test_each_place_that_brought_a_good_part_is_named() -> None:
    found = leaks([place(ROLLOUTS, 6 * MIB), place(WEIGHTS, 4 * MIB)], [on(0, "cuda:0"), on(1, "cuda:0", "parameters")])

    assert [(list(one.holder), one.tensors[0].category) for one in found] == [
        (ROLLOUTS, "other"), (WEIGHTS, "parameters"),
    ]  # fmt: skip


def test_no_more_came_to_a_device_than_lies_there() -> None:
    """A place that holds 10 MiB of the host and little of a device is not what fills the device."""
    (found,) = leaks([place(ROLLOUTS)], [on(0, "cpu"), on(0, "cuda:0", n_bytes=MIB)])

    assert found.kind == "gpu"


def test_graphs_are_charged_with_what_they_save_in_c() -> None:
    (found,) = leaks([place(ROLLOUTS, 3 * MIB, graphs=10)], [on(0, "cuda:0", "with_graph", 3 * MIB)])

    assert (found.kind, list(found.holder), found.bytes_slope) == ("autograd graph", ROLLOUTS, pytest.approx(MIB))


def test_the_time_left_is_the_devices() -> None:
    times = {"available_bytes": 1e12, "cuda0/available_bytes": 100.0 * MIB}
    look = fmt.Places(0, LAST, LAST - 10, CAME, [place(ROLLOUTS)], tensors=[on(0, "cuda:0")])
    ends = [fmt.GenerationBegin(0, 0), fmt.GenerationEnd(0, 0, 2.0)]

    (found,) = find_leaks(record({"cuda0/allocated_bytes": rising(MIB, 1e8), **times}, [*ends, look]))

    assert found.eta_s == pytest.approx(200.0)


def test_a_text_says_what_the_tensors_are_for() -> None:
    (found,) = leaks([place(ROLLOUTS)], [on(0, "cuda:0", "with_graph"), on(0, "cuda:0", "gradients", MIB)])

    text = " ".join(build_findings([found]).render(Style()).split())

    assert "20.00 MiB of activations kept for backward on cuda:0 (20), 1.00 MiB of gradients on cuda:0 (20)" in text
