"""Run the Python of one page in order, in one namespace, in the current folder: run_blocks.py PAGE

Blocks that need a package that is not installed are passed over, and named.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import types
from pathlib import Path

from pages import python_blocks

# What pages may show and a base install lacks.
OPTIONAL = ("torch", "wandb", "tensorboard", "pytest", "matplotlib", "plotly", "pyarrow")


def missing(code: str) -> list[str]:
    """Return the optional packages that the code imports and that are not here."""
    named = set(re.findall(r"^\s*(?:import|from) (\w+)", code, re.MULTILINE))
    return [name for name in OPTIONAL if name in named and importlib.util.find_spec(name) is None]


def main(page: Path) -> None:
    """Run the page's blocks; an exception is shown with the page's own line numbers."""
    module = types.ModuleType("__main__")
    module.__dict__["__file__"] = str(page)
    sys.modules["__main__"] = module
    for block in python_blocks(page):
        lacking = missing(block.code)
        if lacking:
            print(f"{page.name}:{block.line}: passed over, no {', '.join(lacking)}", file=sys.stderr)
            if not block.code.startswith("# alone"):
                return  # later blocks build on this one
            continue
        code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
        exec(code, module.__dict__)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
