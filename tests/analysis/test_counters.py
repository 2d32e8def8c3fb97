"""Leaks that only counters show, and what is no leak though a counter rises."""

from __future__ import annotations

import pytest
from scripted_runs import LAST, LOSSES, MIB, Curve, born, held, record, rising

from phaseprof.analysis.findings import find_leaks
from phaseprof.analysis.held import WARM_UP
from phaseprof.analysis.intervals import nearest_phase
from phaseprof.analysis.phases import phase_changes
from phaseprof.recording import format as fmt
from phaseprof.recording.model import OUTSIDE, ProcessRun
from phaseprof.records import Finding

EPISODES = "watched/Episode"


def only(process: ProcessRun) -> Finding:
    (finding,) = find_leaks(process)
    return finding


def kinds(process: ProcessRun) -> list[str]:
    return [finding.kind for finding in find_leaks(process)]


# --- children, threads, segments, descriptors -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "slope", "kind", "subject", "unit"),
    [
        ("children", 1, "children", "Process", "children/generation"),
        ("zombie_children", 1, "children", "Process", "zombie_children/generation"),
        ("children_private_bytes", MIB, "children", None, "bytes/generation"),
        ("children_grown_bytes", MIB, "children", None, "bytes/generation"),
        ("threads", 2, "threads", "Thread", "threads/generation"),
        ("shm_segments", 1, "shared memory", "SharedMemory", "shm_segments/generation"),
        ("shm_bytes", MIB, "shared memory", "SharedMemory", "bytes/generation"),
        ("shm_user_segments", 1, "shared memory", "SharedMemory", "shm_user_segments/generation"),
        ("descriptors", 3, "descriptors", None, "descriptors/generation"),
    ],
)  # fmt: skip
def test_a_counter_that_rises_is_a_finding(
    metric: str, slope: float, kind: str, subject: str | None, unit: str
) -> None:
    finding = only(record({metric: rising(slope)}, [born(metric, 3, train=3 * slope)]))

    assert (finding.verdict, finding.kind, finding.subject, finding.slope_unit) == ("leak", kind, subject, unit)
    assert (finding.metric, finding.phase) == (metric, "train")
    assert finding.slope == pytest.approx(slope)


def assert_others(run: ProcessRun) -> None:
    """That segments rise is told, and by nobody called a leak."""
    (finding,) = find_leaks(run)

    assert (finding.verdict, finding.kind, finding.phase) == ("growing", "shared memory", None)
    assert finding.summary.startswith("Shared-memory segments in /dev/shm rise: +")
    assert finding.summary.endswith("; they may be another program's")


@pytest.mark.parametrize("phases", [{OUTSIDE: 1.0}, {OUTSIDE: 3.0}, {}])
def test_segments_that_no_phase_makes_may_be_another_programs(phases: dict[str, float]) -> None:
    births = [born("shm_user_segments", 3, **phases)] if phases else []

    assert_others(record({"shm_user_segments": rising(1)}, births))


@pytest.mark.parametrize("births", [{"train": 1.0}, {"train": 2.0, OUTSIDE: 2.0}])
def test_segments_of_which_few_came_in_the_phase_may_be_another_programs(births: dict[str, float]) -> None:
    run = record({"shm_user_segments": rising(1)}, [born("shm_user_segments", 4, **births)])

    assert_others(run)


