"""guppy (heapy): the heap relative to the warm-up, by type, and the shortest path to the top type."""

from __future__ import annotations

import warnings

from guppy import hpy

from leakbench.tools.typegrowth import TypeGrowthTool


class Tool(TypeGrowthTool):
    every = 3
    phases_every = 6
    least = 1.0

    def start(self, program) -> None:
        super().start(program)
        warnings.simplefilter("ignore", FutureWarning)
        self.hp = hpy()
        self.based = False

    def count(self) -> dict[str, int]:
        if not self.based:
            self.hp.setref()
            self.based = True
        counts: dict[str, int] = {}
        for row in self.hp.heap().bytype.stat.get_rows():
            short = row.name.rpartition(".")[2]
            counts[short] = counts.get(short, 0) + row.count
        return counts

    def holder(self, name: str) -> str:
        for part in self.hp.heap().bytype.parts:
            if part.kind.arg.__name__ == name:
                path = part.byid[0].shpaths[0].path  # object, relation, object, ... from the root
                steps = (
                    type(one.theone).__name__ + str(rel) % "" for one, rel in zip(path[::2], path[1::2], strict=False)
                )
                return " ".join(steps) + f" {name}"
        return ""
