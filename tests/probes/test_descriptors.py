"""Open descriptors are counted."""

from __future__ import annotations

import contextlib
from pathlib import Path

from phaseprof.probes.descriptors import DescriptorProbe


def test_each_open_file_counts_once(tmp_path: Path) -> None:
    probe = DescriptorProbe()
    before = probe.read()["descriptors"]

    with contextlib.ExitStack() as stack:
        for number in range(10):
            stack.enter_context((tmp_path / str(number)).open("w"))
        during = probe.read()["descriptors"]

    assert (during - before, probe.read()["descriptors"]) == (10, before)
