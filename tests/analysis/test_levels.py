"""What one look at the end of a run names, and what it must not name."""

from __future__ import annotations

import pytest
from scripted_runs import LAST, MIB, Curve, born, held, record, rising, seldom

from phaseprof.analysis.findings import find_leaks
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding

MEMO = ("train.py main() local memo (dict, 640)", "[...] ndarray")
WORDS = ("module words", ".ids (dict, 40,000)")
GROWN = LAST * MIB


def look(
    *,
    arrays: float = GROWN,
    holder: fmt.Holder | None = None,
    metric: str = "arrays_bytes",
    before: fmt.Metrics | None = None,
) -> ProcessRun:
    """Memory in use that grows by 1 MiB a generation, and one reading of ``metric`` at the end."""
    in_use: dict[str, Curve] = {"malloc_in_use_bytes": rising(MIB, 1e8)}
    at_end = fmt.Metrics(0, LAST, {metric: arrays})
    extra = [before, at_end, born("malloc_in_use_bytes", 1, load=float(MIB)), holder]
    return record(in_use, [one for one in extra if one is not None])


def of_arrays(*, bound: int = -1, length: int = -1, root: str = "module global", explains: int = 6) -> fmt.Holder:
    told = held("arrays", MEMO, item="ndarray", bound=bound, bound_length=length, root=root)
    told.explains = explains
    return told


def only(process: ProcessRun) -> Finding:
    (finding,) = find_leaks(process)
    return finding


def test_arrays_that_come_to_the_growth_are_named() -> None:
    finding = only(look(holder=of_arrays()))

    assert (finding.verdict, finding.kind, finding.subject, finding.phase) == ("leak", "arrays", "ndarray", "load")
    assert finding.holder == MEMO
    assert finding.slope == pytest.approx(MIB)
    assert finding.summary.endswith("; named from a single look at the end: memo holds about as much as memory grew")
    assert finding.advice.startswith("Clear or bound memo")


def test_storages_are_named_as_arrays_are() -> None:
    told = held("storages", ("trainer (Trainer)", ".kept (list, 90)", "[-1] Tensor"), item="Tensor")

    finding = only(look(holder=told, metric="storages/cpu_bytes"))

    assert (finding.kind, finding.subject) == ("tensors", "Tensor")


@pytest.mark.parametrize(("name", "kind"), [("array", "arrays"), ("bytearray", "objects"), ("BytesIO", "objects")])
def test_buffers_are_named_as_arrays_are(name: str, kind: str) -> None:
    told = held(f"untracked/{name}", ("table (Table)", ".history (dict, 40)", f"[...] {name}"), item=name)

    finding = only(look(holder=told, metric=f"untracked/{name}_bytes"))

    assert (finding.kind, finding.subject, finding.holder) == (kind, name, tuple(told.steps))


def test_tensors_that_a_kept_graph_has_saved_are_the_graphs() -> None:
    steps = ("trainer (Trainer)", ".losses (list, 90)", "[-1] (Tensor)", "autograd graph Parameter")

    finding = only(look(holder=held("storages", steps, item="Tensor"), metric="storages/cpu_bytes"))

    assert (finding.kind, finding.holder) == ("autograd graph", steps)


def test_a_buffer_of_small_arrays_is_not_blamed_for_large_ones_that_lie_elsewhere() -> None:
    """All arrays together are as large as the growth; those in the buffer come to a tenth of it."""
    steps = ("trainer (Trainer)", ".buffer (ReplayBuffer)", ".data (list, 100)", "[...] ndarray")
    small = held("arrays", steps, item="ndarray", length=100, each=round(GROWN / 1000))
    large = held("arrays", steps, item="ndarray", length=100, each=round(GROWN / 100))

    assert only(look(holder=small)).kind == "native"
    assert only(look(holder=large)).kind == "arrays"


def test_graphs_are_named_by_their_nodes() -> None:
    told = held("graph", ("trainer (Trainer)", ".losses (list, 90)", "[-1] Tensor"), item="Tensor")

    finding = only(look(arrays=GROWN / 700, holder=told, metric="graph_nodes"))

    assert (finding.kind, finding.subject) == ("autograd graph", "Tensor")
    assert only(look(arrays=GROWN / 7000, holder=told, metric="graph_nodes")).kind == "native"


def of_episodes(count: float, each: int, name: str = "app.Episode", slope: float = MIB) -> Finding:
    """Memory in use that grows by 1 MiB a generation, and one look at how many of a type there are."""
    told = held(f"count/{name}", ("trainer (Trainer)", ".done (list, 40)", "[-1] Episode"), item=name, each=each)
    return only(seldom(f"count/{name}", {LAST: count}, "malloc_in_use_bytes", slope, told))


