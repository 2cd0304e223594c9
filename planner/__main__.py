"""`python -m planner` and the `planner` command."""

from __future__ import annotations

import gc
import os
import sys

from planner.foundation.vocabulary.release import DEPTH, DIGITS


def main() -> int:
    """Run the command line of this process and return its exit code."""
    # A command runs for seconds and keeps nearly all objects that it creates: garbage collection would take a third of
    # its time.
    gc.disable()
    _open_missing()
    sys.setrecursionlimit(DEPTH)
    sys.set_int_max_str_digits(DIGITS)
    try:
        from planner.cli.main import run

        return run(sys.argv[1:], _leave)
    except KeyboardInterrupt:  # an interrupt before the command line handles signals
        return 1


def _open_missing() -> None:
    """Open closed standard streams on the null device, as in other languages. If a process is started without them, the
    next opened file would become a standard stream, and printed text would be written to that file."""
    for number, mode in ((0, "r"), (1, "w"), (2, "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # open() returns the lowest free descriptor
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 -- stays open
            setattr(sys, ("stdin", "stdout", "stderr")[number], stream)


def _leave(code: int) -> None:
    from planner.foundation.support.signals import leave

    leave(code)


if __name__ == "__main__":
    sys.exit(main())
