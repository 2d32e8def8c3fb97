"""Run one block of a page, by itself, in the current folder: run_blocks.py PAGE LINE

A block that needs a package that is not installed is passed over, and named.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import types
from pathlib import Path

from pages import python_blocks

# What pages may show and a base install lacks.
OPTIONAL = (
    "torch", "wandb", "tensorboard", "pytest", "matplotlib", "pyarrow", "accelerate", "deap", "evotorch",
    "keras", "lightning", "optuna", "ray", "skorch", "stable_baselines3", "transformers",
)  # fmt: skip


def missing(code: str) -> list[str]:
    """Return the optional packages that the code imports and that are not here."""
    named = set(re.findall(r"^\s*(?:import|from) (\w+)", code, re.MULTILINE))
    return [name for name in OPTIONAL if name in named and importlib.util.find_spec(name) is None]


def main(page: Path, line: int) -> None:
    """Run the block; an exception is shown with the page's own line numbers."""
    (block,) = [block for block in python_blocks(page) if block.line == line]
    lacking = missing(block.code)
    if lacking:
        print(f"{page.name}:{block.line}: passed over, no {', '.join(lacking)}", file=sys.stderr)
        return
    module = types.ModuleType("__main__")
    module.__dict__["__file__"] = str(page)
    sys.modules["__main__"] = module
    exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), module.__dict__)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
