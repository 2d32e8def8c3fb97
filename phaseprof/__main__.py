"""``python -m phaseprof``: the same as the ``phaseprof`` command."""

from __future__ import annotations

import sys

from phaseprof.cli import main

if __name__ == "__main__":
    sys.exit(main())
