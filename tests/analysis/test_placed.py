"""What two looks by place say of the growth of memory."""

from __future__ import annotations

import pytest
from scripted_runs import LAST, MIB, Curve, born, held, record, rising

from phaseprof.analysis.findings import find_leaks
from phaseprof.analysis.naming_places import name_growth
from phaseprof.recording import format as fmt
from phaseprof.records import NODE_BYTES

ROLLOUTS = ["module __main__.trainer (Trainer)", ".rollouts (list)"]
TENSORS, NODES = ("torch.Tensor", 10, 9 * MIB), ("app.Node", 100, 6000)
ARRAYS = ("numpy.ndarray", 20, 2000)
STORAGES = ("torch.storage.UntypedStorage", 10, 9 * MIB)


def place(
    n_bytes: int = 10 * MIB, *, steps: list[str] = ROLLOUTS, graphs: int = 0,
    direct: tuple[tuple[str, int, int], ...] = (("app.Rollout", 10, 10 * MIB),),
    inside: tuple[tuple[str, int, int], ...] = (("numpy.ndarray", 20, 9 * MIB), ("app.Rollout", 10, 480)),
    kind: str = "list",
) -> fmt.Place:  # fmt: skip
    return fmt.Place(steps, kind, 1, n_bytes, graphs, list(direct), list(inside))


def run(*rows: fmt.Place, memory: Curve | None = None) -> list[tuple[str, ...]]:
    """Judge a run in which memory in use rises by a mebibyte a generation, or as said."""
    looks = fmt.Places(0, LAST, LAST - 10, sum(row.bytes for row in rows), list(rows))
    process = record({"malloc_in_use_bytes": rising(MIB, 1e8) if memory is None else memory}, [looks])
    return [(f.kind, f.subject or "", *f.holder) for f in find_leaks(process) if f.verdict == "leak"]


@pytest.mark.parametrize(
    ("given", "kind", "subject"),
    [
        (place(), "objects", "Rollout"),
        (place(direct=(("tuple", 10, 9 * MIB),), inside=(TENSORS, ("tuple", 10, 640))), "tensors", "Tensor"),
        (place(direct=(TENSORS,), inside=(TENSORS,), graphs=10), "autograd graph", "Tensor"),
        (place(direct=(TENSORS,), inside=(TENSORS,), graphs=1), "tensors", "Tensor"),
        (place(direct=(("dict", 10, 5000),), inside=(("dict", 10, 5000), NODES)), "objects", "Node"),
        (place(direct=(), inside=(("list", 0, 5000),)), "container", "list"),
        (place(direct=(("list", 100, 9 * MIB),), inside=(("dict", 400, 8 * MIB), ARRAYS)), "container", "dict"),
        (place(direct=(("dict", 100, 9 * MIB),), inside=(("dict", 100, 8 * MIB), ARRAYS)), "container", "list"),
        (place(direct=(("tuple", 40, 9 * MIB),), inside=(("dict", 40, 8 * MIB), ARRAYS)), "arrays", "ndarray"),
        (place(direct=(), inside=(("numpy.ndarray", 0, 5000),), kind="numpy.ndarray"), "arrays", "ndarray"),
        (place(steps=["unreachable", "(Rollout)"], direct=()), "garbage", "ndarray"),
        (place(steps=["outside Python"], direct=(), inside=(TENSORS,), graphs=2), "autograd graph", "Tensor"),
        (place(steps=["outside Python"], direct=(), inside=(TENSORS,)), "tensors", "Tensor"),
        (place(steps=["outside Python"], direct=(), inside=(STORAGES,), kind=STORAGES[0]), "tensors", "UntypedStorage"),
    ],
)
def test_what_came_is_named_by_what_lies_directly_there_unless_that_only_carries(
    given: fmt.Place, kind: str, subject: str
) -> None:
    assert name_growth(given)[:2] == (kind, subject)


