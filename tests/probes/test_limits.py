"""The limit that kills the run, read from made-up and real systems."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from in_child import run_in_child

from phaseprof.errors import ProbeUnavailable
from phaseprof.probes.limits import LimitProbe, Limits
from phaseprof.units import GIB, MIB

V1_MOUNT = "35 32 0:32 {root} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
V2_MOUNT = "41 31 0:38 {root} /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n"
NO_LIMIT_V1 = 9223372036854771712


class System:
    """A folder that looks like the root of a machine."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def host(self, total: int = 64 * GIB, available: int = 60 * GIB) -> None:
        lines = f"MemTotal: {total // 1024} kB", "MemFree: 1 kB", f"MemAvailable:  {available // 1024} kB"
        self.write("proc/meminfo", "\n".join(lines))

    def v1(self, path: str, *, mount_root: str = "/") -> None:
        self.write("proc/self/cgroup", f"9:name=systemd:/x\n4:cpu,memory:{path}\n0::/\n")
        other = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
        self.write("proc/self/mountinfo", other + V1_MOUNT.format(root=mount_root))

    def v1_level(self, path: str, limit: int, used: int, *, inactive: int = 0, active: int = 0) -> None:
        folder = f"sys/fs/cgroup/memory{path}"
        self.write(f"{folder}/memory.limit_in_bytes", f"{limit}\n")
        self.write(f"{folder}/memory.usage_in_bytes", f"{used}\n")
        stat = f"cache 1\ninactive_file 7\nactive_file 7\ntotal_inactive_file {inactive}\ntotal_active_file {active}\n"
        self.write(f"{folder}/memory.stat", stat)

    def v2(self, path: str, *, mount_root: str = "/") -> None:
        self.write("proc/self/cgroup", f"0::{path}\n")
        self.write("proc/self/mountinfo", V2_MOUNT.format(root=mount_root))

    def v2_level(self, path: str, limit: int | str, used: int, *, inactive: int = 0, active: int = 0) -> None:
        folder = f"sys/fs/cgroup{path}"
        self.write(f"{folder}/memory.max", f"{limit}\n")
        self.write(f"{folder}/memory.current", f"{used}\n")
        stat = f"anon 5\ninactive_anon 3\ninactive_file {inactive}\nactive_file {active}\n"
        self.write(f"{folder}/memory.stat", stat)


def read_limits(root: Path = Path("/")) -> Limits:
    probe = LimitProbe(root)
    try:
        return probe.limits()
    finally:
        probe.close()


@pytest.fixture
def system(tmp_path: Path) -> System:
    return System(tmp_path)


def test_without_a_cgroup_the_host_is_the_limit(system: System) -> None:
    system.host(total=64 * GIB, available=60 * GIB)

    assert read_limits(system.root) == Limits(64 * GIB, "host memory", 4 * GIB, 60 * GIB)


def test_a_probe_refuses_where_nothing_can_be_read(system: System) -> None:
    with pytest.raises(ProbeUnavailable, match="no memory limit"):
        LimitProbe(system.root)


def test_v2_limit_counts_no_page_cache(system: System) -> None:
    system.host()
    system.v2("/job")
    system.v2_level("/job", 8 * GIB, 5 * GIB, inactive=2 * GIB, active=1 * GIB)

    assert read_limits(system.root) == Limits(8 * GIB, "cgroup v2 memory.max", 2 * GIB, 6 * GIB)


def test_v1_limit_counts_no_page_cache_of_children_either(system: System) -> None:
    system.host()
    system.v1("/job")
    system.v1_level("/job", 8 * GIB, 5 * GIB, inactive=2 * GIB, active=1 * GIB)

    assert read_limits(system.root) == Limits(8 * GIB, "cgroup v1 memory.limit_in_bytes", 2 * GIB, 6 * GIB)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_no_limit_in_the_cgroup_leaves_the_host(system: System, version: str) -> None:
    system.host()
    if version == "v1":
        system.v1("/job")
        system.v1_level("/job", NO_LIMIT_V1, GIB)
    else:
        system.v2("/job")
        system.v2_level("/job", "max", GIB)

    assert read_limits(system.root).source == "host memory"


def test_what_v1_writes_for_no_limit_is_no_limit(system: System) -> None:
    system.v1("/job")
    system.v1_level("/job", NO_LIMIT_V1, GIB)

    with pytest.raises(ProbeUnavailable, match="no memory limit"):
        read_limits(system.root)


def test_a_smaller_limit_further_up_is_the_one_that_kills(system: System) -> None:
    system.host()
    system.v2("/slice/job/step")
    system.v2_level("/slice/job/step", "max", GIB)
    system.v2_level("/slice/job", 16 * GIB, 2 * GIB)
    system.v2_level("/slice", 4 * GIB, 2 * GIB)

    assert read_limits(system.root).limit_bytes == 4 * GIB


