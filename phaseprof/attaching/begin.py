"""What the observed program is made to run first: its main thread starts a thread, and the thread imports the rest.

The text of this file goes into programs that may have no phaseprof, so it imports nothing of ours at its top.
"""

from __future__ import annotations

import _thread
import gc
import json
import os
import sys
import time
from typing import Any

NAME = "phaseprof attach"
PACKAGE = "phaseprof"
# For so long at most a fork waits for the imports.
_LONGEST_IMPORT_S = 2.0


def begin(folder: str) -> None:
    """Start the thread.  Called in the main thread, between two instructions of the program.

    Args:
        folder: of the errand.

    Cost: 0.3 ms of the program's time.
    """
    try:
        import threading  # here: the thread that imports it first is the main one, for Python before 3.13

        if _is_replaced(threading):
            reply(folder, "ended", {"refused": "its threads must be the system's (got: a library has replaced them)"})
            return
        reply(folder, "began", {"pid": os.getpid()})
        threading.Thread(target=_observe, args=(folder,), name=NAME, daemon=True).start()
    except (OSError, RuntimeError) as error:
        reply(folder, "ended", {"failed": f"{type(error).__name__}: {error}"})
    except KeyboardInterrupt:
        _thread.interrupt_main()  # the program's own, which came just now


def reply(folder: str, name: str, what: object) -> None:
    """Answer whoever attached, if anybody still waits."""
    path = os.path.join(folder, name)  # noqa: PTH118 - pathlib may not be there yet
    try:
        with open(f"{path}.tmp", "w", encoding="utf-8") as file:  # noqa: PTH123 - as above
            json.dump(what, file)
        os.replace(f"{path}.tmp", path)  # noqa: PTH105 - as above
    except OSError:
        return


def _is_replaced(threading: Any) -> bool:
    """Whether a library has made threads something else, such as greenlets in the main thread."""
    start = getattr(threading, "_start_joinable_thread", None) or threading._start_new_thread
    return type(start) is not type(len)


def _observe(folder: str) -> None:
    """Import phaseprof, observe, and take the modules away again; the thread's whole life."""
    sys.settrace(None)  # what the program set for its own threads
    sys.setprofile(None)
    began_ns = time.thread_time_ns()
    before = set(sys.modules)
    answer: dict[str, object] = {}
    importing = _thread.allocate_lock()
    importing.acquire()

    def hold() -> None:
        # A child that is forked in the midst of an import would wait for it for ever.
        if importing.acquire(timeout=_LONGEST_IMPORT_S):
            importing.release()

    def mark() -> None: ...  # by which the list of those in the child is found

    os.register_at_fork(before=hold, after_in_child=mark)
    try:
        with open(os.path.join(folder, "order"), encoding="utf-8") as file:  # noqa: PTH118, PTH123 - as above
            order = json.load(file)
        refused = _loaded(order)
        importing.release()
        if refused:
            answer = {"refused": refused}
        else:
            observe = sys.modules[f"{PACKAGE}.attaching.inside"].observe
            answer = observe(folder, order, began_ns, is_known=PACKAGE in before)
    except BaseException as error:  # noqa: BLE001 - nothing of ours is printed into the program's output
        answer = {"failed": f"{type(error).__name__}: {error}"}
    finally:
        if importing.locked():
            importing.release()
        _take_back_fork_hooks((hold, mark), PACKAGE in before)
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE and name not in before]:
            del sys.modules[name]
        reply(folder, "ended", answer)


def _take_back_fork_hooks(ours: tuple[Any, ...], is_known: bool) -> None:
    """Take our hooks out of the interpreter's lists, which has no function for it: the collector knows the lists.

    Cost: 25 ns for each object of the heap.
    """
    package = f"{PACKAGE}.attaching" if is_known else PACKAGE
    for hooks in gc.get_referrers(*ours):
        if type(hooks) is list:
            for hook in list(hooks):
                if hook in ours or f"{getattr(hook, '__module__', '')}.".startswith(f"{package}."):
                    hooks.remove(hook)


def _loaded(order: dict[str, Any]) -> str:
    """Import what is needed: the program's own packages where it has them, else those of whoever attached.

    ``sys.path`` stays as it is: each package is loaded from its folder.

    Returns:
        Why it is refused; empty if all is there.
    """
    import importlib.util
    from importlib.machinery import PathFinder

    there = sys.modules.get(PACKAGE)
    if there is not None and getattr(there, "__version__", "") != order["version"]:
        return f"it must not have imported another phaseprof than {order['version']} (got {there.__version__})"
    for name, home in order["homes"].items():
        if name in sys.modules or (name != PACKAGE and importlib.util.find_spec(name) is not None):
            continue
        spec = PathFinder.find_spec(name, [home])
        if spec is None or spec.loader is None:
            return f"it must be able to read {home} (got: {name} is not found there)"
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    importlib.import_module(f"{PACKAGE}.attaching.inside")
    return ""
