"""What ends a chain of holders: modules, classes, running functions, and thread states."""

from __future__ import annotations

import sys
import sysconfig
import types
from contextvars import Context

from phaseprof.probes.holding.frames import RunningFrame, running_frames
from phaseprof.probes.holding.graph import Node, Root
from phaseprof.probes.holding.reading import (
    class_attributes,
    class_module,
    is_module,
    type_name,
)
from phaseprof.probes.libraries import is_installed_file
from phaseprof.probes.typeinfo import module_namespace, plain_text
from phaseprof.records import OUTSIDE, UNKNOWN_NAME

# The interpreter's own registries (``threading._active``, the executors' queues, logging's tables, ``sys.last_exc``)
# refer to half of what is alive. A path through one is told only when no path of the user's is shorter than this.
BOOKKEEPING = 30.0
# Libraries keep things for the user; at equal length the user's own name says more.
LIBRARY = 3.0

_STDLIB_DIR = sysconfig.get_paths()["stdlib"]
_EXTENSION_STATE = "held by the state of a C extension module"


def module_penalty(name: str) -> float:
    """Return the penalty of a root in the named module."""
    top = name.partition(".")[0]
    if top == "__main__":
        return 0.0
    if top in sys.stdlib_module_names:
        return BOOKKEEPING
    module = sys.modules.get(top)
    origin = module_namespace(module).get("__file__") if is_module(module) else None
    return LIBRARY if type(origin) is str and is_installed_file(origin) else 0.0


def file_penalty(filename: str) -> float:
    """Return the penalty of a running function whose code is in the named file."""
    if is_installed_file(filename):
        return LIBRARY
    return BOOKKEEPING if filename.startswith((_STDLIB_DIR, "<frozen ")) else 0.0


class Roots:
    """Every place at which a search may stop, read once when it starts; holds ids and text only.

    Attributes:
        ours: ids of what our own running functions hold.
        not_read: names of the program's running functions whose locals were not looked at, innermost first.
    """

    def __init__(self) -> None:
        self._modules = _module_namespaces()
        self.ours: set[int] = set()
        self._locals: dict[int, list[Node]] = {}
        self.not_read: list[str] = []
        for frame in running_frames():
            self._add_frame(frame)

    def _add_frame(self, frame: RunningFrame) -> None:
        if frame.ours:
            self.ours.update(frame.names)
            node = Node(None, 0)
        else:
            if not frame.is_read and not file_penalty(frame.filename):
                self.not_read.append(frame.label.rpartition(" ")[2])
            penalty = file_penalty(frame.filename) + 1.0 + min(frame.depth, 50) / 50
            node = Node(None, 0, Root("local of a running function", frame.label, penalty, "", frame.names))
        for identity in frame.names:
            self._locals.setdefault(identity, []).append(node)

    def local_holders(self, obj: object) -> tuple[list[Node], int]:
        """Return the running functions that hold ``obj``, and how many locals hold it, ours included."""
        nodes = self._locals.get(id(obj), [])
        count = sum(len(node.root.names.get(id(obj), ())) if node.root and node.root.names else 1 for node in nodes)
        return [node for node in nodes if node.root is not None], count

    def of(self, obj: object) -> Root | None:
        """Return the root that ``obj`` is, or ``None``. Runs no code of the object's."""
        cls = type(obj)
        if cls is dict:
            return self._of_dict(obj)  # type: ignore[arg-type]
        if issubclass(cls, types.ModuleType):
            found = module_namespace(obj).get("__name__")  # type: ignore[arg-type]
            name = found if type(found) is str else UNKNOWN_NAME
            return Root(OUTSIDE, f"module {name}", module_penalty(name), _EXTENSION_STATE)
        if issubclass(cls, type) and is_importable(obj):  # type: ignore[arg-type]
            name = class_module(obj)  # type: ignore[arg-type]
            return Root("class attribute", type_name(obj), module_penalty(name))  # type: ignore[arg-type]
        return Root("context variable", "context", 1.0) if cls is Context else None

    def _of_dict(self, namespace: dict[object, object]) -> Root | None:
        name = self._modules.get(id(namespace))
        if name is None and dict.__contains__(namespace, "__builtins__"):  # code run by exec or runpy
            found = dict.get(namespace, "__name__")
            name = found if type(found) is str else UNKNOWN_NAME
        if name is not None:
            return Root("module global", f"module {name}", module_penalty(name))
        return None


def _module_namespaces() -> dict[int, str]:
    found = {}
    for name, module in list(sys.modules.items()):
        if is_module(module) and type(name) is str:
            found[id(module_namespace(module))] = name
    main = sys.modules.get("__main__")
    if is_module(main):  # a program may be registered under a second name
        found[id(module_namespace(main))] = "__main__"
    return found


def is_importable(cls: type) -> bool:
    """Say whether the class is reached by its own module and qualified name, so that it lives as long as they do."""
    module = sys.modules.get(class_module(cls))
    if not is_module(module):
        return False
    names = plain_text(type.__dict__["__qualname__"].__get__(cls)).split(".")
    found: object = module_namespace(module).get(names[0])
    for name in names[1:]:
        if not issubclass(type(found), type):
            return False
        found = class_attributes(found).get(name)  # type: ignore[arg-type]
    return found is cls
