"""The rules about fleets, loaded once: rules/batch, and what users add."""

from __future__ import annotations

from functools import cache

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.programs.rule_files import Files, files_of, load


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
