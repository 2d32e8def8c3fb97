"""What growth is called: its phase by the counters, advice, and the sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scripted_runs import LOSSES, born, symptom

from phaseprof.analysis.naming import (
    ADVICE,
    advise,
    count_change,
    counted_phase,
    summarise,
    unit_words,
)
from phaseprof.recording.model import OUTSIDE
from phaseprof.records import KINDS, VERDICTS, Finding

# --- the phase --------------------------------------------------------------------------------------------------------


def test_the_allocators_counters_tell_a_phase_too() -> None:
    blocks = symptom("python_blocks", 10.0, births=born("python_blocks", 1, train=10))

    assert counted_phase({"python_blocks": blocks}) == "train"
    assert counted_phase({"malloc_in_use_bytes": symptom("malloc_in_use_bytes"), "python_blocks": blocks}) == "train"
    assert counted_phase({}) is None


def test_the_phase_that_fits_both_counters_is_told() -> None:
    """What ``train`` takes the end gives back: of memory as much as ``log`` keeps, of blocks a little less."""
    in_use = symptom("malloc_in_use_bytes", 12_900.0)
    in_use = replace(in_use, births=born("malloc_in_use_bytes", 3, train=39_040, log=38_080, end=-38_064))
    blocks = replace(
        symptom("python_blocks", 1_565.0), births=born("python_blocks", 3, train=4_238, log=4_580, end=-4_123)
    )

    assert in_use.phase() == "train"
    assert counted_phase({"malloc_in_use_bytes": in_use, "python_blocks": blocks}) == "log"


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_advice_without_gaps(kind: str) -> None:
    told = advise(kind, "Episode", LOSSES)

    assert told.endswith(".")
    assert "{" not in told


def test_advice_says_where() -> None:
    told = advise("objects", "Episode", LOSSES)

    assert told == "Remove Episode objects from trainer.stats.losses when you are done with them, or bound its size."


@pytest.mark.parametrize("kind", KINDS)
def test_advice_without_a_holder_leaves_no_trace_of_one(kind: str) -> None:
    told = advise(kind, None, ())

    assert not any(gap in told for gap in (" ()", "( ", "holder", "None", "objects objects", "  ", " ,", " :"))


def test_there_is_advice_for_each_kind_and_for_what_is_not_known() -> None:
    others = {"one object", "unseen", "frozen", "logged", "logged container", "logged host", "logged device", "others"}

    assert set(ADVICE) == {*KINDS, *others}


def finding(verdict: str = "leak", **fields: object) -> Finding:
    given = {
        "kind": "objects", "phase": "train", "subject": "Episode", "slope": 16.0, "slope_unit": "objects/generation",
        **fields,
    }  # fmt: skip
    return Finding(verdict, **given)  # type: ignore[arg-type]


def test_the_sentence_of_a_leak() -> None:
    told = summarise(finding(holder=LOSSES, since_generation=4, eta_s=7200.0), 65536)

    assert told == (
        "Episode created in train leaks: +16 objects (about 64.00 KiB) a generation since generation 4; memory runs "
        "out in about 2 h"
    )


def counted(metric: str, slope: float = 1.0) -> dict[str, object]:
    unit = "bytes" if metric.endswith("_bytes") else metric
    return {"metric": metric, "slope": slope, "slope_unit": f"{unit}/generation"}


BYTES = counted("arrays_bytes")
ITEMS = {"metric": "container/dict@7f", "slope": 5.0, "slope_unit": "items/generation"}
NODES = {"metric": "graph_nodes", "slope": 2464.0, "slope_unit": "nodes/generation"}


@pytest.mark.parametrize(
    ("kind", "subject", "fields", "begins"),
    [
        ("native", None, BYTES, "Native memory allocated in train leaks: +1.00 MiB a generation"),
        ("descriptors", None, counted("descriptors", 2), "File descriptors opened in train leak: +2 "),
        ("descriptors", "Batch", counted("descriptors"), "File descriptors of Batch objects opened in "),
        ("descriptors", "socket", {}, "File descriptors of socket objects opened in train leak: +16 objects "),
        ("children", "Process", counted("children"), "Child processes started in train leak: +1 "),
        ("children", "Popen", counted("children"), "Child processes of Popen objects started in "),
        ("children", None, counted("children_private_bytes"), "Memory of child processes allocated in train leaks"),
        ("threads", "Thread", counted("threads", 3), "Threads started in train leak: +3 "),
        ("shared memory", "SharedMemory", counted("shm_segments"), "Shared-memory segments created in train leak"),
        ("shared memory", "Tensor", counted("shm_segments"), "Shared-memory segments of tensors created in "),
        ("shared memory", "SharedMemory", counted("shm_user_segments"), "Shared-memory segments in /dev/shm "),
        ("shared memory", "SharedMemory", counted("shm_bytes"), "Shared memory created in train leaks: +1.00 MiB"),
        ("tensors", "Tensor", BYTES, "Tensors created in train leak: +1.00 MiB a generation"),
        ("tensors", "Parameter", {}, "Parameters created in train leak: +16 objects "),
        ("arrays", "ndarray", BYTES, "Arrays created in train leak: "),
        ("arrays", "memmap", BYTES, "Memory-mapped arrays created in train leak: "),
        ("autograd graph", "Tensor", NODES, "Autograd graphs created in train leak: +2,464 nodes (about "),
        ("autograd graph", "cuda0", counted("cuda0/allocated_bytes"), "Autograd graphs on cuda0 created in "),
        ("gpu", "cuda0", counted("cuda0/allocated_bytes"), "Device memory on cuda0 allocated in train leaks: "),
        ("garbage", "Node", {}, "Unreachable cycles of Node objects created in train leak: +16 objects "),
        ("garbage", "Tensor", BYTES, "Unreachable cycles of tensors created in "),
        ("garbage", None, {}, "Unreachable cycles created in "),
        ("container", "dict", ITEMS, "A dict filled in train leaks: +5 items (about "),
        ("container", "OrderedDict", ITEMS, "An OrderedDict filled in "),
        ("objects", "Player", ITEMS, "Player created in train leaks: +5 items (about "),
        ("container", "dict", {}, "Dicts created in train leak: +16 objects "),
        ("container", "replay", {**BYTES, "metric": "tracked/replay", "phase": None}, "Tracked 'replay' leaks: +1.00 "),
        ("objects", None, {}, "Objects created in train leak: "),
    ],
)  # fmt: skip
def test_a_sentence_begins_with_plain_words_and_says_nothing_twice(
    kind: str, subject: str | None, fields: dict[str, object], begins: str
) -> None:
    told = summarise(finding(kind=kind, subject=subject, **fields), 2**20)

    assert told.startswith(begins)
    assert "_" not in told
    assert f"({kind})" not in told
    assert told.count(" a generation") == 1


@pytest.mark.parametrize(
    ("known_as", "begins"),
    [
        ("unseen", "Memory grows in train: +1.00 MiB a generation; what holds it was not examined (budget)"),
        ("logged", "Process memory allocated"),
    ],
)
def test_memory_that_was_not_looked_into_is_not_called_native(known_as: str, begins: str) -> None:
    told = summarise(finding(kind="native", subject=None, **BYTES), 2**20, known_as=known_as)

    assert told.startswith(begins)
    assert "ative" not in told


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_kind_and_verdict_has_words(kind: str, verdict: str) -> None:
    told = summarise(finding(verdict, kind=kind, subject=None), 0)

    assert told[0].isupper()
    assert f" {verdict}: " not in told or verdict == "leak"


@pytest.mark.parametrize(
    ("verdict", "one", "several"),
    [
        ("leak", "leaks", "leak"), ("filling", "fills up", "fill up"),
        (
            "growing", "is still rising, but too little to call a leak",
            "are still rising, but too little to call a leak",
        ),
        ("step", "rose once", "rose once"),
    ],
)  # fmt: skip
def test_the_verb_is_the_verdicts_and_fits_its_subject(verdict: str, one: str, several: str) -> None:
    assert f" {one}: " in summarise(finding(verdict), 0)
    assert f" {several}: " in summarise(finding(verdict, kind="threads", subject="Thread", **counted("threads")), 0)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (16.0, "+16"), (15.98, "+16"), (2464.0, "+2,464"), (1234.5, "+1,234.5"), (0.25, "+0.2"), (-3.0, "-3"),
        (0.1, "+0.1"), (0.04, "+0.04"), (0.0312, "+0.031"), (0.005, "+0.005"), (-0.05, "-0.05"),
    ],
)  # fmt: skip
def test_a_count_is_whole_where_it_can_be_and_never_rounded_to_nothing(change: float, text: str) -> None:
    assert count_change(change) == text


@pytest.mark.parametrize(
    ("unit", "one", "several"),
    [
        ("objects", "object", "objects"), ("items", "item", "items"), ("nodes", "node", "nodes"),
        ("children", "child process", "child processes"), ("descriptors", "descriptor", "descriptors"),
        ("threads", "thread", "threads"), ("shm_segments", "shared-memory segment", "shared-memory segments"),
        ("shm_user_segments", "shared-memory segment", "shared-memory segments"), ("blocks", "blocks", "blocks"),
    ],
)  # fmt: skip
def test_units_are_words_and_singular_where_there_is_one(unit: str, one: str, several: str) -> None:
    assert {unit_words(unit, number) for number in ("+1", "-1", "1")} == {one}
    assert {unit_words(unit, number) for number in ("+16", "+0.5", "1.04", "0")} == {several}


def test_what_did_not_change_is_told_without_a_number() -> None:
    assert summarise(finding("plateau", slope=0.0), 0) == "Episode created in train has levelled off"


def test_bytes_are_told_once() -> None:
    told = summarise(finding(slope=65536.0, slope_unit="bytes/generation"), 65536)

    assert told == "Episode created in train leaks: +64.00 KiB a generation"


@pytest.mark.parametrize(
    ("phase", "words"),
    [("train", "in train"), (OUTSIDE, "outside any phase"), ("after collect", "up to 'after collect'")],
)
def test_where_memory_is_created_is_said_of_phases_and_of_moments(phase: str, words: str) -> None:
    assert f"Episode created {words} leaks: " in summarise(finding(phase=phase), 65536)
