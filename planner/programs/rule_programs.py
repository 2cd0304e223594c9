"""The compiled rules that planning asks: loaded once per process, and only when they are needed."""

from __future__ import annotations

from functools import cache

from planner.datalog.engine.program import Program
from planner.support.assets import rules_path
from planner.vocabulary.diagnostic import Failure


@cache
def program(*names: str) -> Program:
    """The program of these files of rules/plan (without `.dl`). Raises Failure when a file is broken."""
    folder = rules_path()
    files = [("atoms.dl", (folder / "atoms.dl").read_text(encoding="utf-8"))]
    for name in names:
        files.append((f"plan/{name}.dl", (folder / "plan" / f"{name}.dl").read_text(encoding="utf-8")))
    loaded, diagnostics = Program.load(files)
    if loaded is None:
        raise Failure([d for d in diagnostics if d.is_error])
    return loaded


def move_program() -> Program:
    """Implied moves, moves, and errors in move statements."""
    return program("implied_moves", "moves", "move_errors")


def decision_program() -> Program:
    """The action of one object, and its reason."""
    return program("object", "actions", "reasons", "undecided", "again")


def cause_program() -> Program:
    """Where planned values and actions come from: the decision, and what set it off."""
    return program("object", "actions", "reasons", "undecided", "again", "values", "unknowns", "causes")
