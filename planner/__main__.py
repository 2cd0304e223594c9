"""`python -m planner` and the `planner` command."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line of this process and give its exit code."""
    from planner.cli.main import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