def test_segments_that_seldom_come_in_the_one_phase_there_is_may_be_another_programs() -> None:
    """One in twelve generations, in a phase that fills each of them."""
    run = record({"shm_user_segments": lambda g: 5.0 + g // 12}, [born("shm_user_segments", 30, learn=3.0)], n=100)

    assert_others(run)


def test_what_another_program_makes_does_not_hide_descriptors() -> None:
    assert kinds(record({"shm_user_segments": rising(1), "descriptors": rising(1)}))[0] == "descriptors"


@pytest.mark.parametrize("curve", [5.0, lambda g: 5.0 + g % 3, lambda g: 5.0 + (g > 9)])
def test_a_counter_at_rest_is_none(curve: Curve) -> None:
    assert find_leaks(record({"children": curve, "threads": curve, "descriptors": curve})) == ()


def test_a_child_explains_its_pipes() -> None:
    assert kinds(record({"children": rising(1), "children_private_bytes": rising(MIB), "descriptors": rising(2)})) == [
        "children"
    ]


@pytest.mark.parametrize(("slope", "found"), [(MIB // 4, []), (4 * MIB, ["children"])])
def test_beside_workers_that_rest_other_programs_must_grow_by_much(slope: int, found: list[str]) -> None:
    servers = {"children_grown_bytes": 8.0 * MIB, "children_private_bytes": rising(slope)}

    assert kinds(record(servers)) == found


@pytest.mark.parametrize(("n", "found"), [(1.0, ["children"]), (16.0, [])])
def test_many_workers_may_each_settle(n: float, found: list[str]) -> None:
    assert kinds(record({"children": n, "children_grown_bytes": rising(MIB // 4)})) == found


def test_a_segment_that_was_mapped_whole_may_fill_up() -> None:
    assert find_leaks(record({"shm_bytes": 2000.0 * MIB, "shm_resident_bytes": rising(2 * MIB)})) == ()


def test_pages_that_objects_hold_are_a_leak_of_the_phase_that_made_the_objects() -> None:
    process = with_objects("shm_resident_bytes", 2.0 * MIB, "ray.ObjectRef")

    finding = only(process)

    assert (finding.kind, finding.subject, finding.phase) == ("shared memory", "ObjectRef", "train")
    assert finding.holder[:3] == LOSSES[:3]


def test_pages_of_new_segments_are_a_leak_of_the_phase_that_touches_them() -> None:
    process = with_objects("shm_resident_bytes", 2.0 * MIB, "ray.ObjectRef")
    for g in (4, 30):  # what is mapped takes milliseconds to read
        process.add(fmt.Metrics(g, g, {"shm_bytes": 2.0 * MIB * g}))

    assert only(process).phase == "log"


def test_a_segment_explains_its_descriptor() -> None:
    assert kinds(record({"shm_segments": rising(1), "descriptors": rising(1)})) == ["shared memory"]


def test_threads_do_not_explain_descriptors() -> None:
    assert sorted(kinds(record({"threads": rising(1), "descriptors": rising(1)}))) == ["descriptors", "threads"]


def test_bytes_that_do_not_matter_on_this_machine_are_a_trifle() -> None:
    small = {"children_private_bytes": rising(MIB), "available_bytes": 1e12}
    process = record(small, [fmt.GenerationBegin(0, 0), fmt.GenerationEnd(0, 0, 60.0)])

    assert find_leaks(process) == ()
    assert kinds(record(small)) == ["children"]


# --- joined with objects ----------------------------------------------------------------------------------------------


def with_objects(metric: str, slope: float, type_name: str, n: float = 2.0) -> ProcessRun:
    """A counter that rises beside ``n`` objects a generation in a list."""
    came = [(type_name, round(20 * n), round(20 * n) * 1000)]
    place = fmt.Place(list(LOSSES[:3]), "list", 1, came[0][2], 0, came, came)
    looks = fmt.Places(0, 39, 19, came[0][2], [place])
    blocks = [born("python_blocks", 1, train=9), born(metric, 1, log=slope)]
    return record({metric: rising(slope), "python_blocks": rising(9)}, [looks, *blocks], n=40)


@pytest.mark.parametrize(
    ("metric", "type_name", "kind", "subject"),
    [
        ("threads", "threading.Thread", "threads", "Thread"),
        ("threads", "concurrent.futures.thread.ThreadPoolExecutor", "threads", "Thread"),
        ("children", "subprocess.Popen", "children", "Popen"),
        ("children", "multiprocessing.context.ForkProcess", "children", "ForkProcess"),
        ("shm_segments", "multiprocessing.shared_memory.SharedMemory", "shared memory", "SharedMemory"),
        ("descriptors", "socket.socket", "descriptors", "socket"),
        ("descriptors", "logging.FileHandler", "descriptors", "FileHandler"),
    ],
)
def test_objects_that_come_with_a_counter_give_it_their_holder(
    metric: str, type_name: str, kind: str, subject: str
) -> None:
    finding = only(with_objects(metric, 2.0, type_name))

    assert (finding.kind, finding.subject, finding.phase) == (kind, subject, "log")
    assert finding.holder == LOSSES[:3]


@pytest.mark.parametrize(("slope", "is_joined"), [(0.9, False), (1.0, True), (16.0, True), (16.4, False)])
def test_descriptors_join_objects_of_any_type_that_come_in_step(slope: float, is_joined: bool) -> None:
    """Half a descriptor to eight for each object, of which there are two a generation."""
    finding = only(with_objects("descriptors", slope, "user.Batch"))

    assert finding.subject == ("Batch" if is_joined else None)


# --- the phase of a counter -------------------------------------------------------------------------------------------


def test_the_phase_whose_change_is_nearest_to_the_rise() -> None:
    assert nearest_phase({"loads": 90.0, "keeps": 11.0, "frees": -91.0}, 10.0) == "keeps"
    assert nearest_phase({"steps": 0.5, "keeps": 41.0, "frees": -31.5}, 10.0) == "keeps"
    assert nearest_phase({"half": 5.0, "keeps": 16.0, "frees": -11.0}, 10.0) == "half"
    assert nearest_phase({"one": 3.0, "another": 3.0, "third": 4.0}, 10.0) == "third"
    assert nearest_phase({"frees": -3.0}, 10.0) is None
    assert nearest_phase({}, 10.0) is None


def test_a_phase_counts_with_those_in_it() -> None:
    around = {"backward": "train", "train": "epoch", "log": "epoch"}

    gives_back = {"epoch": 0.02, "train": 0.4, "backward": 0.6, "log": 0.01}
    assert nearest_phase(gives_back, 1.0, around) == "train"
    assert nearest_phase({"train": -5.0, "backward": 6.0, "log": 0.1}, 1.0, around) == "train"
    assert nearest_phase({"train": 0.15, "backward": 0.85}, 1.0, around) == "backward"
    assert nearest_phase({"train": 0.02, "backward": 1.4}, 1.0, around) == "backward", "train adds nothing by itself"
    assert nearest_phase({"epoch": 1.0, "train": 0.05, "backward": 0.1, "log": -0.1}, 1.0, around) == "epoch"


def test_names_that_lie_in_each_other_go_round_in_no_circle() -> None:
    assert nearest_phase({"a": 1.0, "b": 0.2}, 1.0, {"a": "b", "b": "a"}) in ("a", "b")


def test_changes_are_of_the_newer_half() -> None:
    process = ProcessRun()
    process.add(fmt.Label(1, "train", "phase"))
    process.add(fmt.Label(2, "evaluate", "phase"))
    pages, t = 1000, 0
    for g in range(8):
        for label, grown in ((1, 10 if g >= 4 else 0), (2, 1)):
            process.add(fmt.Point(t, label, fmt.ENTER, g, f"9999 {pages} 0 1 0 9 0"))
            pages += grown
            process.add(fmt.Point(t + 1, label, fmt.EXIT, g, f"9999 {pages} 0 1 0 9 0"))
            t += 2
    process.fold()

    changes = phase_changes(process, "anonymous_bytes")

    assert changes == {"train": 10 * 4096, "evaluate": 4096}
    assert OUTSIDE not in changes


def test_visits_that_are_only_counted_do_not_make_changes_larger() -> None:
    """From the eighth generation on one in four is recorded, and its visit stands for four."""
    process = ProcessRun()
    process.add(fmt.Label(1, "train", "phase"))
    for g in range(41):
        pages, stands_for = 1000 + 10 * g, 4 if g > 8 else 1
        if g <= 8 or g % 4 == 0:
            process.add(fmt.Point(10 * g, 1, fmt.ENTER, g, f"9999 {pages} 0 1 0 9 0", n=stands_for))
            process.add(fmt.Point(10 * g + 1, 1, fmt.EXIT, g, f"9999 {pages + 10} 0 1 0 9 0"))
    process.fold()

    assert phase_changes(process, "anonymous_bytes")["train"] == pytest.approx(10 * 4096, rel=0.05)


def test_a_phase_that_adds_just_what_stays_is_told_whatever_another_adds_and_frees() -> None:
    """Memory goes down at every fourth generation, in which nothing was followed."""
    births = [born("malloc_in_use_bytes", 2, install=2 * MIB, run=4 * MIB)]
    births[0].g = 39
    process = record({"malloc_in_use_bytes": lambda g: 1e8 + MIB * g + 2 * MIB * (g % 4)}, births, n=40)

    assert [finding.phase for finding in find_leaks(process)] == ["install"]


def test_without_charges_an_interval_bears_the_name_of_the_point_that_ends_it() -> None:
    process = ProcessRun()
    for g in range(10):
        for at, above in (("after collect", 0.0), ("after train", 70.0), ("after save", 90.0)):
            process.add(fmt.Metrics(g, g, {"rss_bytes": 100.0 * g + above}, at=at))

    changes = phase_changes(process, "rss_bytes")

    assert changes == {"after collect": 10, "after train": 70, "after save": 20}


@pytest.mark.parametrize(
    ("after", "evaluate", "train", "later"),
    [(3, 3.3, 4.0, 0), (1, 0.9, 0.1, 0), (3, 2.2, 0.2, 2)],
    ids=["a buffer filled meanwhile", "one early generation", "less came when it was followed last"],
)
def test_where_followed_generations_say_little_private_memory_tells_the_phase(
    after: int, evaluate: float, train: float, later: int
) -> None:
    process = record({"malloc_in_use_bytes": rising(MIB, 1e8)})
    process.extend([fmt.Label(0, "generation", "generation"), fmt.Label(1, "train", "phase")])
    process.add(fmt.Label(2, "evaluate", "phase"))
    pages = 10_000
    for g in range(20):
        for n, (label, grows) in enumerate(((2, 300 if g < 7 else 0), (1, 256))):
            process.add(fmt.Point(g * 10**9 + 2 * n, label, fmt.ENTER, g, f"{pages} {pages} 10 1 0 7 0"))
            pages += grows
            process.add(fmt.Point(g * 10**9 + 2 * n + 1, label, fmt.EXIT, g, f"{pages} {pages} 10 1 0 7 0"))
    births = born("malloc_in_use_bytes", after, evaluate=evaluate * MIB, train=train * MIB)
    births.g = 7
    process.add(births)
    if later:
        newest = born("malloc_in_use_bytes", later, evaluate=2.4 * MIB, train=-2.2 * MIB)
        newest.g = 18
        process.add(newest)
    process.fold()

    (finding,) = find_leaks(process)

    assert (finding.verdict, finding.phase) == ("leak", "train")


def test_pages_that_came_in_visits_which_were_only_counted_accuse_nobody() -> None:
    """What lies outside of recorded visits may be of those that were counted."""
    process = record({"malloc_in_use_bytes": rising(MIB, 1e8)})
    process.extend([fmt.Label(0, "generation", "generation"), fmt.Label(1, "collect", "phase")])
    for g in range(20):
        process.add(fmt.Point(g * 10**9, 0, fmt.ENTER, g, f"{10_000 + 256 * g} {10_000 + 256 * g} 10 1 0 7 0"))
        process.add(fmt.Visits(g * 10**9 + 1, g, {1: 40}))
    births = born("malloc_in_use_bytes", 3, collect=20 * MIB)
    births.g = 4
    process.add(births)
    process.fold()

    assert [finding.phase for finding in find_leaks(process)] == ["collect"]


@pytest.mark.parametrize(("train", "told"), [(2.0 * MIB, "train"), (2.6 * MIB, "evolve")])
def test_two_early_generations_that_come_to_just_the_leak_tell_the_phase(train: float, told: str) -> None:
    """Pages of private memory come in another phase, which uses what this one has freed."""
    process = record({"malloc_in_use_bytes": rising(MIB, 1e8)})
    process.extend([fmt.Label(0, "generation", "generation"), fmt.Label(1, "train", "phase")])
    process.add(fmt.Label(2, "evolve", "phase"))
    for g in range(20):
        before, t = 9999 + 256 * g, g * 10**9
        for n, (label, after) in enumerate(((1, before), (2, before + 256))):
            process.add(fmt.Point(t + 2 * n, label, fmt.ENTER, g, f"{before} {before} 10 1 0 7 0"))
            process.add(fmt.Point(t + 2 * n + 1, label, fmt.EXIT, g, f"{after} {after} 10 1 0 7 0"))
    births = born("malloc_in_use_bytes", 2, train=train)
    births.g = 4
    process.add(births)
    process.fold()

    assert [finding.phase for finding in find_leaks(process)] == [told]


def test_one_late_generation_that_comes_to_the_leak_tells_the_phase() -> None:
    """Pages of private memory come in another phase, which uses what this one has freed."""
    process = in_parts(after=0)
    process.add(born("malloc_in_use_bytes", 1, evolve=0.9 * MIB))

    assert [finding.phase for finding in find_leaks(process)] == ["evolve"]


def in_parts(*, after: int) -> ProcessRun:
    """Private memory rises by a mebibyte a generation in two blocks of a phase; what was followed is of another."""
    process = record({"malloc_in_use_bytes": rising(MIB, 1e8)})
    process.extend([fmt.Label(0, "generation", "generation"), fmt.Label(1, "train", "phase")])
    process.extend([fmt.Label(2, "forward", "block", parent=1), fmt.Label(3, "backward", "block", parent=1)])
    process.add(fmt.Label(4, "evolve", "phase"))
    pages = 10_000
    for g in range(20):
        for n, (label, edge, grows) in enumerate((
            (1, fmt.ENTER, 0), (2, fmt.ENTER, 0), (2, fmt.EXIT, 128), (3, fmt.ENTER, 0), (3, fmt.EXIT, 128),
            (1, fmt.EXIT, 0), (4, fmt.ENTER, 0), (4, fmt.EXIT, 0),
        )):  # fmt: skip
            pages += grows
            process.add(fmt.Point(g * 10**9 + n, label, edge, g, f"{pages} {pages} 10 1 0 7 0"))
    if after:
        process.add(born("malloc_in_use_bytes", after, evolve=after * 0.04 * MIB))
    process.fold()
    return process


@pytest.mark.parametrize("after", [0, 3], ids=["nothing was followed", "something else was"])
def test_the_phase_around_parts_that_share_the_rise_is_named(after: int) -> None:
    (finding,) = find_leaks(in_parts(after=after))

    assert (finding.verdict, finding.phase) == ("leak", "train")


def test_followed_generations_that_show_nothing_of_the_rise_name_no_phase() -> None:
    process = record({"malloc_in_use_bytes": rising(MIB, 1e8)})
    process.add(born("malloc_in_use_bytes", 3, evolve=3 * 0.04 * MIB))

    (finding,) = find_leaks(process)

    assert (finding.verdict, finding.phase) == ("leak", None)


def test_one_point_alone_tells_no_phase() -> None:
    process = ProcessRun()
    for g in range(10):
        process.add(fmt.Metrics(g, g, {"rss_bytes": 100.0 * g}, at="after train"))

    assert phase_changes(process, "rss_bytes") == {}


# --- native memory ----------------------------------------------------------------------------------------------------


def native(**metrics: Curve) -> list[Finding]:
    return [f for f in find_leaks(record(metrics)) if f.kind == "native"]


def test_memory_that_no_object_explains_is_native() -> None:
    (finding,) = native(malloc_in_use_bytes=rising(MIB, 1e8), arrays_bytes=1e6)

    assert (finding.verdict, finding.metric, finding.subject, finding.holder) == (
        "leak", "malloc_in_use_bytes", None, (),
    )  # fmt: skip
    assert finding.slope == pytest.approx(MIB)


@pytest.mark.parametrize(
    ("looked_at", "begins", "advice"),
    [
        (True, "Native memory leaks", "No Python object explains it"),
        (False, "Memory grows", "There was no room in the budget"),
    ],
)  # fmt: skip
def test_memory_is_called_native_only_where_python_was_looked_at(looked_at: bool, begins: str, advice: str) -> None:
    looks = [fmt.Places(0, LAST, 9, 0, [])] if looked_at else []
    (finding,) = find_leaks(record({"malloc_in_use_bytes": rising(MIB, 1e8)}, looks))

    assert finding.summary.startswith(f"{begins}: +1.00 MiB a generation since generation ")
    assert finding.advice.startswith(advice)


def test_memory_of_an_imported_log_is_called_the_process_memory() -> None:
    log = ProcessRun()
    for g in range(LAST + 1):
        log.add(fmt.Metrics(g, g, {"rss_bytes": 1e8 + MIB * g}))

    (finding,) = find_leaks(log)

    assert finding.summary == "Process memory leaks: +1.00 MiB a generation since generation 0"
    assert finding.advice.startswith("The log holds only the memory of the process")


@pytest.mark.parametrize(("slope", "is_told"), [(52_400.0, False), (52_430.0, True)])
def test_a_little_may_be_anyones(slope: float, is_told: bool) -> None:
    """A mebibyte in twenty generations."""
    assert bool(native(malloc_in_use_bytes=rising(slope, 1e8))) is is_told


def test_a_leak_that_was_found_explains_memory_in_use() -> None:
    watch = fmt.Watch("Episode")
    process = record({"malloc_in_use_bytes": rising(MIB, 1e8), EPISODES: rising(16)}, [watch, held(EPISODES)])

    assert kinds(process) == ["objects"]


@pytest.mark.parametrize(("names", "subject"), [(["Batch"], "Batch"), (["Batch", "Page"], None)])
def test_native_memory_names_the_objects_that_come_with_it_where_one_place_has_some(
    names: list[str], subject: str | None
) -> None:
    """A record batch takes 80 bytes of Python's memory, and any number of its library's own."""
    rows = [
        fmt.Place([f"module app.{name}s (list, 60)"], "list", 1, 1600, 0, [(f"lib.{name}", 20, 1600)], [])
        for name in names
    ]
    look = fmt.Places(0, LAST, 5, 1600 * len(rows), rows)

    (finding,) = find_leaks(record({"malloc_in_use_bytes": rising(MIB, 1e8), "arrays_bytes": 1e6}, [look]))

    assert (finding.kind, finding.subject) == ("native", subject)
    assert finding.holder == ((f"module app.{subject}s (list, 60)",) if subject else ())
    assert finding.certainty.holder == ("seen once" if subject else "not known")


@pytest.mark.parametrize(("since", "is_told"), [(LAST // 2, True), (LAST // 2 + 2, False)])
def test_a_look_without_libraries_names_what_may_own_memory_where_it_speaks_of_most_of_the_run(
    since: int, is_told: bool
) -> None:
    """Compressors take 192 bytes of Python's memory each; all of the heap was looked at once, at the end."""
    streams = ("train.py main() local recorder (Recorder)", ".streams (dict, 60)")
    row = fmt.Place(list(streams), "dict", 1, 8640, 0, [("_lzma.LZMACompressor", LAST - since, 8640)], [])
    looks = [
        fmt.Places(0, LAST, since, 8640, [row], libraries=False),
        fmt.Places(0, LAST, LAST, 10**7, [], libraries=True),
    ]

    (finding,) = find_leaks(record({"malloc_in_use_bytes": rising(MIB, 1e8), "arrays_bytes": 1e6}, looks))

    assert (finding.kind, finding.subject) == ("native", "LZMACompressor" if is_told else None)
    assert finding.holder == (streams if is_told else ())
    assert finding.certainty.holder == ("seen once" if is_told else "not known")


def test_threads_explain_their_stacks() -> None:
    assert kinds(record({"malloc_in_use_bytes": rising(MIB, 1e8), "threads": rising(1)})) == ["threads"]


@pytest.mark.parametrize("curve", [1e8, lambda g: 1e8 + MIB * min(g, 4), lambda g: 1e8 + MIB * (g % 5)])
def test_memory_in_use_at_rest_is_no_leak(curve: Curve) -> None:
    assert native(malloc_in_use_bytes=curve) == []


# --- resident memory, the poorest witness -----------------------------------------------------------------------------


def resident(mib_a_generation: float, *, in_use: float = 10.0, free: float | None = None) -> list[Finding]:
    """Resident memory from 100 MiB, beside what malloc holds (MiB) and how its free bytes grow (MiB a generation)."""
    metrics: dict[str, Curve] = {
        "anonymous_bytes": rising(mib_a_generation * MIB, 100 * MIB), "malloc_in_use_bytes": in_use * MIB,
    }  # fmt: skip
    if free is not None:
        metrics["malloc_free_bytes"] = rising(free * MIB, MIB)
    return native(**metrics)


@pytest.mark.parametrize(("blocks", "found"), [(0, []), (400, []), (550, ["native"]), (900, ["objects"])])
def test_what_both_allocators_leak_together_is_what_would_be_felt(blocks: int, found: list[str]) -> None:
    """In 20 generations malloc has 600 KiB more; 900 blocks in each are 840 KiB, and are most of it then."""
    assert kinds(record({"malloc_in_use_bytes": rising(30 * 1024, 1e8), "python_blocks": rising(blocks, 3e5)})) == found


def test_pages_mapped_by_hand_are_native() -> None:
    (finding,) = resident(8)

    assert (finding.metric, finding.verdict) == ("anonymous_bytes", "leak")


@pytest.mark.parametrize(
    ("total", "free", "is_told"), [(31.9, None, False), (32.1, None, True), (7.9, 0.0, False), (8.1, 0.0, True)]
)
def test_resident_memory_must_grow_by_8_mib_after_the_warm_up_and_by_32_where_free_memory_is_not_known(
    total: float, free: float | None, is_told: bool
) -> None:
    assert bool(resident(total / (LAST - WARM_UP), free=free)) is is_told


@pytest.mark.parametrize(("share", "is_told"), [(0.49, True), (0.51, False)])
def test_freed_memory_that_the_allocator_keeps_is_no_leak(share: float, is_told: bool) -> None:
    assert bool(resident(8, free=share * 8)) is is_told


@pytest.mark.parametrize(("blocks", "is_told"), [(0.0, True), (2_000.0, False)])
def test_pages_that_blocks_of_pythons_allocator_may_take_are_not_mapped_by_hand(blocks: float, is_told: bool) -> None:
    """A block takes 512 bytes at most: 2,000 a generation are a mebibyte."""
    found = native(
        anonymous_bytes=rising(MIB, 100 * MIB), malloc_in_use_bytes=10.0 * MIB, malloc_free_bytes=1.0 * MIB,
        python_blocks=rising(blocks, 1e5),
    )  # fmt: skip

    assert any(finding.metric == "anonymous_bytes" for finding in found) is is_told


def test_blocks_that_came_once_do_not_hide_pages_mapped_by_hand() -> None:
    """Garbage that waited: 40,000 blocks may take 20 MiB, but resident memory rose by one then."""
    found = native(
        anonymous_bytes=rising(MIB, 100 * MIB), malloc_in_use_bytes=10.0 * MIB, malloc_free_bytes=1.0 * MIB,
        python_blocks=lambda g: 1e5 + 4e4 * (8 <= g < 12),
    )  # fmt: skip

    assert [finding.metric for finding in found] == ["anonymous_bytes"]


@pytest.mark.parametrize("leaks", [True, False])
def test_arenas_of_pythons_allocator_are_not_mapped_by_hand(leaks: bool) -> None:
    """Four generations' blocks fill a mebibyte, and resident memory rises by as much at once."""
    found = native(
        anonymous_bytes=lambda g: 100.0 * MIB + MIB * (g // 4 + (g if leaks else 0)), malloc_in_use_bytes=10.0 * MIB,
        malloc_free_bytes=1.0 * MIB, python_blocks=rising(512, 1e5),
    )  # fmt: skip

    assert any(finding.metric == "anonymous_bytes" for finding in found) is leaks


@pytest.mark.parametrize(("share", "is_told"), [(0.49, True), (0.51, False)])
def test_buffers_whose_pages_are_touched_late_are_no_leak(share: float, is_told: bool) -> None:
    """What malloc held all along, beyond what was resident at first, is touched page by page."""
    grown = 8.0 * LAST

    assert bool(resident(8, in_use=100 + share * grown)) is is_told


@pytest.mark.parametrize("better", ["malloc_in_use_bytes", "anonymous_bytes"])
def test_rss_is_silent_beside_a_better_witness(better: str) -> None:
    assert native(rss_bytes=rising(8 * MIB, 100 * MIB), **{better: 1e8}) == []


def test_rss_alone_may_speak() -> None:
    (finding,) = native(rss_bytes=rising(8 * MIB, 100 * MIB))

    assert finding.metric == "rss_bytes"


# --- device memory ----------------------------------------------------------------------------------------------------


def device(metrics: dict[str, Curve], *extra: fmt.Record) -> list[Finding]:
    return [f for f in find_leaks(record(metrics, extra)) if f.kind in ("gpu", "autograd graph")]


def told(metrics: dict[str, Curve]) -> list[tuple[str, str | None]]:
    return [(finding.kind, finding.subject) for finding in device(metrics)]


def test_device_memory_that_nobody_counted_storages_for_is_gpu() -> None:
    assert told({"cuda0/allocated_bytes": rising(MIB)}) == [("gpu", "cuda0")]


@pytest.mark.parametrize(("device_name", "torch_name"), [("cuda0", "cuda:0"), ("xpu11", "xpu:11"), ("mps", "mps")])
def test_device_memory_beyond_flat_storages_is_a_graph_held_in_c(device_name: str, torch_name: str) -> None:
    found = told({f"{device_name}/allocated_bytes": rising(MIB), f"storages/{torch_name}_bytes": 1e6})

    assert found == [("autograd graph", device_name)]


@pytest.mark.parametrize(("share", "kind"), [(0.49, "autograd graph"), (0.51, "gpu")])
def test_storages_that_explain_half_say_that_it_is_no_graph(share: float, kind: str) -> None:
    shown = {"storages/cuda:0_bytes": lambda g: 1e6 + share * MIB * min(g, LAST - 1)}  # one rise has not come

    assert told({"cuda0/allocated_bytes": rising(MIB), **shown}) == [(kind, "cuda0")]


def test_storages_of_another_device_explain_nothing() -> None:
    found = told({
        "cuda0/allocated_bytes": rising(MIB), "storages/cuda:0_bytes": 1e6,
        "storages/cuda:1_bytes": lambda g: 1e6 + MIB * min(g, LAST - 1),
    })  # fmt: skip

    assert found == [("autograd graph", "cuda0")]


@pytest.mark.parametrize(("free", "eta_s"), [({"cuda0/free_bytes": 500.0 * MIB}, pytest.approx(1000.0)), ({}, None)])
def test_the_time_left_on_a_device_is_of_its_own_memory(free: dict[str, Curve], eta_s: float | None) -> None:
    metrics = {"cuda0/allocated_bytes": rising(MIB), "available_bytes": 1e12, **free}

    (finding,) = device(metrics, fmt.GenerationBegin(0, 0), fmt.GenerationEnd(0, 0, 2.0))

    assert finding.eta_s == eta_s


def test_each_device_that_leaks_is_told() -> None:
    found = told({"cuda0/allocated_bytes": rising(MIB), "cuda1/allocated_bytes": rising(MIB)})

    assert sorted(found) == [("gpu", "cuda0"), ("gpu", "cuda1")]


def test_reserved_memory_is_no_leak() -> None:
    assert told({"cuda0/reserved_bytes": rising(MIB), "cuda0/allocated_bytes": 1e6}) == []


def test_device_memory_is_charged_to_the_phase_that_keeps_it() -> None:
    process = ProcessRun()
    process.extend([fmt.Label(0, "generation", "generation"), fmt.Label(1, "train", "phase")])
    process.add(fmt.Label(2, "evaluate", "phase"))
    used, t = 10 * MIB, 0
    for g in range(LAST + 1):
        process.add(fmt.Point(t, 0, fmt.ENTER, g, d={"cuda0": [used]}))
        for label, grown in ((1, MIB), (2, 0)):
            process.add(fmt.Point(t + 1, label, fmt.ENTER, g, d={"cuda0": [used]}))
            used += grown
            process.add(fmt.Point(t + 2, label, fmt.EXIT, g, d={"cuda0": [used]}))
        process.add(fmt.Point(t + 3, 0, fmt.EXIT, g, d={"cuda0": [used]}))
        t += 10
    process.fold()

    finding = only(process)

    assert (finding.kind, finding.subject, finding.phase) == ("gpu", "cuda0", "train")
    assert finding.slope == pytest.approx(MIB)


def test_the_time_left_is_of_the_counters_own_rate() -> None:
    process = record(
        {"malloc_in_use_bytes": rising(MIB, 1e8), "available_bytes": 1000.0 * MIB},
        [fmt.GenerationBegin(0, 0), fmt.GenerationEnd(0, 0, 2.0)],
    )

    assert only(process).eta_s == pytest.approx(2000.0)


# --- shares -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("phase", "found"), [("log", ["objects"]), ("step", ["native", "objects"])])
def test_objects_may_own_what_grows_in_their_phase_only(phase: str, found: list[str]) -> None:
    """64 KB a generation are kept by watched objects made in ``log``; 5 MiB a generation are lost in ``phase``."""
    births = [born("watched/Handle", 1, log=60), born("malloc_in_use_bytes", 1, **{phase: 5.0 * MIB})]
    handles = held("watched/Handle", item="app.Handle", each=1000)
    figures = {"watched/Handle": rising(60), "malloc_in_use_bytes": rising(5 * MIB, 1e8)}

    assert kinds(record(figures, [fmt.Watch("Handle"), handles, *births])) == found


@pytest.mark.parametrize(("in_use", "is_told"), [(1.0 * MIB, True), (0.2 * MIB, False), (0.0, False)])
def test_resident_memory_speaks_for_memory_in_use_that_was_read_seldom(in_use: float, is_told: bool) -> None:
    """A busy machine leaves no time to ask malloc, but a few readings show that it is malloc's memory that grows."""
    process = record({"anonymous_bytes": rising(1.0 * MIB, 1e8)})
    for g in (0, 9, LAST):
        process.add(fmt.Metrics(g, g, {"malloc_in_use_bytes": 1e8 + in_use * g}))

    assert ("native" in kinds(process)) is is_told


@pytest.mark.parametrize(
    ("in_use", "free", "kinds"),
    [
        (rising(20_000, 1e8), rising(4 * MIB), ["fragmentation"]),  # little stays, and pins what is freed around it
        (rising(MIB, 1e8), rising(4 * MIB), ["native"]),  # much stays: that is the leak, and brings the rest
        (1e8, rising(4 * MIB), []),  # nothing stays: it will be used again
        (rising(20_000, 1e8), lambda g: 4 * MIB * min(g, 6), ["native"]),  # it is used again, and somebody maps more
        (rising(20_000, 1e8), 1e6, ["native"]),  # pages that malloc knows nothing of
    ],
)
def test_little_that_stays_pins_freed_memory(in_use: Curve, free: Curve, kinds: list[str]) -> None:
    process = record({
        "malloc_in_use_bytes": in_use, "malloc_free_bytes": free, "anonymous_bytes": rising(4 * MIB, 2e8),
    })  # fmt: skip

    assert [finding.kind for finding in find_leaks(process) if finding.verdict == "leak"] == kinds


def test_what_pins_freed_memory_is_named() -> None:
    items = [("app.Loss", LAST, 20_000 * LAST)]
    place = fmt.Place(["module app", ".losses (list, 19)"], "list", 1, 20_000 * (LAST - 3), 0, items, [])
    process = record({
        "malloc_in_use_bytes": rising(20_000, 1e8), "malloc_free_bytes": rising(4 * MIB),
        "anonymous_bytes": rising(4 * MIB, 2e8),
    })  # fmt: skip
    process.add(fmt.Places(LAST, LAST, 3, place.bytes, [place]))
    (finding,) = find_leaks(process)

    assert (finding.kind, finding.subject, finding.holder[-1]) == ("fragmentation", "Loss", ".losses (list, 19)")
    assert finding.summary.startswith("Freed memory that the allocator keeps between Loss objects that stay leaks")