@pytest.mark.parametrize(
    ("count", "each_kib", "is_named"),
    [(40, 512, True), (40, 160, False), (40, 2048, False), (5, 4096, True), (4, 4096, False)],
)
def test_objects_are_named_if_all_keep_about_what_was_added(count: float, each_kib: int, is_named: bool) -> None:
    """A type with fewer objects than one for four generations was made at the start."""
    finding = of_episodes(count, each_kib * 1024)

    assert (finding.kind, finding.subject) == (("objects", "Episode") if is_named else ("native", None))


def test_plumbing_is_not_named_by_a_look() -> None:
    assert of_episodes(40, 512 * 1024, "builtins.function").kind == "native"


@pytest.mark.parametrize(
    ("share", "is_named"), [(0.3, False), (0.45, True), (2.0, True), (2.6, False)]
)
def test_a_level_must_be_about_what_was_added(share: float, is_named: bool) -> None:
    """Much less cannot be it, and of much more most was there before."""
    finding = only(look(arrays=share * GROWN, holder=of_arrays()))

    assert finding.kind == ("arrays" if is_named else "native")


@pytest.mark.parametrize(("explains", "is_named"), [(2, False), (3, True)])
def test_the_holder_must_hold_most_of_them(explains: int, is_named: bool) -> None:
    """Of six that were asked; what it explains of the level is what counts."""
    finding = only(look(arrays=1.5 * GROWN, holder=of_arrays(explains=explains)))

    assert finding.kind == ("arrays" if is_named else "native")


def test_what_nobody_holds_is_not_named() -> None:
    assert only(look(holder=of_arrays(root="outside Python"))).kind == "native"
    assert only(look()).kind == "native"


def test_two_looks_are_judged_by_their_growth() -> None:
    before = fmt.Metrics(0, LAST - 1, {"arrays_bytes": GROWN})

    assert only(look(holder=of_arrays(), before=before)).kind == "native"


def test_a_buffer_with_room_left_is_filling() -> None:
    finding = only(look(holder=of_arrays(bound=1000, length=640)))

    assert (finding.verdict, finding.eta_s) == ("filling", None)


@pytest.mark.parametrize(("share", "kind"), [(0.6, "native"), (0.9, "arrays"), (1.2, "arrays"), (1.8, "native")])
def test_in_a_buffer_that_is_full_nearly_all_of_it_must_have_been_added(share: float, kind: str) -> None:
    """Its items have grown, then; else it was full before, and something else grows."""
    assert only(look(arrays=share * GROWN, holder=of_arrays(bound=640, length=640))).kind == kind


@pytest.mark.parametrize("name", ["app.Process", "app.Thread", "app.Buffer"])
def test_a_type_of_the_programs_own_is_an_object_whatever_it_is_called(name: str) -> None:
    assert of_episodes(40, 512 * 1024, name).kind == "objects"


def test_of_several_types_the_heaviest_is_named() -> None:
    kept = {"app.Step": 300_000, "app.Episode": 500_000, "app.Game": 400_000}
    told = [held(f"count/{name}", item=name, each=each) for name, each in kept.items()]
    process = seldom("count/app.Step", {LAST: 40}, "malloc_in_use_bytes", MIB, *told)
    process.add(fmt.Metrics(0, LAST, {"count/app.Episode": 40.0, "count/app.Game": 40.0}))

    assert only(process).subject == "Episode"


def test_of_several_types_that_come_with_threads_the_nearest_to_its_root_is_named() -> None:
    names = {"threading.Thread": ("pool (Pool)", ".all (list, 19)", ".by_name (dict, 19)", "[-1] Thread"),
             "concurrent.futures.thread.ThreadPoolExecutor": ("pools (list, 19)", "[-1] ThreadPoolExecutor")}
    told = [held(f"count/{name}", steps, item=name) for name, steps in names.items()]
    process = seldom("count/threading.Thread", {LAST: LAST}, "threads", 1, *told)
    process.add(fmt.Metrics(0, LAST, {"count/concurrent.futures.thread.ThreadPoolExecutor": float(LAST)}))

    assert only(process).subject == "ThreadPoolExecutor"


# --- blocks of Python's allocator -------------------------------------------------------------------------------------


def blocks(slope: float, *holders: fmt.Holder) -> tuple[Finding, ...]:
    told = born("python_blocks", 1, tokenize=slope)
    return find_leaks(record({"python_blocks": rising(slope, 600_000)}, [told, *holders]))


def of_words(length: int, key: str = "container/dict@7f") -> fmt.Holder:
    return held(key, WORDS, item="dict", container="builtins.dict", length=length)


def test_small_objects_that_nothing_explains_are_told() -> None:
    (finding,) = blocks(5000.0)

    assert (finding.verdict, finding.kind, finding.subject, finding.phase) == ("leak", "objects", None, "tokenize")
    assert finding.summary.startswith("Memory grows in tokenize: ")
    assert finding.advice.startswith("There was no room in the budget to look at what Python holds")