@pytest.mark.parametrize(
    ("direct", "inside", "subject"),
    [
        ("weakref._Info", (("numpy.ndarray", 10, 9 * MIB), ("app.Episode", 10, 480)), "Episode"),
        ("weakref._Info", (("numpy.ndarray", 10, 9 * MIB),), "ndarray"),
        ("weakref._Info", (("weakref._Info", 10, 9 * MIB),), "list"),
        ("app._Info", (("app.Episode", 10, 9 * MIB),), "_Info"),  # private, and the program's own
        ("logging.Logger", (("app.Episode", 10, 9 * MIB),), "Logger"),
    ],
)
def test_what_only_the_standard_library_names_gives_way_to_what_it_carries(
    direct: str, inside: tuple[tuple[str, int, int], ...], subject: str
) -> None:
    assert name_growth(place(direct=((direct, 10, 9 * MIB),), inside=inside))[1] == subject


def test_the_place_names_what_a_counter_shows() -> None:
    assert run(place()) == [("objects", "Rollout", *ROLLOUTS)]


@pytest.mark.parametrize(("n_nodes", "kind"), [(LAST * MIB / NODE_BYTES, "autograd graph"), (200, "native")])
def test_bare_nodes_that_come_to_the_growth_of_memory_are_the_graph_of_the_tensor_that_is_kept(
    n_nodes: float, kind: str
) -> None:
    total = fmt.Place(["module __main__.trainer (Trainer)", ".total_loss (Tensor)"], "torch.Tensor", 1, 0, 1, [], [])
    small = place(1000, direct=(), inside=(("dict", 0, 1000),))
    looks = fmt.Places(0, LAST, LAST - 10, 1000, [small, total])
    nodes = fmt.Metrics(LAST, LAST, {"graph_nodes": n_nodes})
    process = record({"malloc_in_use_bytes": rising(MIB, 1e8)}, [nodes, looks])

    (found,) = find_leaks(process)

    assert found.kind == kind
    assert found.holder == (tuple(total.steps) if kind == "autograd graph" else ())


def test_counters_decide() -> None:
    assert run(place(), memory=1e8) == []


@pytest.mark.parametrize(("came", "is_named"), [(0, False), (200, True)])
def test_a_dict_that_was_only_rehashed_is_no_place_where_memory_grew(came: int, is_named: bool) -> None:
    table = place(direct=(), inside=(("dict", came, 10 * MIB),), kind="dict")

    assert (run(table)[0][1] == "dict") is is_named


def test_places_are_told_of_growth_that_is_felt() -> None:
    """Memory in use rises by 6 KiB a generation, as it does while readings are kept; a table was a part of it."""
    table = place(20_000, direct=(("app.Row", 4, 20_000),))

    assert run(table, memory=rising(6_000, 1e8)) == []


def test_what_no_place_shows_is_native() -> None:
    assert run(place(MIB, direct=())) == [("native", "")]


@pytest.mark.parametrize(
    ("of_all", "of_program", "named"),
    [
        (None, 10 * MIB, [("objects", ROLLOUTS)]),
        (1, 10 * MIB, [("objects", ROLLOUTS)]),
        (10 * MIB, MIB, [("objects", ["module a_library.cache (dict)"])]),
        (10 * MIB, 10 * MIB, [("objects", ["module a_library.cache (dict)"])]),
    ],
    ids=["one look", "the other shows nothing", "the other shows more", "the other shows as much"],
)
def test_of_two_looks_the_one_that_explains_more_is_told(
    of_all: int | None, of_program: int, named: list[tuple[str, list[str]]]
) -> None:
    looks = [fmt.Places(0, LAST, LAST - 10, MIB, [place(of_program)], libraries=False)]
    if of_all is not None:
        cache = place(of_all, steps=["module a_library.cache (dict)"], kind="dict")
        looks.append(fmt.Places(0, LAST, LAST - 10, MIB, [cache]))

    found = find_leaks(record({"malloc_in_use_bytes": rising(MIB, 1e8)}, looks))

    assert [(one.kind, list(one.holder)) for one in found] == named


