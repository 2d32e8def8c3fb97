"""phaseprof, through the names that its users import."""

from __future__ import annotations

import os
from typing import Any

from leakbench import Finding


class Tool:
    asks_cheaply = True  # findings() reads what is recorded already, so the runner may ask after every generation

    def start(self, program: Any) -> None:
        import phaseprof

        unbounded = os.environ.get("LEAKBENCH_BUDGET", "none") == "none"
        self.profiler = phaseprof.Profiler(budget=None) if unbounded else phaseprof.Profiler()
        self.generation = self.profiler.generation
        self.phase = self.profiler.phase
        self.checkpoint = self.profiler.checkpoint
        self.watch = self.profiler.watch
        self.track = self.profiler.track

    def findings(self) -> list[Finding]:
        return [
            Finding(
                phase=f.phase or "",
                kind=f.kind,
                subject=f.subject or "",
                holder=" ".join(f.holder),
                detail=f.summary,
                site=f.site or "",
            )
            for f in self.profiler.findings()
            if f.verdict == "leak"
        ]
