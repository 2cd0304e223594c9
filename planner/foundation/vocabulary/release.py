"""This release, and limits of the interpreter that its commands need."""

import os

RELEASE = "0.1.0"
COMPATIBLE_VERSION = "1.12.6"  # of OpenTofu: planner follows its behaviour, files and flags
NEXT_VERSION = "1.13.0"  # announced: its language is available where the variable PLANNER_COMPATIBILITY is 1.13

DEPTH = 4000  # expressions nested hundreds deep are rare, but the language sets no limit; the C stack bears this
DIGITS = 20_000  # the language's whole numbers have up to 19,729; to read millions in some file would take minutes


def follows_next() -> bool:
    """Whether the language of the next version of OpenTofu is requested."""
    return os.environ.get("PLANNER_COMPATIBILITY") == "1.13"