def test_what_a_look_without_libraries_leaves_is_not_called_native() -> None:
    looks = fmt.Places(0, LAST, LAST - 10, MIB, [place(4 * MIB)], libraries=False)

    told, rest = find_leaks(record({"malloc_in_use_bytes": rising(MIB, 1e8)}, [looks]))

    assert list(told.holder) == ROLLOUTS
    assert "what holds it was not examined" in rest.summary


def test_each_good_part_of_the_growth_is_told() -> None:
    cache = ["module __main__.cache (dict)"]
    second = place(4 * MIB, steps=cache, direct=(("numpy.ndarray", 9, 4 * MIB),), kind="dict")

    assert run(place(6 * MIB), second) == [
        ("objects", "Rollout", *ROLLOUTS), ("arrays", "ndarray", *cache),
    ]  # fmt: skip


def test_a_small_leak_of_pythons_own_is_told_beside_a_large_one() -> None:
    small = place(60 * 600, steps=["module __main__.names (list)"], direct=(("float", 600, 0),), inside=())
    looks = fmt.Places(0, LAST, LAST - 10, MIB, [small])
    process = record({"malloc_in_use_bytes": rising(MIB, 1e8), "python_blocks": rising(60)}, [looks])

    assert [(f.verdict, f.kind, *f.holder) for f in find_leaks(process, least_bytes=None)] == [
        ("leak", "native"), ("growing", "container", "module __main__.names (list)"),
    ]  # fmt: skip


@pytest.mark.parametrize(("what", "each", "is_log"), [("float", 10, True), ("str", 10, True), ("app.Row", 60, False)])
def test_statistics_in_lists_in_a_dict_are_a_log_that_grows_slowly(what: str, each: int, is_log: bool) -> None:
    """``each`` kilobytes a generation, of ten."""
    stats = place(
        10_000 * each, steps=["module __main__.trainer (Trainer)", ".stats (dict, 60)"],
        direct=(("builtins.list", 10, 90_000),), inside=(("builtins.list", 10, 60_000), (what, 300, 30_000)),
    )  # fmt: skip
    looks = fmt.Places(0, LAST, LAST - 10, MIB, [stats, place(10 * MIB)])
    process = record({"malloc_in_use_bytes": rising(MIB, 1e8), "python_blocks": rising(200)}, [looks])

    told = {f.holder[-1]: (f.verdict, "grow slowly" in f.summary) for f in find_leaks(process)}

    assert told[ROLLOUTS[-1]] == ("leak", False)
    assert told[".stats (dict, 60)"] == (("growing", True) if is_log else ("leak", False))


def test_a_single_look_names_where_about_as_much_lies_as_memory_grew_by() -> None:
    model = place(90 * MIB, steps=["module __main__.model (Net)"])
    looks = fmt.Places(0, LAST, LAST, 110 * MIB, [model, place(18 * MIB)])

    (finding,) = find_leaks(record({"malloc_in_use_bytes": rising(MIB, 1e8)}, [looks]))

    assert (finding.verdict, finding.kind, finding.holder) == ("leak", "objects", tuple(ROLLOUTS))
    assert finding.summary.endswith(
        "named from a single look at the end: it holds about as much as memory grew"
    )


@pytest.mark.parametrize(("blocks", "is_named"), [(0, False), (400, True)])
def test_blocks_of_pythons_allocator_may_be_large(blocks: int, is_named: bool) -> None:
    """A block is taken for 48 bytes; what resident memory rose by bounds what a place may hold of it."""
    cache = place(20 * 128 * 1024, steps=["module sys.path_importer_cache (dict, 20)"])
    looks = fmt.Places(0, LAST, LAST, 110 * MIB, [cache])
    counters = {"malloc_in_use_bytes": rising(40_000, 1e8), "anonymous_bytes": rising(128 * 1024, 1e8)}
    process = record(counters | ({"python_blocks": rising(blocks)} if blocks else {}), [looks])

    assert any(found.holder for found in find_leaks(process)) is is_named


