"""The compiled rules that planning asks: loaded once per process, and only when they are needed."""

from __future__ import annotations

from functools import cache

from planner.datalog.engine.cache import load_program
from planner.datalog.engine.program import Program
from planner.support.assets import rules_path
from planner.vocabulary.diagnostic import Failure

ACTION_CLASSES = "shared/action_classes"
_DECISION = (
    ACTION_CLASSES,
    "object",
    "actions",
    "reasons",
    "data",
    "triggers",
    "imports",
    "drift",
    "outputs",
    "undecided",
    "again",
)


@cache
def program(*names: str) -> Program:
    """The program of these files (without `.dl`), of rules/plan where no folder is named. Raises Failure when one is
    broken."""
    loaded, diagnostics = load_program(rule_files(*names))
    if loaded is None:
        raise Failure([d for d in diagnostics if d.is_error])
    return loaded


def rule_files(*names: str) -> list[tuple[str, str]]:
    """(path, text) of rule files, of rules/plan where no folder is named, with the column types before them."""
    paths = ["atoms.dl", *(f"{name}.dl" if "/" in name else f"plan/{name}.dl" for name in names)]
    return [(path, (rules_path() / path).read_text(encoding="utf-8")) for path in paths]


def move_program() -> Program:
    """Implied moves, moves, and errors in move statements."""
    return program("implied_moves", "moves", "move_errors")


def moving_program() -> Program:
    """All about moves, for those who ask: also whether the command line leaves out a part of one."""
    return program("inputs/command", "graph/instances", "implied_moves", "moves", "move_errors", "move_limits")


def limit_program() -> Program:
    """What -target, -exclude and -replace mean for instances, and what instances of one resource wait for."""
    return program("inputs/command", "inputs/config", "graph/instances", "graph/own_references", "move_limits")


def removal_program() -> Program:
    """Which removed block counts for a resource."""
    return program("inputs/state", "graph/removals")


def decision_program() -> Program:
    """The action of one object, and its reason."""
    return program(*_DECISION)


def cause_program() -> Program:
    """Where planned values and actions come from: the decision, and what set it off."""
    return program(*_DECISION, "values", "unknowns", "causes")


def relevance_program() -> Program:
    """What contributed to a plan's changes, and why values are not known yet, as documents and policies tell it."""
    return program("relevant", "unknown_causes")
