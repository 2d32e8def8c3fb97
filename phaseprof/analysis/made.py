"""Which lines made what a finding is about, where a phase was traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from phaseprof.analysis.categories import CONTAINERS, KIND_OF_TYPE
from phaseprof.analysis.naming_places import SHARE
from phaseprof.analysis.paths import normalised
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import GARBAGE, NATIVE_MEMORY, STAYED, UNREACHABLE, Finding, Site

# Lines that a finding names: those after them made little.
_MOST, _LEAST_SHARE = 5, 0.01
_GRAPH = "autograd graph"
# A finding about these things says nothing of what was allocated.
_NO_MEMORY = frozenset({"slowdown"})


def with_sites(process: ProcessRun, finding: Finding) -> Finding:
    """Fill in the lines that made what grows, the one that made most first, where they were looked up.

    Their shares are of what the newest look found at the place and of the type that grows, by bytes.  What none of the
    program's own lines has made counts, and is not named.
    """
    if finding.sites or finding.site is not None or finding.verdict in _NO_MEMORY:
        return finding
    tellings = [told for told in reversed(process.sites) if _is_about(process, finding, told)]
    rows = _rows_of(finding, [told.rows for told in tellings])
    total = sum(map(_weight, rows))
    sums: dict[tuple[str, int, str], float] = {}
    for row in rows:
        key = (row.file, row.line, row.function)
        sums[key] = sums.get(key, 0.0) + _weight(row) / total
    sites = [Site(*key, round(share, 3)) for key, share in sums.items() if key[0] and share >= _LEAST_SHARE]
    sites.sort(key=lambda site: (-site.share, site.file, site.line))
    if not sites:
        return finding
    return replace(finding, site=f"{sites[0].file}:{sites[0].line}", sites=tuple(sites[:_MOST]))


def _is_about(process: ProcessRun, finding: Finding, told: fmt.Sites) -> bool:
    """Whether what was made is what a finding may be about: what stayed anywhere, of its phase, or much native memory.

    That which one visit was seen to keep must be a good part of what it is expected to.
    Blocks that the program got from an allocator by its address, as with ctypes, are seen by nobody, and what else was
    kept then is none of the leak.
    """
    if any(row.steps == [STAYED] for row in told.rows):
        return told.phase in ("", finding.phase)
    if finding.kind != NATIVE_MEMORY:
        return True
    totals = process.phases.get(told.phase)
    n_visits = 1.0 if totals is None else max(1.0, totals.visits / (process.last_ordinal + 1))
    return sum(row.bytes for row in told.rows) >= SHARE * finding.slope / n_visits


def _weight(row: fmt.Site) -> float:
    return float(max(row.bytes, 1))


def _rows_of(finding: Finding, tellings: Sequence[Sequence[fmt.Site]]) -> list[fmt.Site]:
    """Return what was made of a finding's subject where it is held, else wherever it was met; by the first that tells.

    What one of them tells of the place itself goes before what another one tells of its type elsewhere.  What keeps a
    graph need not be a tensor: where none tells of one, it is all that was made of what lies at the place.
    """
    is_at = _is_at(finding)
    here = [[row for row in rows if is_at(row.steps)] for rows in tellings]
    if finding.subject in CONTAINERS or finding.kind == NATIVE_MEMORY:  # what fills it; what has no type
        return next(filter(None, here), [])
    elsewhere = ([] if there else rows for there, rows in zip(here, tellings, strict=True))
    found = (_of_subject(finding, rows) for rows in (*here, *elsewhere))
    return next(filter(None, (*found, *(here if finding.kind == _GRAPH else ()))), [])


def _of_subject(finding: Finding, rows: Sequence[fmt.Site]) -> list[fmt.Site]:
    """Return what is of the subject's type, or of the same kind: a model's parameters are tensors."""
    named = [row for row in rows if _short(row.type) == finding.subject]
    kind = KIND_OF_TYPE.get(finding.subject or "", "")
    return named or [row for row in rows if kind and KIND_OF_TYPE.get(_short(row.type)) == kind]


def _is_at(finding: Finding) -> Callable[[Sequence[str]], bool]:
    if finding.kind in (GARBAGE, NATIVE_MEMORY):
        root = UNREACHABLE if finding.kind == GARBAGE else NATIVE_MEMORY
        return lambda steps: steps[:1] == [root]
    path = normalised(finding.holder)
    return lambda steps: bool(path) and normalised(steps) == path


def _short(name: str) -> str:
    return name.rpartition(".")[2]