@pytest.mark.parametrize(("own", "named"), [(4000, ("objects", "function")), (9 * MIB, None)])
def test_what_c_holds_is_named_by_what_came_directly_if_that_carries_the_rest(
    own: int, named: tuple[str, str] | None
) -> None:
    handlers = place(
        steps=["outside Python", "(dict, 578)"], direct=(("function", 10, 10 * MIB),),
        inside=(("dict", 10, 10 * MIB - own), ("function", 10, own)), kind="dict",
    )  # fmt: skip

    told = [(kind, subject) for kind, subject, *holder in run(handlers) if subject and not holder]

    assert told == ([] if named is None else [named])


def test_an_object_that_grows_in_itself_is_not_said_to_be_many() -> None:
    """A number of arbitrary length, in which a bit stands for each state that was visited."""
    visited = ["train.py main() local visited (Visited)"]
    grown = place(direct=(), inside=(("__main__.Visited", 0, 10 * MIB),), steps=visited, kind="__main__.Visited")
    looks = fmt.Places(0, LAST, LAST - 10, 10 * MIB, [grown])

    (found,) = find_leaks(record({"malloc_in_use_bytes": rising(MIB, 1e8)}, [looks]))

    assert found.summary.startswith("A Visited object leaks")
    assert found.advice == "Bound what visited keeps in attributes of its own, such as numbers or text."


def test_what_came_with_a_profiler_is_ours() -> None:
    """A local variable of a function that ends the run holds it."""
    profiler = ("phaseprof.profiler.Profiler", 1, 10 * MIB)
    ours = place(direct=(profiler,), steps=["train.py finish() local"], kind="frame")

    assert run(ours) == [("native", "")]


BATCHES = ["module __main__.trainer (Trainer)", ".batches (list, 40)"]


@pytest.mark.parametrize(
    ("beside", "named"),
    [
        (place(24 * MIB, steps=["module __main__.world (World)", ".map (ndarray)"], direct=()), ROLLOUTS),
        (place(40 * MIB, steps=BATCHES, direct=(("numpy.ndarray", 39, 40 * MIB),)), ROLLOUTS),
        (place(19 * MIB, steps=BATCHES, direct=(("numpy.ndarray", 39, 19 * MIB),)), BATCHES),
    ],
    ids=["one large array", "further from the growth", "nearer to the growth"],
)  # fmt: skip
def test_of_several_places_seen_once_the_one_with_as_much_as_memory_grew_by_is_named(
    beside: fmt.Place, named: list[str]
) -> None:
    kept = place(17 * MIB, direct=(("app.Rollout", 19, 17 * MIB),))
    looks = fmt.Places(0, LAST, LAST, 90 * MIB, [beside, kept])

    (finding,) = find_leaks(record({"malloc_in_use_bytes": rising(MIB, 1e8)}, [looks]))

    assert finding.holder == tuple(named)


def test_a_full_buffer_seen_once_is_not_named() -> None:
    full = fmt.Place(BATCHES, "list", 1, 19 * MIB, 0, [("numpy.ndarray", 39, 19 * MIB)], [], 40, 40)
    looks = fmt.Places(0, LAST, LAST, 90 * MIB, [full])

    (finding,) = find_leaks(record({"malloc_in_use_bytes": rising(MIB, 1e8)}, [looks]))

    assert (finding.verdict, finding.holder) == ("leak", ())


def test_what_cpp_holds_of_graphs_hangs_from_the_tensor_that_keeps_them() -> None:
    steps = ["outside Python", "(Tensor)"]
    tensors = place(9 * MIB, steps=steps, direct=(), inside=(TENSORS,), graphs=10, kind="torch.Tensor")
    keeper = fmt.Place(["module __main__.agent (Agent)", ".hidden (Tensor)"], "torch.Tensor", 1, 0, 1, [], [])

    assert run(tensors, keeper) == [("autograd graph", "Tensor", *keeper.steps)]


