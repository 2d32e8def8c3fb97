"""Holder paths: one test for each kind of holder, each in a program of a few lines."""

import asyncio
import collections
import contextvars
import functools
import gc
import subprocess
import sys
import threading
import types
import weakref

import pytest

from phaseprof.errors import UsageError
from phaseprof.native import looking
from phaseprof.probes.holders import HolderPath, common_path, find_holder_choices, find_holders
from phaseprof.probes.holding import search


class Item:
    pass


class Slotted:
    __slots__ = ("kept", "other")


class Stats:
    def __init__(self):
        self.losses = []


class Trainer:
    def __init__(self):
        self.stats = Stats()


@pytest.fixture
def home(monkeypatch):
    """A namespace that only the global ``HOME`` of a module holds."""
    # Modules of the tests are frozen, which the search in Python cannot see through.
    module = types.ModuleType("trainer_module")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    module.HOME = types.SimpleNamespace()
    return module.HOME


def text_of(reference, **options):
    """The best path of one object that the caller does not hold."""
    return str(path_of(reference, **options))


def path_of(reference, **options):
    return find_holders([reference()], **options)[0]


def put(owner, name, obj):
    """Set an attribute and return a weak reference, so that no test holds what it asks about."""
    setattr(owner, name, obj)
    return weakref.ref(obj)


