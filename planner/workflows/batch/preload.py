"""Imports and compiles everything that planning a unit needs. The server of processes loads this module before it
forks."""

from __future__ import annotations

import gc
import sys
from types import TracebackType

from planner.foundation.vocabulary.release import DEPTH, DIGITS

gc.disable()
sys.setrecursionlimit(DEPTH)
sys.set_int_max_str_digits(DIGITS)

from planner.logic.graph.build import graph_program  # noqa: E402
from planner.logic.programs.rule_programs import product_program  # noqa: E402
from planner.operations import apply, graphs, load, plan, policies, state_access, validate  # noqa: E402, F401

for program in (graph_program(), product_program("decisions"), product_program("moves")):
    _ = program.functions
gc.freeze()  # frozen objects are excluded from garbage collection, so their pages remain shared


def _tell(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
    """Suppress the traceback if the parent of this process ended before this process started."""
    if not issubclass(kind, FileNotFoundError | EOFError | ConnectionError):
        sys.__excepthook__(kind, problem, trace)


sys.excepthook = _tell
