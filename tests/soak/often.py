"""planner with five snapshots a second, more than the environment can set: python tests/soak/often.py WORD..."""

from __future__ import annotations

import sys

from planner.world.state import snapshots

snapshots.SHORTEST = 0.2  # type: ignore[assignment]

if __name__ == "__main__":
    from planner.__main__ import main

    sys.exit(main())