@pytest.mark.parametrize(("n_nodes", "kind"), [(20, "autograd graph"), (2, "tensors")])
def test_storages_that_only_cpp_holds_are_graphs_where_as_many_nodes_came(n_nodes: int, kind: str) -> None:
    """A look that finds no Python object for the tensors that a graph has saved."""
    steps = ["outside Python", "(UntypedStorage)"]
    storages = place(9 * MIB, steps=steps, direct=(), inside=(STORAGES,), kind=STORAGES[0])
    node = ("MulBackward0", n_nodes, 40 * n_nodes)
    nodes = place(40 * n_nodes, steps=["outside Python", "(MulBackward0)"], direct=(), inside=(node,), kind=node[0])
    keeper = fmt.Place(["module __main__.agent (Agent)", ".hidden (Tensor)"], "torch.Tensor", 1, 0, 1, [], [])

    ((found, _, *holder),) = run(storages, nodes, keeper)

    assert (found, holder) == (kind, keeper.steps if kind == "autograd graph" else [])


def test_graphs_are_named_where_the_bytes_are_the_allocators() -> None:
    """What a graph saves lies in C++; tensors with a graph that come are what keeps it."""
    losses = ["module __main__.trainer (Trainer)", ".losses (list)"]
    loss = ("torch.Tensor", 160, 60_000)

    assert run(place(80_000, steps=losses, direct=(loss,), inside=(loss,), graphs=160)) == [
        ("autograd graph", "Tensor", *losses)
    ]


def test_a_full_buffer_is_not_blamed_because_it_is_large() -> None:
    """One look finds arrays for as much as memory grew by; between two looks none came."""
    arrays = held("arrays", ("module __main__.replay (deque, 100)", "[-1] ndarray"), item="ndarray", container="deque")
    process = record(
        {"malloc_in_use_bytes": rising(MIB, 1e8)}, [arrays, fmt.Places(0, LAST, LAST - 10, 0, [])]
    )  # fmt: skip
    process.add(fmt.Metrics(LAST, LAST, {"arrays_bytes": 18.0 * MIB}))

    assert [(f.kind, f.holder) for f in find_leaks(process)] == [("native", ())]


@pytest.mark.parametrize(
    ("metric", "came", "kind", "subject"),
    [
        ("threads", ("concurrent.futures.thread.ThreadPoolExecutor", 10, 9000), "threads", "Thread"),
        ("descriptors", ("h5py.File", 10, 9000), "descriptors", "File"),
        ("descriptors", ("h5py.File", 90, 9000), "descriptors", ""),
        ("descriptors", ("numpy.ndarray", 10, 9000), "descriptors", ""),
    ],
)
def test_a_counter_takes_its_holder_from_where_as_many_objects_came(
    metric: str, came: tuple[str, int, int], kind: str, subject: str
) -> None:
    """Two a generation; a thread that holds itself says nothing, nor do objects that are many more, nor arrays."""
    itself = place(90_000, steps=["threading.py Thread._bootstrap() local"], direct=(("threading.Thread", 20, 9000),))
    rows = [itself, place(20_000, direct=(came,), inside=(came,))]
    process = record({metric: rising(2)}, [fmt.Places(0, LAST, LAST - 10, 110_000, rows)])

    (found,) = find_leaks(process)

    is_named = bool(subject)
    assert (found.kind, found.subject or "", found.holder) == (kind, subject, tuple(ROLLOUTS) if is_named else ())


def test_what_the_profiler_makes_is_not_named() -> None:
    assert run(place(direct=(("phaseprof.native.table.Root", 9, 9 * MIB),))) == [("native", "")]
    assert run(place(direct=(("phaseprof.demo.environment.Env", 9, 9 * MIB),))) == [("objects", "Env", *ROLLOUTS)]


@pytest.mark.parametrize(
    ("bound", "length", "came", "since", "verdict"),
    [
        (100, 32, 10, LAST - 10, "filling"),
        (100, 100, 60, LAST - 10, "plateau"),
        (100, 100, 40, 1, "leak"),  # it took in 60 in the first two generations, so it is full for long
        (-1, 32, 10, LAST - 10, "leak"),
    ],
)
def test_a_bound_that_the_place_shows_makes_it_filling(
    bound: int, length: int, came: int, since: int, verdict: str
) -> None:
    rollouts = place(direct=(("app.Rollout", came, 10 * MIB),))
    rollouts.bound, rollouts.length = bound, length
    process = record({"malloc_in_use_bytes": rising(MIB, 1e8)}, [fmt.Places(0, LAST, since, 10 * MIB, [rollouts])])

    assert {finding.verdict for finding in find_leaks(process)} == {verdict}