def test_a_smaller_limit_below_wins_over_a_larger_above(system: System) -> None:
    system.host()
    system.v1("/slice/job")
    system.v1_level("/slice/job", 2 * GIB, GIB)
    system.v1_level("/slice", 4 * GIB, GIB)
    system.v1_level("", NO_LIMIT_V1, GIB)

    assert read_limits(system.root).limit_bytes == 2 * GIB


def test_a_larger_limit_that_neighbours_have_nearly_filled_is_nearer(system: System) -> None:
    system.host()
    system.v2("/slice/job")
    system.v2_level("/slice/job", 8 * GIB, 1 * GIB)
    system.v2_level("/slice", 32 * GIB, 31 * GIB)

    assert read_limits(system.root) == Limits(32 * GIB, "cgroup v2 memory.max", 31 * GIB, GIB)


def test_a_host_with_less_left_than_the_cgroup_is_nearer(system: System) -> None:
    system.host(total=64 * GIB, available=GIB)
    system.v2("/job")
    system.v2_level("/job", 32 * GIB, 10 * GIB)

    assert read_limits(system.root).source == "host memory"


@pytest.mark.parametrize("path", ["/docker/4711", "/", "/../../outside"])
def test_a_container_finds_its_limit_at_the_top_of_its_mount(system: System, path: str) -> None:
    system.host()
    system.v1(path, mount_root="/docker/4711")
    system.v1_level("", 3 * GIB, GIB)

    assert read_limits(system.root).limit_bytes == 3 * GIB


def test_a_subgroup_inside_a_container_is_found_below_its_mount(system: System) -> None:
    system.host()
    system.v2("/docker/4711/job", mount_root="/docker/4711")
    system.v2_level("/job", 2 * GIB, GIB)
    system.v2_level("", 3 * GIB, GIB)

    assert read_limits(system.root).limit_bytes == 2 * GIB


def test_a_mount_point_with_a_blank_is_found(system: System) -> None:
    system.host()
    system.write("proc/self/cgroup", "0::/\n")
    system.write("proc/self/mountinfo", "41 31 0:38 / /sys/fs/my\\040groups rw - cgroup2 cgroup2 rw\n")
    system.write("sys/fs/my groups/memory.max", f"{GIB}\n")

    assert read_limits(system.root) == Limits(GIB, "cgroup v2 memory.max", None, None)


def test_a_limit_that_is_overdrawn_leaves_nothing_not_less(system: System) -> None:
    system.v2("/")
    system.v2_level("", GIB, 2 * GIB)

    assert read_limits(system.root).available_bytes == 0


def test_the_address_space_limit_counts_reserved_addresses(system: System) -> None:
    system.host()
    header = "Limit                     Soft Limit           Hard Limit           Units\n"
    system.write("proc/self/limits", f"{header}Max address space         {2 * GIB}   unlimited            bytes\n")
    system.write("proc/self/statm", f"{GIB // resource.getpagesize()} 10 5 1 0 10 0\n")

    assert read_limits(system.root) == Limits(2 * GIB, "RLIMIT_AS", GIB, GIB)


def test_an_unlimited_address_space_is_no_limit(system: System) -> None:
    system.host()
    system.write("proc/self/limits", "Max address space         unlimited            unlimited            bytes\n")
    system.write("proc/self/statm", "1 1 1 1 0 1 0\n")

    assert read_limits(system.root).source == "host memory"


def test_a_real_address_space_limit_is_found() -> None:
    def limit_and_read() -> list[object]:
        resource.setrlimit(resource.RLIMIT_AS, (3 * GIB, resource.RLIM_INFINITY))
        limits = read_limits()
        return [limits.source, limits.limit_bytes]

    assert run_in_child(limit_and_read) == ["RLIMIT_AS", 3 * GIB]


def test_an_unreadable_figure_is_absent(system: System) -> None:
    system.write("proc/meminfo", "MemTotal: 1024 kB\n")
    probe = LimitProbe(system.root)

    assert probe.read() == {"limit_bytes": MIB}
    probe.close()


def test_readings_follow_the_files_when_the_interval_has_passed(system: System) -> None:
    now = [0.0]
    system.host(available=10 * GIB)
    probe = LimitProbe(system.root, min_interval_s=1.0, clock=lambda: now[0])

    system.host(available=5 * GIB)
    early = probe.read()["host_available_bytes"]
    now[0] = 1.0
    late = probe.read()["host_available_bytes"]

    probe.close()
    assert (early, late) == (10 * GIB, 5 * GIB)


def test_a_limit_set_later_is_noticed(system: System) -> None:
    system.host()
    system.v2("/job")
    system.v2_level("/job", "max", GIB)
    probe = LimitProbe(system.root, min_interval_s=0)

    system.v2_level("/job", 2 * GIB, GIB)

    assert probe.limits() == Limits(2 * GIB, "cgroup v2 memory.max", GIB, GIB)
    probe.close()


def test_this_machine_has_a_limit_that_it_has_not_reached() -> None:
    limits = read_limits()

    assert limits.limit_bytes is not None and limits.used_bytes is not None
    assert 0 < limits.used_bytes < limits.limit_bytes