class TestOrdinaryHolders:
    def test_instance_attributes_and_lists_from_a_local(self):
        trainer = Trainer()
        trainer.stats.losses += [Item() for _ in range(30)]

        path = path_of(lambda: trainer.stats.losses[-1])

        assert " ".join(path.steps).endswith("local trainer (Trainer) .stats (Stats) .losses (list, 30) [-1] Item")
        assert path.root == "local of a running function"

    def test_module_global(self, home):
        reference = put(home, "item", Item())

        assert text_of(reference) == "module trainer_module.HOME (SimpleNamespace) .item Item"

    @pytest.mark.usefixtures("home")
    def test_class_attribute(self):
        shared = sys.modules["trainer_module"].Shared = type("Shared", (), {"__module__": "trainer_module"})
        reference = put(shared, "item", Item())

        path = path_of(reference)

        assert (str(path), path.root) == ("Shared.item Item", "class attribute")

    @pytest.mark.skipif(not looking.is_available(), reason="a search in Python does not see what is frozen")
    def test_what_is_frozen_holds_too(self):
        code = (
            "import gc\n"
            "from phaseprof.probes.holders import find_holders\n"
            "class Trainer:\n"
            "    def __init__(self):\n"
            "        self.losses = []\n"
            "class Loss:\n"
            "    pass\n"
            "trainer = Trainer()\n"
            "gc.freeze()\n"
            "trainer.losses.append(Loss())\n"
            "print(gc.get_freeze_count() > 1000, find_holders([trainer.losses[0]])[0])\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

        assert done.stdout.strip() == "True module __main__.trainer (Trainer) .losses (list, 1) [-1] Loss"

    def test_slot(self, home):
        home.box = Slotted()
        reference = put(home.box, "kept", Item())

        assert text_of(reference).endswith(".box (Slotted) .kept Item")

    def test_slot_of_a_base_class(self, home):
        home.box = type("Derived", (Slotted,), {"__slots__": ("more",)})()
        reference = put(home.box, "kept", Item())

        assert text_of(reference).endswith(".box (Derived) .kept Item")

    @pytest.mark.parametrize(
        ("key", "shown"),
        [("loss", "['loss']"), (7, "[key]"), ((3, "x"), "[key]"), (None, "[key]"), (Item, "[key]"), ("a b", "[key]")],
    )
    def test_dict_value_under_its_key(self, home, key, shown):
        home.table = {key: Item()}

        assert text_of(lambda: home.table[key]).endswith(f".table (dict, 1) {shown} Item")

    def test_long_key_is_left_out(self, home):
        home.table = {"long_" * 9: Item()}

        assert text_of(lambda: home.table["long_" * 9]).endswith(".table (dict, 1) [key] Item")

    def test_dict_key(self, home):
        home.table = {Item(): 1}

        assert text_of(lambda: next(iter(home.table))).endswith(".table (dict, 1) key Item")

    def test_set_member(self, home):
        home.seen = {Item()}

        assert text_of(lambda: next(iter(home.seen))).endswith(".seen (set, 1) member Item")

    @pytest.mark.parametrize(("index", "shown"), [(0, "[0]"), (1, "[1]"), (8, "[-2]"), (9, "[-1]")])
    def test_position_is_counted_from_the_nearer_end(self, home, index, shown):
        home.items = collections.deque(Item() for _ in range(10))

        assert text_of(lambda: home.items[index]).endswith(f"(deque, 10) {shown} Item")

    def test_attribute_of_a_dict_subclass(self, home):
        home.table = type("Table", (dict,), {})(a=1)
        reference = put(home.table, "extra", Item())

        assert text_of(reference).endswith(".table (Table, 1) .extra Item")

    def test_ordered_dict(self, home):
        home.hooks = collections.OrderedDict({3: Item()})

        assert text_of(lambda: home.hooks[3]).endswith(".hooks (OrderedDict, 1) [key] Item")

    def test_class_made_at_run_time(self, home):
        home.classes = {"a": type("Config", (), {})}

        assert text_of(lambda: home.classes["a"]).endswith("(dict, 1) ['a'] class Config")

    def test_attribute_of_a_class_made_at_run_time(self, home):
        home.classes = [type("Config", (), {"item": Item()})]

        assert text_of(lambda: home.classes[0].item).endswith("(class Config) .item Item")

    def test_weak_dict_value_is_told_by_its_strong_holder(self, home):
        home.weak = weakref.WeakValueDictionary()
        home.strong = [Item()]
        home.weak["a"] = home.strong[0]

        assert text_of(lambda: home.weak["a"]).endswith(".strong (list, 1) [-1] Item")


class TestFunctions:
    def test_closure_variable(self, home):
        def make():
            memo = {}

            def load(key):
                return memo.setdefault(key, Item())

            return load

        home.load = make()

        text = text_of(lambda: home.load("a"))

        assert text.endswith("make.<locals>.load) closure variable memo (dict, 1) ['a'] Item")

    def test_default_argument(self, home):
        def append(item, into=[Item()]):  # noqa: B006, B008 - the mistake under study
            return into

        home.append = append
        del append

        assert text_of(lambda: home.append.__defaults__[0][0]).endswith("default argument into (list, 1) [-1] Item")

    def test_keyword_only_default(self, home):
        def record(*, into=Item()):  # noqa: B008 - the mistake under study
            return into

        home.record = record
        del record

        assert text_of(lambda: home.record()).endswith("default argument into Item")

    def test_function_attribute(self, home):
        def step():
            return None

        step.cache = Item()
        home.step = step
        del step

        assert text_of(lambda: home.step.cache).endswith(".cache Item")

    def test_bound_method(self, home):
        class Recorder:
            def record(self):
                return None

        home.callbacks = [Recorder().record]

        assert text_of(lambda: home.callbacks[0].__self__).endswith("Recorder.record) .__self__ Recorder")

    def test_partial_arguments(self, home):
        home.call = functools.partial(print, Item(), end=Item())

        assert text_of(lambda: home.call.args[0]).endswith("(partial of print) argument 0 Item")
        assert text_of(lambda: home.call.keywords["end"]).endswith("(partial of print) argument end Item")

    @pytest.mark.usefixtures("home")
    @pytest.mark.parametrize("maxsize", [None, 8])
    def test_method_in_an_lru_cache(self, maxsize):
        class Policy:
            def act(self, market):
                return None

        Policy.act = functools.lru_cache(maxsize=maxsize)(Policy.act)
        sys.modules["trainer_module"].CachedPolicy = Policy
        Policy.__qualname__ = Policy.__name__ = "CachedPolicy"
        Policy.__module__ = "trainer_module"
        for _ in range(3):
            Policy().act(1)
        found = find_holders([obj for obj in gc.get_objects() if type(obj) is Policy][:1])[0]

        assert str(found) == "CachedPolicy.act (lru_cache, 3 entries) key (tuple, 2) [0] CachedPolicy"
        assert (found.bound, found.bound_length) == ((8, 3) if maxsize else (None, None))

    def test_result_in_an_lru_cache(self, home):
        home.make = functools.lru_cache(maxsize=None)(lambda key: Item())

        assert text_of(lambda: home.make(1)).endswith("(lru_cache, 1 entries) result Item")


class TestSuspended:
    def test_local_of_a_generator(self, home):
        def rollout():
            batch = Item()
            yield weakref.ref(batch)

        home.rollout = rollout()
        reference = next(home.rollout)

        assert text_of(reference).endswith("rollout) local batch Item")

    def test_local_of_a_coroutine(self, home):
        async def wait(future):
            batch = Item()
            future.append(weakref.ref(batch))
            await asyncio.sleep(0)

        made = []
        home.waiting = wait(made)
        home.waiting.send(None)
        text = text_of(made[0])
        home.waiting.close()

        assert text.endswith("wait) local batch Item")

    def test_task_that_the_user_keeps(self, home):
        async def client(made):
            batch = Item()
            made.append(weakref.ref(batch))
            await asyncio.Event().wait()

        async def main():
            made = []
            home.tasks = [asyncio.ensure_future(client(made)) for _ in range(3)]
            await asyncio.sleep(0)
            text = text_of(made[-1])
            for task in home.tasks:
                task.cancel()
            return text

        text = asyncio.run(main())

        assert ".tasks (list, 3) [-1] (Task " in text
        assert text.endswith("local batch Item")

    def test_generator_that_only_a_loop_holds(self):
        found = []

        def rollout():
            batch = Item()
            yield weakref.ref(batch)

        for reference in rollout():
            found.append(path_of(reference))  # the loop is what holds the generator

        assert found[0].root == "generator"
        assert "local batch" in str(found[0])

    def test_exception_keeps_the_locals_of_its_frames(self, home):
        def fail():
            batch = Item()
            raise ValueError(weakref.ref(batch))

        home.errors = []
        for _ in range(3):
            try:
                fail()
            except ValueError as error:
                home.errors.append(error)
        text = text_of(home.errors[-1].args[0])

        assert ".errors (list, 3) [-1] (ValueError) .__traceback__ (traceback) .tb_frame" in text
        assert text.endswith("local batch Item")


    def test_functions_that_ended_the_program_are_told_as_running(self, monkeypatch):
        def fail():
            batch = Item()
            raise ValueError(weakref.ref(batch))

        try:
            fail()
        except ValueError as error:
            monkeypatch.setattr(sys, "last_value", error, raising=False)
            monkeypatch.setattr(sys, "last_traceback", error.__traceback__, raising=False)
        path = path_of(sys.last_value.args[0])

        assert path.root == "local of a running function"
        assert str(path).startswith("test_holders.py ") and str(path).endswith("fail() local batch Item")


class TestRunningFunctionsAndThreads:
    def test_local_of_another_thread(self):
        ready, done, made = threading.Event(), threading.Event(), []

        def work():
            mine = [Item() for _ in range(9)]
            made.append(weakref.ref(mine[0]))
            ready.set()
            done.wait()

        thread = threading.Thread(target=work)
        thread.start()
        ready.wait()
        text = text_of(made[0])
        done.set()
        thread.join()

        assert text.endswith("local mine (list, 9) [0] Item")
        assert "work()" in text

    def test_thread_local(self, home):
        home.local = threading.local()
        home.local.buffer = [Item()]

        assert text_of(lambda: home.local.buffer[0]).endswith(".local (threading.local) .buffer (list, 1) [-1] Item")

    def test_context_variable(self):
        variable = contextvars.ContextVar("request")

        def inside():
            variable.set(Item())
            return path_of(variable.get)

        path = contextvars.copy_context().run(inside)

        assert path.root == "context variable"
        assert str(path).endswith("variable request Item")

    def test_search_leaves_nothing_in_the_frames(self):
        references = []

        def step():
            batch = Item()
            references.append(weakref.ref(batch))
            find_holders([batch])
            del batch
            return references[-1]()

        assert step() is None

    def test_locals_that_the_user_read_stay_as_they_are(self):
        batch = Item()
        seen = locals()

        find_holders([batch])

        assert seen["batch"] is batch


class TestChoosing:
    def test_history_is_told_before_a_full_replay(self):
        replay, history = collections.deque(maxlen=20), []
        for _ in range(50):
            replay.append(Item())
            history.append(replay[-1])

        choices = find_holder_choices(history[-5:])

        assert all("local history" in str(paths[0]) for paths in choices)
        assert all("local replay" in str(paths[1]) and paths[1].bound == 20 for paths in choices)

    def test_container_is_told_before_a_loop_variable(self):
        trainer = Trainer()
        for _ in range(20):
            newest = Item()
            trainer.stats.losses.append(newest)

        assert "losses (list, 20)" in str(find_holders([newest])[0])

    def test_user_list_of_threads_is_told_before_the_interpreters_table(self, home):
        done = threading.Event()
        home.pool = types.SimpleNamespace(workers=[threading.Thread(target=done.wait) for _ in range(3)])
        for thread in home.pool.workers:
            thread.start()
        try:
            text = text_of(lambda: home.pool.workers[0])
        finally:
            done.set()
            for thread in home.pool.workers:
                thread.join()

        assert ".workers (list, 3) [0] Thread" in text

    def test_interpreters_table_is_told_where_nothing_else_holds(self):
        done, made = threading.Event(), []

        class Worker(threading.Thread):
            def run(self):
                made.append(weakref.ref(self))
                del self
                done.wait()

        Worker().start()
        while not made:
            pass
        path = path_of(made[0])
        done.set()

        assert "threading" in str(path)

    @pytest.mark.parametrize("name", ["capacity", "cap", "max_size", "_maxlen", "buffer_size"])
    def test_declared_capacity_bounds_the_container(self, home, name):
        home.replay = types.SimpleNamespace(storage=[Item() for _ in range(10)], **{name: 40})

        path = path_of(lambda: home.replay.storage[-1])

        assert (path.bound, path.bound_length) == (40, 10)

    def test_the_nearest_way_to_a_container_that_is_asked_with_its_items_is_told(self, home):
        """What its thread was started with leads to all of them, too."""
        home.queue = types.SimpleNamespace(buffer=collections.deque(Item() for _ in range(20)))
        home.queue.thread = types.SimpleNamespace(args=(*range(9), home.queue.buffer))

        paths = find_holders([*home.queue.buffer, home.queue.buffer])

        assert str(paths[-1]).endswith(".buffer (deque, 20)")
        assert ".buffer (deque, 20)" in str(paths[0])

    @pytest.mark.parametrize(("largest", "bound"), [(2**31 - 2, 2**31 - 2), (2**31 - 1, None), (2**63 - 1, None)])
    def test_the_largest_number_there_is_bounds_nothing(self, home, largest, bound):
        """Queues between processes declare it where nobody asked for a bound."""
        home.replay = types.SimpleNamespace(storage=[Item() for _ in range(10)], maxsize=largest)

        assert path_of(lambda: home.replay.storage[-1]).bound == bound

    def test_capacity_that_was_passed_is_no_bound(self, home):
        home.replay = types.SimpleNamespace(storage=[Item() for _ in range(10)], capacity=9)

        assert path_of(lambda: home.replay.storage[-1]).bound is None

    def test_growing_container_is_where_the_suspects_meet(self, home):
        home.log = [{"obs": Item(), "act": Item()} for _ in range(12)]

        paths = find_holders([row["obs"] for row in home.log[-4:]])

        assert {path.container for path in paths} == {("list", 12)}
        assert {path.container_id for path in paths} == {id(home.log)}

    def test_common_path_counts_what_it_explains(self, home):
        home.log = [Item() for _ in range(12)]
        home.other = Item()

        path, n_explained = common_path(find_holders([*home.log[-4:], home.other]))

        assert n_explained == 4
        assert str(path).endswith(".log (list, 12) [...] Item")

    def test_common_path_of_nothing_is_wrong_use(self):
        with pytest.raises(UsageError, match="at least one path"):
            common_path([])


class TestWithoutARoot:
    def test_dead_cycle(self):
        first, second = Item(), Item()
        first.other, second.other = second, first
        box = [first]
        del first, second

        gc.disable()
        try:
            path = find_holders([box.pop()])[0]
        finally:
            gc.enable()

        assert path.root == "garbage"
        assert "collection" in path.reason

    def test_callback_at_exit(self):
        code = (
            "import atexit, gc\n"
            "from phaseprof.probes.holders import find_holders\n"
            "class Exporter:\n"
            "    def close(self): pass\n"
            "atexit.register(Exporter().close)\n"
            "class Part: pass\n"
            "def suspects(): return [o for o in gc.get_objects() if type(o) in (Exporter, Part)]\n"
            "suspects()[0].part = Part()\n"
            "paths = find_holders(suspects())\n"
            "print(paths[0].root, '|', paths[0], '|', paths[0].reason)\n"
            "print(paths[1])\n"
        )
        import subprocess

        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

        first, part = done.stdout.splitlines()
        root, text, reason = first.split(" | ")
        assert part == "atexit or another C registry (method Exporter.close) .__self__ (Exporter) .part Part"
        assert root == "outside Python"
        assert text == "atexit or another C registry (method Exporter.close) .__self__ Exporter"
        assert "1 reference is held outside Python" in reason

    def test_object_that_c_holds(self):
        import ctypes

        box = [Item()]
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(box[0]))
        try:
            path = find_holders(box)[0]
        finally:
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(box[0]))

        assert path.root == "outside Python"
        assert "1 reference" in path.reason

    def test_search_that_stops_says_so(self, home, monkeypatch):
        monkeypatch.setattr(search, "MAX_LEVELS", 1)
        home.a = types.SimpleNamespace(b=types.SimpleNamespace(c=types.SimpleNamespace(d=Item())))

        path = find_holder_choices([home.a.b.c.d])[0][0]

        assert path.root == "unknown (search stopped)"

    def test_no_suspects_no_paths(self):
        assert find_holders([]) == []


