"""An infrastructure planner whose rules derive the graph, the order and the reason of every step.

    text -> Config, State -> facts -> rules -> Graph -> walk -> Plan -> facts -> rules -> Graph -> walk -> State
    language   world         logic                     engine

`answers` explains and judges plans; `operations` has a module for each verb of the command line; `render` prints;
`workflows` are fleets, stacks, tests, renewed plans and the editor; `foundation` is below all of them.
"""

import os

__version__ = "0.1.0"

DEPTH = 4000  # expressions nested hundreds deep are rare, but the language sets no limit; the C stack bears this
DIGITS = 20_000  # the language's whole numbers have up to 19,729; to read millions in some file would take minutes
COMPATIBLE_VERSION = "1.12.6"  # of OpenTofu: planner follows its behaviour, files and flags
NEXT_VERSION = "1.13.0"  # announced: its language is available where the variable PLANNER_COMPATIBILITY is 1.13


def follows_next() -> bool:
    """Whether the language of the next version of OpenTofu is requested."""
    return os.environ.get("PLANNER_COMPATIBILITY") == "1.13"