@pytest.mark.parametrize(("left", "verdict"), [(1000 * MIB, "filling"), (100 * MIB, "leak")])
def test_a_container_that_memory_does_not_last_to_fill_leaks(left: float, verdict: str) -> None:
    """A tenth of its items have taken some 20 MiB: nine times as much is to come."""
    rollouts = place(direct=(("app.Rollout", 10, 10 * MIB),))
    rollouts.bound, rollouts.length = 1000, 100
    looks = fmt.Places(0, LAST, LAST - 10, 10 * MIB, [rollouts])
    process = record({"malloc_in_use_bytes": rising(MIB, 1e8), "available_bytes": left}, [looks])

    (finding,) = find_leaks(process)

    assert finding.verdict == verdict


def test_a_watched_class_is_told_beside_a_larger_leak() -> None:
    key = "watched/Env"
    envs = held(key, ["module __main__.pool (list, 20)", "[-1] Env"], item="app.Env")
    looks = fmt.Places(0, LAST, LAST - 10, 10 * MIB, [place()])
    counters = {"malloc_in_use_bytes": rising(MIB, 1e8), key: rising(1)}
    process = record(counters, [fmt.Watch("Env"), envs, born(key, 2, step=2.0), looks])

    assert {finding.subject for finding in find_leaks(process)} == {"Env", "Rollout"}


@pytest.mark.parametrize(("n_graphs", "kind"), [(LAST, "autograd graph"), (LAST - 1, "native")])
def test_a_single_look_names_graphs_where_as_many_are_kept_as_generations_passed(n_graphs: int, kind: str) -> None:
    losses = fmt.Place([*ROLLOUTS, "[...] (Tensor)"], "torch.Tensor", n_graphs, 0, n_graphs, [], [])
    process = record({"malloc_in_use_bytes": rising(MIB, 1e8)}, [fmt.Places(0, LAST, LAST, 110 * MIB, [losses])])

    assert [finding.kind for finding in find_leaks(process)] == [kind]


@pytest.mark.parametrize("steps", [["unreachable", "(Rollout)"], ["outside Python", "(Rollout)"]])
def test_a_single_look_names_nothing_that_waits_or_that_only_c_holds(steps: list[str]) -> None:
    looks = fmt.Places(0, LAST, LAST, 110 * MIB, [place(18 * MIB, steps=steps, inside=(("app.Rollout", 10, 480),))])
    process = record({"malloc_in_use_bytes": rising(MIB, 1e8)}, [looks])

    assert [finding.kind for finding in find_leaks(process)] == ["native"]


def test_a_dict_of_text_is_named_where_blocks_of_pythons_own_come_with_its_table() -> None:
    """Texts and numbers are part of what holds them; a table that is only larger moves no block."""
    table = place(10 * MIB, direct=(), inside=(("dict", 0, 10 * MIB),), kind="dict")
    process = record({"python_blocks": rising(5000, 6e5)}, [fmt.Places(0, LAST, LAST - 10, 10 * MIB, [table])])

    assert [(f.kind, f.subject, f.holder) for f in find_leaks(process)] == [("container", "dict", tuple(ROLLOUTS))]


def test_context_variables_hold_what_lies_in_the_running_context() -> None:
    steps = ["outside Python", "(Context)", "(hamt)", "(hamt_bitmap_node)", "(Span)"]
    ((kind, subject, *holder),) = run(place(steps=steps, direct=(("app.Span", 10, 9 * MIB),)))

    assert (kind, subject, holder) == ("objects", "Span", ["contextvars (Context)", "(Span)"])


def test_tensors_that_are_as_many_as_open_files_hold_them() -> None:
    tensors = [("torch.Tensor", 40, 4 * MIB)]
    row = fmt.Place(ROLLOUTS, "list", 1, 4 * MIB, 0, [("list", 10, 4 * MIB)], tensors)
    look = fmt.Places(0, LAST, LAST - 10, 4 * MIB, [row])
    process = record({"descriptors": lambda g: 9 + 4 * g}, [look])
    (finding,) = find_leaks(process)

    assert (finding.kind, finding.subject, finding.holder) == ("descriptors", "Tensor", tuple(ROLLOUTS))