class TestManners:
    def test_no_code_of_the_users_runs(self, home):
        class Loud(type):
            def __hash__(cls):
                raise AssertionError("hash of a class")

            def __eq__(cls, other):
                raise AssertionError("== of a class")

            def __getattribute__(cls, name):
                if name not in ("__new__", "__init__", "__call__"):
                    raise AssertionError(f"class attribute {name}")
                return type.__getattribute__(cls, name)

        def forbidden(self, *args):
            raise AssertionError("user code ran")

        body = dict.fromkeys(("__len__", "__eq__", "__bool__", "__repr__", "__getattribute__", "__iter__"), forbidden)
        body["__hash__"] = object.__hash__
        body["__dict__"] = property(forbidden)
        strange = Loud("Strange", (list,), body)
        gc.collect()
        holder = list.__new__(strange)
        item = Item()
        list.append(holder, item)
        home.holder = holder
        reference = weakref.ref(item)
        del holder, item

        assert text_of(reference).endswith(".holder (Strange, 1) [-1] Item")

    def test_object_dies_after_it_was_asked_about(self, home):
        reference = put(home, "item", Item())
        find_holders([home.item])

        del home.item

        assert reference() is None

    def test_lists_to_ignore_hold_nothing(self, home):
        home.mine, home.theirs = [Item()], []
        home.theirs.append(home.mine[0])

        text = str(find_holders([home.mine[0]], ignore={id(home.mine)})[0])

        assert ".theirs" in text

    def test_our_own_records_hold_nothing(self, home):
        home.record = HolderPath((), "garbage")
        object.__setattr__(home.record, "reason", Item())

        path = find_holders([home.record.reason])[0]

        assert path.root != "module global"

    def test_object_that_everything_shares_is_found_quickly(self, home):
        home.config = Item()
        home.users = [types.SimpleNamespace(config=home.config) for _ in range(30_000)]

        assert text_of(lambda: home.config).endswith(".config Item")

    def test_each_suspect_has_its_path_in_order(self, home):
        home.items = [Item() for _ in range(10)]

        paths = find_holders([home.items[0], home.items[9]])

        assert [path.steps[-1] for path in paths] == ["[0] Item", "[-1] Item"]


