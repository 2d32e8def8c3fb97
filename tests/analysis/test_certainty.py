"""Each part of a finding says where it comes from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_runs import LAST, MIB, Curve, born, record

from phaseprof.analysis.certainty import from_looks
from phaseprof.analysis.findings import find_leaks
from phaseprof.recording import format as fmt
from phaseprof.records import Certainty, Finding
from phaseprof.report.findings import certainty_text


def rising(slope: float) -> Curve:
    return lambda g: 1e8 + slope * g


def place(bytes_: int) -> fmt.Place:
    items = [("numpy.ndarray", LAST, bytes_)]
    return fmt.Place(["module app", ".kept (list)"], "list", 1, bytes_, 0, items, [])


def run(since: int | None) -> Finding:
    process = record({"malloc_in_use_bytes": rising(MIB)})
    process.add(born("malloc_in_use_bytes", 1, step=MIB))
    if since is not None:
        came = int(MIB) * (LAST - since if since < LAST else LAST)
        process.add(fmt.Places(LAST, LAST, since, came, [place(came)]))
    (finding,) = find_leaks(process)
    return finding


@pytest.mark.parametrize(
    ("since", "certainty"),
    [
        (4, Certainty("measured", "seen once", "measured", "measured")),
        (LAST, Certainty("measured", "seen once", "seen once", "seen once")),
        (None, Certainty("measured", "seen once", "not known", "not known")),
    ],
)
def test_two_looks_measure_and_one_sees_once(since: int | None, certainty: Certainty) -> None:
    assert run(since).certainty == certainty


@given(st.integers(-3, 100))
def test_more_looks_are_no_less_certain(n: int) -> None:
    order = ("not known", "seen once", "measured")

    assert order.index(from_looks(n + 1)) >= order.index(from_looks(n))


def test_words_name_what_was_not_measured() -> None:
    assert certainty_text(Certainty("measured", "measured", "measured", "measured")) == ""
    text = certainty_text(Certainty("measured", "not known", "seen once", "seen once"))
    assert text == "verdict measured; subject and holder seen once; phase not known"