@pytest.mark.parametrize(("slope", "is_told"), [(1094.0, False), (1095.0, True)])
def test_a_few_blocks_are_nobodys(slope: float, is_told: bool) -> None:
    """A mebibyte in twenty generations is told, at 48 bytes a block; two of them are the readings of this recording."""
    assert bool(blocks(slope)) is is_told


def test_a_container_of_as_many_items_is_named() -> None:
    (finding,) = blocks(4000.0, of_words(40_000))

    assert (finding.kind, finding.subject, finding.holder) == ("container", "dict", WORDS)
    assert finding.summary.startswith(
        "A dict filled in tokenize leaks: +3,998 blocks of Python's allocator (about 187.41 KiB) a generation"
    )


def test_of_several_the_longest_is_named() -> None:
    steps = ("module other", ".names (list, 31,000)")
    other = held("container/list@8f", steps, container="builtins.list", length=31_000)

    (finding,) = blocks(4000.0, of_words(40_000), other)

    assert finding.subject == "dict"


@pytest.mark.parametrize("length", [20_000, 195_000])
def test_a_container_of_another_size_is_not(length: int) -> None:
    (finding,) = blocks(4000.0, of_words(length))

    assert (finding.kind, finding.holder) == ("objects", ())


def test_a_container_that_was_followed_is_judged_by_its_length() -> None:
    key = "container/dict@7f"
    metrics: dict[str, Curve] = {"python_blocks": rising(4000, 600_000), key: 40_000.0}

    assert only(record(metrics, [of_words(40_000)])).kind == "objects"


def test_the_newest_length_counts() -> None:
    (finding,) = blocks(4000.0, of_words(40_000), of_words(5))

    assert finding.kind == "objects"


def test_a_buffer_that_fills_accounts_for_its_blocks() -> None:
    key = "count/user.Step"
    holder = held(key, ("replay (Replay)", ".steps (deque, 400)", "[-1] Step"), bound=900, bound_length=400)
    metrics: dict[str, Curve] = {"python_blocks": rising(4000, 600_000), key: rising(20)}

    assert [f.verdict for f in find_leaks(record(metrics, [holder]))] == ["filling"]


@pytest.mark.parametrize(
    ("n_phases", "extra", "is_told"), [(2000, 0.0, False), (2000, 2000.0, True), (2, 2000.0, True)]
)
def test_what_the_recording_itself_keeps_is_nobodys(n_phases: int, extra: float, is_told: bool) -> None:
    """A reading of each phase in each generation is a block of Python's allocator."""
    metrics: dict[str, Curve] = {f"peak/phase {n}_bytes": 5.0 for n in range(n_phases)}
    metrics["python_blocks"] = rising(extra + n_phases + 2)

    assert bool(find_leaks(record(metrics))) is is_told


def test_whichever_counter_has_a_place_is_told() -> None:
    metrics: dict[str, Curve] = {"python_blocks": rising(4000, 600_000), "malloc_in_use_bytes": rising(MIB, 1e8)}

    finding = only(record(metrics, [of_words(40_000)]))

    assert (finding.metric, finding.kind) == ("python_blocks", "container")


# --- children, threads and the like -----------------------------------------------------------------------------------


def started(*, there: float = LAST, type_name: str = "threading.Thread", censuses: int = 1) -> Finding:
    """Threads that grow by one a generation, sixteen after the warm-up, and what censuses at the end counted."""
    pool = held(f"count/{type_name}", ("loader (Loader)", ".workers (list, 19)", f"[-1] {type_name}"), item=type_name)
    counted = {LAST - n: there for n in reversed(range(censuses))}
    return only(seldom(f"count/{type_name}", counted, "threads", 1, born("threads", 1, load=1), pool))


def test_threads_are_named_by_the_objects_of_which_about_as_many_are_there() -> None:
    finding = started()

    assert (finding.kind, finding.subject, finding.phase) == ("threads", "Thread", "load")
    assert finding.holder == ("loader (Loader)", ".workers (list, 19)", "[-1] threading.Thread")
    assert finding.summary.endswith("; named from a single look at the end: about as many are there")


@pytest.mark.parametrize(("there", "is_named"), [(12, False), (13, True), (25, True), (26, False)])
def test_there_must_be_about_one_for_each(there: float, is_named: bool) -> None:
    assert bool(started(there=there).holder) is is_named


def test_other_types_do_not_come_with_threads() -> None:
    assert started(type_name="app.Episode").holder == ()


def test_what_was_counted_twice_is_judged_by_its_growth() -> None:
    assert started(censuses=2).holder == ()
