"""The compiled rules that planning asks: loaded once per process, and only when they are needed."""

from __future__ import annotations

from functools import cache

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.programs.rule_files import Files, files_of, load, program


def move_program() -> RuleProgram:
    """Implied moves, moves, and errors in move statements."""
    return program("moves")


def moving_program() -> RuleProgram:
    """All about moves, for those who ask: also whether the command line leaves out a part of one."""
    return program("moving")


def limit_program() -> RuleProgram:
    """What -target, -exclude and -replace mean for instances, and what instances of one resource wait for."""
    return program("limits")


def removal_program() -> RuleProgram:
    """Which removed block counts for a resource."""
    return program("removals")


def decision_program() -> RuleProgram:
    """The action of one object, and its reason."""
    return program("decisions")


def cause_program() -> RuleProgram:
    """Where planned values and actions come from: the decision, and what set it off."""
    return program("causes")


def verdict_program() -> RuleProgram:
    """Levels, overrides and waivers: what becomes of what policies said."""
    return program("verdicts")


def relevance_program() -> RuleProgram:
    """What contributed to a plan's changes, and why values are not known yet, as documents and policies tell it."""
    return program("relevance")


def suite_program() -> RuleProgram:
    """What comes of the runs of test files."""
    return program("testing")


def stack_program() -> RuleProgram:
    """What is done about the instances of components of a deployment."""
    return program("stacks")


def renewal_program() -> RuleProgram:
    """What of a plan is kept, and what is planned anew after edits."""
    return program("renewal")


def deployment_program() -> RuleProgram:
    """The same, with all that a plan of a deployment contains: for questions."""
    return program("deployments")


# The rules about fleets, loaded once: rules/batch, and what users add.


@cache
def batch_program(own: Files = ()) -> RuleProgram:
    """The rules of fleets together with users' files. Raises Failure when a file is broken."""
    return checked(own)[0]


def checked(own: Files, name: str = "batch") -> tuple[RuleProgram, list[Diagnostic]]:
    """The program with users' files, and warnings about these. Raises Failure."""
    core = files_of(name)
    program, problems = load(name, own)
    if program is None:
        raise Failure([d for d in problems if d.is_error])
    return program, [d for d in problems if d.subject is None or d.subject.filename not in dict(core)]