@pytest.mark.parametrize(("n", "is_told"), [(1, False), (10, True)])
def test_what_a_module_is_given_under_one_new_name_is_no_rise(n: int, is_told: bool) -> None:
    """A script makes a large array after its loop; one that names a new array in each generation leaks."""
    arrays = (("numpy.ndarray", n, 10 * MIB),)
    names = place(steps=["module app"], kind="module", direct=arrays, inside=arrays)

    assert (("arrays", "ndarray", "module app") in run(names)) is is_told


@pytest.mark.parametrize(("n_alike", "verdict"), [(40, "plateau"), (100, "leak")])
def test_a_full_buffer_that_grew_by_what_came_is_no_leak(n_alike: int, verdict: str) -> None:
    """A look at all of the heap says what an item takes: where the new ones take no more, the old ones did not grow."""
    grown = (LAST - 1) * MIB
    buffer = place(grown, direct=(("app.Rollout", 40, grown),))
    buffer.bound = buffer.length = 100
    lies = fmt.Place(ROLLOUTS, "list", 1, 100 * grown // n_alike, 0, [], [], 100, 100)
    looks = [fmt.Places(0, LAST, LAST, 100 * MIB, [lies]), fmt.Places(0, LAST, 1, grown, [buffer], libraries=False)]

    found = find_leaks(record({"malloc_in_use_bytes": rising(MIB, 1e8)}, looks))

    assert {finding.verdict for finding in found} == {verdict}


@pytest.mark.parametrize(("each", "n_findings"), [(MIB, 1), (MIB // 4, 2)])
def test_the_memory_of_watched_objects_is_told_once_with_them(each: int, n_findings: int) -> None:
    key, pool = "watched/Env", "module __main__.pool (list, 20)"
    envs = held(key, [pool, "[3] (list, 4)", "[-1] Env"], item="app.Env", each=each)
    tensors = place(10 * MIB, steps=[pool], direct=(("list", 10, 10 * MIB),), inside=(TENSORS,))
    looks = fmt.Places(0, LAST, LAST - 10, 10 * MIB, [tensors])
    counters = {"malloc_in_use_bytes": rising(MIB, 1e8), key: rising(1)}

    found = find_leaks(record(counters, [fmt.Watch("Env"), envs, born(key, 2, step=2.0), looks]))

    assert len(found) == n_findings
    assert "Env" in {finding.subject for finding in found}


def test_what_has_levelled_off_is_not_told_beside_a_leak() -> None:
    full = place(5 * MIB, steps=["module __main__.replay (list, 100)"], direct=(("numpy.ndarray", 60, 5 * MIB),))
    full.bound = full.length = 100
    looks = fmt.Places(0, LAST, LAST - 10, 10 * MIB, [place(5 * MIB), full])

    found = find_leaks(record({"malloc_in_use_bytes": rising(MIB, 1e8)}, [looks]))

    assert [(finding.verdict, *finding.holder) for finding in found] == [("leak", *ROLLOUTS)]


def test_tensors_that_are_made_once_are_no_part_of_what_pythons_own_allocator_leaks() -> None:
    """Malloc leaks a mebibyte a generation and Python's allocator 9.6 KB; the optimizer's state came to 100 KB once."""
    state = place(
        100_000, steps=["module app.optimizer (Adam)", ".state (dict, 6)"], direct=(("dict", 6, 100_000),),
        inside=(("torch.Tensor", 18, 99_000), ("dict", 6, 1000)), kind="dict",
    )  # fmt: skip
    looks = fmt.Places(0, LAST, LAST - 10, 11 * MIB, [place(), state])
    process = record({"malloc_in_use_bytes": rising(MIB, 1e8), "python_blocks": rising(200)}, [looks])

    assert [f.holder for f in find_leaks(process) if f.verdict == "leak"] == [tuple(ROLLOUTS)]


@pytest.mark.parametrize(("there", "is_told"), [(MIB, False), (20 * MIB, True)])
def test_a_place_grows_by_no_more_than_lies_there_at_the_end(there: int, is_told: bool) -> None:
    """It gained five mebibytes between two looks early on; what it holds at the end was seen once."""
    early = fmt.Places(0, 6, 1, 5 * MIB, [place(5 * MIB)], libraries=False)
    end = fmt.Places(0, LAST, LAST, 400 * MIB, [place(there, steps=[ROLLOUTS[0], ".rollouts (list, 40)"])])

    found = find_leaks(record({"malloc_in_use_bytes": rising(MIB, 1e8)}, [early, end]))

    assert any(f.holder == tuple(ROLLOUTS) for f in found if f.verdict == "leak") is is_told


def test_where_resident_memory_speaks_for_memory_in_use_that_says_how_much_and_where() -> None:
    """Resident memory rises half as fast again, and malloc, which was asked seldom, by what the place brought."""
    process = record({"anonymous_bytes": rising(1.5 * MIB, 1e9)}, [born("malloc_in_use_bytes", 1, logging=MIB)])
    for g in (0, 5, 12, LAST):
        process.add(fmt.Metrics(g, g, {"malloc_in_use_bytes": 1e8 + MIB * g}))
    process.add(fmt.Places(0, LAST, LAST - 10, 10 * MIB, [place()]))

    (found,) = find_leaks(process)

    assert (found.subject, found.phase, found.bytes_slope) == ("Rollout", "logging", MIB)


@pytest.mark.parametrize(("n", "kinds"), [(20, ["garbage"]), (40, ["tensors", "garbage"])])
def test_storages_that_only_c_holds_are_those_of_dead_cycles_with_as_many_tensors(n: int, kinds: list[str]) -> None:
    storages = ("torch.storage.UntypedStorage", n, 6 * MIB)
    stray = place(6 * MIB, steps=["outside Python"], direct=(), inside=(storages,), kind=storages[0])
    rings = place(
        4 * MIB, steps=["unreachable", "(Model)"], direct=(), kind="app.Model",
        inside=(("torch.nn.parameter.Parameter", 20, 3 * MIB), ("dict", 5, MIB)),
    )  # fmt: skip

    looks = fmt.Places(0, LAST, LAST - 10, 10 * MIB, [stray, rings])
    process = record({"malloc_in_use_bytes": rising(MIB, 1e8), "after_full_collection": 0.0}, [looks])

    assert [f.kind for f in find_leaks(process) if f.verdict == "leak"] == kinds


@pytest.mark.parametrize(("brought", "is_told"), [(9 * MIB, False), (MIB, True)])
def test_what_rose_with_a_sawtooth_cycle_has_not_brought_the_rise_of_its_floor(brought: int, is_told: bool) -> None:
    """The floor rises by 100 KB a generation beneath cycles of 5 MiB; two looks stand at different heights of one."""
    row = place(brought, direct=(("app.Rollout", 10, brought),), inside=())
    told = run(row, memory=lambda g: 1e8 + MIB * (g % 6) + 100_000 * g)

    assert (("objects", "Rollout", *ROLLOUTS) in told) is is_told


@pytest.mark.parametrize(("filled_by", "is_told"), [(LAST - 7, False), (0, True)])
def test_what_filled_up_between_two_looks_is_not_told_beside_the_leak(filled_by: int, is_told: bool) -> None:
    """A window took three arrays of a mebibyte; where memory rose by no more than it leaks, they came all along."""
    window = place(
        3 * MIB, steps=["module __main__.window (list)"], direct=(("numpy.ndarray", 3, 3 * MIB),),
        inside=(("numpy.ndarray", 3, 3 * MIB),),
    )  # fmt: skip

    told = run(place(), window, memory=lambda g: 1e8 + MIB * g + MIB * min(g, filled_by))

    assert ("objects", "Rollout", *ROLLOUTS) in told
    assert (("arrays", "ndarray", *window.steps) in told) is is_told
