"""Every figure of docs/benchmarks.md, measured in one run and printed as one table.

python benchmarks/run.py                          the table; minutes, and the machine should be quiet
python benchmarks/run.py --quick                  a first look: small heaps, few rounds
python benchmarks/run.py --only census,sizes      some of the benchmarks
python benchmarks/run.py --out docs/benchmarks.md put the table into the page, between its two markers
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from table import Row, machine_lines, make_row, render, verdict_line

# In the order of the table; what the others cost comes last, since it takes longest.
ORDER = (
    "points", "budget", "pauses", "tracing", "probes", "census", "native", "holders", "sizes", "snapshots", "scale",
    "loop",
)  # fmt: skip
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
PAGE = f"# Benchmarks\n\n{BEGIN}\n{END}\n"


def benchmarks() -> list[str]:
    """Return the names of the benchmarks that exist, in the order of the table."""
    found = {path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py")}
    return [name for name in ORDER if name in found] + sorted(found - set(ORDER))


def measure(names: Sequence[str], *, quick: bool) -> tuple[list[Row], list[str]]:
    """Run benchmarks one after the other; one that fails leaves a note and no row."""
    rows: list[Row] = []
    failed: list[str] = []
    for name in names:
        begin = time.perf_counter()
        try:
            found = importlib.import_module(f"bench_{name}").rows(quick)
            rows += [make_row(name, one) for one in found]
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the others are still worth measuring
            failed.append(f"{name} failed: {type(error).__name__}: {error}")
        print(f"{name}: {time.perf_counter() - begin:.1f} s", file=sys.stderr)
    return rows, failed


def page_with(text: str, table: str) -> str:
    """Put the table between the markers of a page, and keep all that was written around them.

    >>> page_with(f"before {BEGIN} old {END} after", "new") == f"before {BEGIN}\\nnew\\n{END} after"
    True
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"the page must hold {BEGIN} and {END}, in this order")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main() -> int:
    """Measure, print, and write the page if one is named; return 1 if a benchmark failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small heaps and few rounds")
    parser.add_argument("--only", default="", metavar="NAMES", help=f"some of {', '.join(benchmarks())}")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--out", type=Path, metavar="FILE", help="page to put the table into; made if it is not there")
    args = parser.parse_args()
    chosen = [name for name in args.only.split(",") if name] or benchmarks()
    unknown = sorted(set(chosen) - set(benchmarks()))
    if unknown:
        parser.error(f"--only takes {', '.join(benchmarks())} (got {', '.join(unknown)})")
    rows, failed = measure(chosen, quick=args.quick)
    about = [*machine_lines(quick=args.quick), verdict_line(rows), *failed]
    print("\n".join([*about, "", render(rows, markdown=args.markdown)]))
    if args.out:
        old = args.out.read_text(encoding="utf-8") if args.out.exists() else PAGE
        block = "\n".join([*(f"- {line}" for line in about), "", render(rows, markdown=True)])
        args.out.write_text(page_with(old, block), encoding="utf-8")
        print(f"wrote {args.out}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