# --- long chains --------------------------------------------------------------------------------------------------


class Span:
    def __init__(self, enclosing=None):
        self.enclosing = enclosing


class SlotSpan:
    __slots__ = ("enclosing",)

    def __init__(self, enclosing=None):
        self.enclosing = enclosing


class LinkedBothWays:
    def __init__(self, enclosing=None):
        self.enclosing = enclosing
        if enclosing is not None:
            enclosing.inner = self


class Diverged(Exception):
    def __init__(self, cause=None):
        super().__init__("diverged")
        self.__cause__ = cause


class Tracer:
    def __init__(self, made_of, n_links):
        self.current = made_of()
        for _ in range(n_links):
            self.current = made_of(self.current)

    def oldest(self, link):
        found = self.current
        while getattr(found, link) is not None:
            found = getattr(found, link)
        return found


@pytest.mark.parametrize(
    ("made_of", "link"), [(Span, "enclosing"), (SlotSpan, "enclosing"), (Diverged, "__cause__")]
)
@pytest.mark.parametrize("n", [4, 8, 3_000])
def test_a_chain_is_climbed_to_what_holds_its_head(made_of, link, n):
    tracer = Tracer(made_of, n)

    [path] = find_holders([tracer.oldest(link)])

    name = made_of.__name__
    assert path.steps[-3:] == (f".current ({name})", f".{link} ({name}) x{n - 1:,}", f".{link} {name}")


def test_two_equal_links_are_told_one_by_one():
    tracer = Tracer(Span, 2)

    [path] = find_holders([tracer.oldest("enclosing")])

    assert path.steps[-3:] == (".current (Span)", ".enclosing (Span)", ".enclosing Span")


def test_a_chain_linked_both_ways_ends_somewhere():
    tracer = Tracer(LinkedBothWays, 500)

    [path] = find_holders([tracer.oldest("enclosing")])

    assert ".current (LinkedBothWays)" in path.steps


def test_chains_that_differ_in_length_agree():
    tracer = Tracer(Span, 40)
    paths = find_holders([tracer.oldest("enclosing"), tracer.current.enclosing.enclosing.enclosing.enclosing])

    path, explains = common_path(paths)

    assert explains == 2
    assert path.steps[-2:] == (".enclosing (Span) x…", ".enclosing Span")
