"""What a server tells of the runs and CUDA snapshots below one folder: plain data, bounded in size."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from phaseprof.analysis.compare_series import process_of
from phaseprof.analysis.snapshots.files import holds_snapshots
from phaseprof.cli.judged import judge_run, read_run
from phaseprof.errors import RecordingError, UsageError
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import find_recordings
from phaseprof.records import Finding
from phaseprof.report.access import Generations
from phaseprof.report.page.thinning import thin
from phaseprof.report.snapshots_report import analyse_snapshots
from phaseprof.report.text import to_plain

Json = dict[str, object]

_DEEPEST, _MOST_FOLDERS, _MOST_FOUND = 5, 5000, 200
_MOST_READINGS, _MOST_SERIES, _MOST_ROWS = 120, 400, 60


class RunServer:
    """Answers questions on what lies below a folder; nothing outside of it is read.

    Args:
        root: the folder.

    Raises:
        UsageError: it is no folder.
    """

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UsageError(f"mcp serves a folder that holds runs (got {root}, no folder); name one that exists")
        self._root = root.resolve()

    def runs(self) -> Json:
        """List the recorded runs and the folders of CUDA snapshots, by their path below the folder that is served."""
        runs, snapshots = [], []
        for folder in self._folders():
            name = folder.relative_to(self._root).as_posix()
            if _is_run(folder):
                runs.append(name)
            elif holds_snapshots(folder):
                snapshots.append(name)
        return {"runs": runs[:_MOST_FOUND], "snapshots": snapshots[:_MOST_FOUND]}

    def findings(self, run: str) -> Json:
        """Judge a run: verdict, exit status, and for each process what leaks, where, who holds it and what to do."""
        judged = judge_run(str(self._path(run)), workers=1)
        processes = [
            {"rank": process.header.rank if process.header else 0, "pid": process.header.pid if process.header else 0,
             "findings": [_finding(finding) for finding in found]}
            for process, found in zip(judged.run.processes[:_MOST_ROWS], judged.findings, strict=False)
        ]  # fmt: skip
        return {
            "verdict": judged.answer(), "exit_code": judged.status(), "n_readings": judged.n_readings,
            "n_processes": len(judged.run.processes), "processes": processes,
            "broken_expectations": [str(broken) for broken in judged.broken()],
        }  # fmt: skip

    def series(self, run: str, metric: str = "", point: str = "generation end", rank: int | None = None) -> Json:
        """Return the readings of a metric at a point, thinned with extremes kept; without a metric, what there is.

        Args:
            run: path of the run, as listed.
            metric: for example ``rss_bytes``; names ending ``_bytes`` are bytes, others counts.
            point: where in a generation it was read.
            rank: which process; the one that leads the reports if not given.
        """
        process = self._process(run, rank)
        if not metric:
            known = sorted({(name, at) for at, name in process.series})
            return {"series": [{"metric": name, "point": at} for name, at in known[:_MOST_SERIES]], "n": len(known)}
        found = process.series.get((point, metric))
        if found is None or not len(found):
            raise UsageError(f"no series {metric!r} at {point!r}; leave the metric out to list what there is")
        names = Generations(process)
        kept = thin(found.values, _MOST_READINGS)
        readings = [[names.name(found.generations[at]), found.values[at]] for at in kept]
        return {"metric": metric, "point": point, "n": len(found), "readings": readings}

    def places(self, run: str, rank: int | None = None) -> Json:
        """Return where in the heap most came between two looks at it, and the places that hold most."""
        process = self._process(run, rank)
        places = process.places
        if places is None:
            return {"places": [], "heap": [], "note": "the heap was not looked at by place"}
        names = Generations(process)
        came = [
            {"path": row.steps, "type": row.type, "came_bytes": row.bytes, "came_tensors_with_graph": row.graphs,
             "what_came": [{"type": name, "objects": n, "bytes": size} for name, n, size in row.direct]}
            for row in places.rows
        ]  # fmt: skip
        heap = sorted(_paths(process), key=lambda row: -row[1])[:_MOST_ROWS]
        return {
            "from_generation": names.name(places.since), "to_generation": names.name(places.g),
            "grown_bytes": places.bytes, "places": came,
            "heap": [{"path": path, "bytes": size, "came_bytes": came_bytes} for path, size, came_bytes in heap],
        }  # fmt: skip

    def holders(self, run: str, rank: int | None = None) -> Json:
        """Return the paths from a root that keep alive what grows, newest last."""
        found = self._process(run, rank).holders[-_MOST_ROWS:]
        return {"holders": [
            {"subject": one.subject, "path": one.steps, "root": one.root, "explains": one.explains, "asked": one.asked}
            for one in found
        ]}  # fmt: skip

    def snapshots(self, folder: str) -> Json:
        """Judge a folder of CUDA memory snapshots: what grows a step, in which block sizes, from which lines."""
        tree = analyse_snapshots(self._path(folder)).to_dict()
        for series in tree["series"]:  # type: ignore[attr-defined]
            for key in ("rows", "size_classes", "sites"):
                series[key] = series[key][:_MOST_ROWS]
        return tree

    def _process(self, run: str, rank: int | None) -> ProcessRun:
        process = process_of(read_run(self._path(run)), run, rank)
        process.fold()
        return process

    def _path(self, name: str) -> Path:
        path = (self._root / name).resolve()
        if not path.is_relative_to(self._root):
            raise UsageError(f"only what lies below the served folder can be read (got {name!r})")
        return path

    def _folders(self) -> Iterator[Path]:
        for seen, (at, folders, _) in enumerate(os.walk(self._root)):
            folder = Path(at)
            deep = len(folder.relative_to(self._root).parts)
            folders[:] = [] if deep >= _DEEPEST else sorted(name for name in folders if not name.startswith("."))
            if seen >= _MOST_FOLDERS:
                return
            yield folder


def _is_run(folder: Path) -> bool:
    try:
        return bool(find_recordings(folder))
    except RecordingError:
        return False


def _finding(finding: Finding) -> Json:
    plain = to_plain(finding)
    assert isinstance(plain, dict)
    plain["evidence"] = [f"{one.metric} at {one.point}, {len(one.values)} readings" for one in finding.evidence[:3]]
    return plain


def _paths(process: ProcessRun) -> Iterator[tuple[list[str], int, int]]:
    paths: list[list[str]] = []
    for row in process.places.heap if process.places else ():
        above = paths[row.parent] if 0 <= row.parent < len(paths) else []
        paths.append([*above, row.name])
        yield paths[-1], row.bytes, row.came
