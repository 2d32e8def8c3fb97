"""Every counter probe keeps the same promises."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from in_child import run_in_child
from torch_stand_in import StandIn, recorded_stats

from phaseprof.errors import ProbeUnavailable
from phaseprof.probes.cuda import AcceleratorProbe
from phaseprof.probes.process import PsutilProcessProbe
from phaseprof.probes.protocol import CostClass, Probe
from phaseprof.probes.registry import PROBES, available_probes

FACTORIES: dict[str, Callable[[], Probe]] = {
    **PROBES,
    "process by psutil": PsutilProcessProbe,
    "accelerator": lambda: AcceleratorProbe(modules=StandIn([recorded_stats()]).modules()),
}
every_probe = pytest.mark.parametrize("factory", FACTORIES.values(), ids=FACTORIES.keys())


@pytest.fixture
def probe(request: pytest.FixtureRequest):
    opened = request.getfixturevalue("factory")()
    yield opened
    opened.close()


@every_probe
def test_has_a_name_and_a_cost_class(probe: Probe, factory: object) -> None:
    assert isinstance(probe, Probe)
    assert probe.name and probe.name == probe.name.strip().lower()
    assert isinstance(probe.cost, CostClass)


@every_probe
def test_docstring_states_cost_and_source(probe: Probe, factory: object) -> None:
    text = type(probe).__doc__ or ""

    assert "Cost:" in text and "Source:" in text


@every_probe
def test_figures_are_plain_numbers_in_the_unit_of_their_name(probe: Probe, factory: object) -> None:
    figures = probe.read()

    assert figures
    for metric, value in figures.items():
        assert type(value) is (float if metric.endswith("_s") else int), metric
        assert value >= 0, metric
        assert not metric.lower().endswith(("_mb", "_kb", "_gb", "_mib", "_pages", "_ms", "_us")), metric


@every_probe
def test_two_readings_have_the_same_metrics(probe: Probe, factory: object) -> None:
    assert set(probe.read()) == set(probe.read())


@every_probe
def test_a_closed_probe_says_so_and_may_be_closed_again(probe: Probe, factory: object) -> None:
    probe.close()
    probe.close()

    with pytest.raises(ProbeUnavailable, match="closed"):
        probe.read()


@every_probe
def test_works_in_a_forked_child(probe: Probe, factory: object) -> None:
    here = sorted(probe.read())

    assert run_in_child(lambda: sorted(probe.read())) == here


@every_probe
def test_keeps_no_descriptor_after_close(factory: Callable[[], Probe]) -> None:
    before = len(os.listdir("/proc/self/fd"))

    probe = factory()
    probe.read()
    probe.close()

    assert len(os.listdir("/proc/self/fd")) == before


@every_probe
def test_reading_leaves_no_descriptor_open(probe: Probe, factory: object) -> None:
    probe.read()
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(20):
        probe.read()

    assert len(os.listdir("/proc/self/fd")) == before


@every_probe
def test_two_probes_of_a_kind_do_not_disturb_each_other(probe: Probe, factory: Callable[[], Probe]) -> None:
    factory().close()

    assert probe.read()


def test_no_probe_imports_torch() -> None:
    program = (
        "import sys; from phaseprof.probes.registry import available_probes; working, missing = available_probes();"
        "[probe.read() for probe in working]; [probe.close() for probe in working];"
        "assert working, missing; assert not [m for m in sys.modules if m.partition('.')[0] == 'torch']; print('ok')"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.stdout.strip() == "ok", done.stderr


def test_probes_that_do_not_work_here_are_listed_with_their_reason() -> None:
    def refuse() -> Probe:
        raise ProbeUnavailable("no such counter here")

    working, missing = available_probes({"malloc": refuse, "gc": PROBES["gc"]})
    for probe in working:
        probe.close()

    assert [probe.name for probe in working] == ["gc"]
    assert missing == [("malloc", "no such counter here")]
