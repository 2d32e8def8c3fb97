"""Instruments a program from outside, as its modules are imported and its script defines its names."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING

from phaseprof import api
from phaseprof.cli.targets import Target, find_class, find_object, lookup, nearest, replace_function
from phaseprof.cli.turns import wrap_in_generation
from phaseprof.errors import UsageError

if TYPE_CHECKING:
    from importlib.abc import Loader

MAIN = "__main__"
Then = Callable[[str], None]


class Plan:
    """What is to be instrumented, what was, and what went wrong.

    Args:
        targets: what to instrument.
        main_names: names under which the script goes besides ``__main__``: its file's stem, or the module of ``-m``.
        then: module name to what is called once the program has imported it.
    """

    def __init__(
        self, targets: Sequence[Target], main_names: Sequence[str] = (), then: Mapping[str, Then] | None = None
    ) -> None:
        self._targets = list(targets)
        self.then = dict(then or {})
        self._main_names = {MAIN, *main_names}
        self._done: set[Target] = set()
        self._replaced: dict[Target, object] = {}
        self.failures: list[UsageError] = []

    @property
    def marks_anything(self) -> bool:
        """Whether a phase or a generation was named."""
        return any(target.option in ("--phase", "--generation") for target in self._targets)

    def of_module(self, name: str) -> list[Target]:
        """The targets in one module; tracked objects are looked up when they are sized, so they are not here."""
        return [t for t in self._targets if t.module == name and t.option != "--track"]

    def of_main(self) -> list[Target]:
        """The targets in the script."""
        return [t for t in self._targets if t.module in self._main_names and t.option != "--track"]

    def begin(self) -> None:
        """Start: what is imported already is instrumented now, the rest when it appears.

        Raises:
            UsageError: a name does not exist in a module that is imported already.
        """
        for target in self._targets:
            if target.option == "--track":
                api.track(target.label, self._getter_of(target))
        for name in {t.module for t in self._targets if t.module not in self._main_names}:
            module = sys.modules.get(name)
            if module is not None:
                self.apply(module, self.of_module(name))
        for name in [name for name in self.then if name in sys.modules]:
            self.then[name](name)

    def _getter_of(self, target: Target) -> Callable[[], object]:
        """Make a getter that looks the object up anew each time, since programs replace what they hold."""

        def get() -> object:
            found = find_object(self._module_of(target), target)
            self._done.add(target)
            return found

        return get

    def _module_of(self, target: Target) -> types.ModuleType:
        """The target's module; every name of the script finds it, unless a module of that name was imported.

        Raises:
            UsageError: it was never imported.
        """
        name = MAIN if target.module in self._main_names and target.module not in sys.modules else target.module
        if name not in sys.modules:
            hint = nearest(target.module, sys.modules)
            raise UsageError(f"{target}: module {target.module} was never imported{hint}")
        return sys.modules[name]

    def apply(self, module: types.ModuleType, targets: Sequence[Target]) -> None:
        """Instrument names of a module that now exist.

        Raises:
            UsageError: a name does not exist or cannot be instrumented; kept in ``failures`` too, since a program may
                swallow what an import raises.
        """
        for target in targets:
            try:
                self._apply(module, target)
            except UsageError as error:
                self.failures.append(error)
                raise

    def _apply(self, module: types.ModuleType, target: Target) -> None:
        self._done.add(target)
        if target.option == "--watch":
            api.watch(find_class(module, target), target.expected)
            return
        owner = module if len(target.path) == 1 else None
        if owner is not None and lookup(owner, target.path[0], target) is self._replaced.get(target, self):
            return  # the same name was bound again to what is wrapped already
        profiler = api.get_profiler()
        if target.option == "--generation":
            replace_function(module, target, wrap_in_generation(profiler))
        else:
            replace_function(module, target, profiler.phase(target.label))
        if owner is not None:
            self._replaced[target] = lookup(owner, target.path[0], target)

    def missing(self) -> list[str]:
        """Sentences about targets that never appeared; a tracked object is looked for once more."""
        lines = []
        for target in self._targets:
            if target in self._done:
                continue
            try:
                module = self._module_of(target)
                if target.option == "--track":
                    find_object(module, target)
                else:
                    lines.append(f"{target}: module {target.module} was imported in a way that cannot be followed")
            except UsageError as error:
                lines.append(str(error))
        return lines


class Finder:
    """First on ``sys.meta_path``: lets the others find a module, and instruments it once it has been executed."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module that has targets; every other module is none of ours."""
        targets = self._plan.of_module(name)
        if not targets and name not in self._plan.then:
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if finder is self or find is None else find(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    self._hook(spec.loader, targets)
                return spec
        return None

    def _hook(self, loader: Loader, targets: Sequence[Target]) -> None:
        """Instrument after execution; the loader is the module's own, and as it was once the module is there."""
        execute: Callable[[types.ModuleType], None] = loader.exec_module
        plan = self._plan

        def exec_module(module: types.ModuleType) -> None:
            del loader.exec_module
            execute(module)
            plan.apply(module, targets)
            if module.__name__ in plan.then:
                plan.then[module.__name__](module.__name__)

        try:
            loader.exec_module = exec_module  # type: ignore[method-assign]  # the instance's, for one call
        except AttributeError:
            return  # a loader without attributes of its own: told at the end as never instrumented


@contextlib.contextmanager
def installed(plan: Plan) -> Iterator[None]:
    """Watch imports for the block."""
    finder = Finder(plan)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
