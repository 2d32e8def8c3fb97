"""Categories of types: which have a kind of their own, and which only carry others."""

from __future__ import annotations

import re
import sys

from phaseprof.records import COMPANIONS

TENSORS = frozenset({"Tensor", "Parameter", "Buffer", "UntypedStorage"})
# A type whose growth in number is known by a kind of its own.
KIND_OF_TYPE = {
    **dict.fromkeys(TENSORS, "tensors"),
    "ndarray": "arrays", "memmap": "arrays", "array": "arrays", "Thread": "threads", "SharedMemory": "shared memory",
    "Process": "children", "ForkProcess": "children", "SpawnProcess": "children", "Popen": "children",
    "socket": "descriptors", "TextIOWrapper": "descriptors", "BufferedReader": "descriptors",
    "BufferedWriter": "descriptors", "FileIO": "descriptors",
}  # fmt: skip
MEMORY = TENSORS | {"ndarray", "memmap"}
CONTAINERS = frozenset({"list", "dict", "set", "deque", "OrderedDict", "defaultdict", "Counter", "tuple", "frozenset"})
# What a log of a training is made of.
PLAIN_ITEMS = frozenset({"", "float", "int", "bool", "str", "bytes", "NoneType"})
# Types that carry others: what they carry says more than they do.
PLUMBING = CONTAINERS | {
    "method", "function", "cell", "partial", "str", "bytes", "int", "float", "ReferenceType", "weakref", "frame",
    "traceback", "generator", "coroutine", "builtin_function_or_method", "module", "getset_descriptor", "code",
    "property", "object", "_HashedSeq", "Event", "Condition", "RLock", "lock", "KeyedRef", "Context", "slice",
    "list_iterator", "dict_items", "dict_keyiterator", "mappingproxy", "NoneType", "_thread.lock",
}  # fmt: skip
# Modules whose types of these names are meant.
STANDARD = frozenset({
    "builtins", "types", "functools", "collections", "weakref", "threading", "_thread", "_weakref", "_contextvars",
    "contextvars", "asyncio", "_asyncio", "torch", "typing", "string", "re",
})  # fmt: skip
# What the import of a module leaves behind, ours among them: loaders, and the signatures that decorators ask for.
IMPORTS = frozenset({"importlib", "_frozen_importlib", "_frozen_importlib_external", "zipimport", "inspect"})

# Nodes of an autograd graph, as torch names them; their Python objects come and go with whoever looks at them.
GRAPH_NODE = re.compile(r"Backward\d+$|^AccumulateGrad$")


def is_plumbing(name: str) -> bool:
    """Whether a type only carries or accompanies others; a program's own ``Event`` does not.

    Args:
        name: qualified, or short where no more is known.
    """
    module, _, short = name.rpartition(".")
    package = module.partition(".")[0]
    if package in IMPORTS:
        return True
    if is_private(name):
        return True
    if module and package not in STANDARD:
        return False
    return short in PLUMBING or short == "UntypedStorage" or GRAPH_NODE.search(short) is not None


def is_private(name: str) -> bool:
    """Whether a type is the standard library's own affair, which no program names, and no counter's companion.

    >>> is_private("weakref._Info"), is_private("app._Info"), is_private("concurrent.futures.thread._WorkItem")
    (True, False, False)
    """
    module, _, short = name.rpartition(".")
    is_known = any(short in types for types in COMPANIONS.values())
    return short.startswith("_") and module.partition(".")[0] in sys.stdlib_module_names and not is_known


def comes_with_python(name: str) -> bool:
    """Whether a type of this qualified name comes with Python or with torch."""
    module = name.rpartition(".")[0]
    return not module or module.partition(".")[0] in STANDARD | IMPORTS
