"""A process of a run of many: what tells it from the others stays in memory, and all else is read again when needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from phaseprof.recording.addresses import File, fetched
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import load_files

_LATER = frozenset(vars(ProcessRun()))


class StoredProcess(ProcessRun):
    """As the process that it stands for, in a kilobyte instead of half a megabyte.

    Series and whatever else is not kept are read from the files at the first look at them: 10 ms for 10,000 records.
    A process that goes on recording has come further by then.

    Raises:
        RecordingError: at that look, the files are gone or cannot be read.
    """

    def __init__(self, process: ProcessRun, files: Sequence[File]) -> None:
        self.header = process.header
        self.n_records = process.n_records
        self._files = tuple(files)
        self._has_generations = process.has_generations

    @property
    def has_generations(self) -> bool:
        """Whether it recorded any generation."""
        return self._has_generations

    def _read(self) -> ProcessRun:
        with fetched(self._files) as local:
            found = load_files(local)
        return next((one for one in found if one.header == self.header), ProcessRun())

    if not TYPE_CHECKING:  # or every misspelt attribute would pass the type checker

        def __getattr__(self, name: str) -> Any:
            """Read what is not in memory; from then on it is found in its place, and never asked for here."""
            if name not in _LATER:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            vars(self).update(vars(self._read()))
            return vars(self)[name]
