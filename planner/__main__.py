"""`python -m planner` and the `planner` command."""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """Run the command line of this process and give its exit code."""
    # A command lives for seconds and keeps nearly all it makes: looking for garbage would be a third of its time.
    gc.disable()
    from planner.cli.main import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
