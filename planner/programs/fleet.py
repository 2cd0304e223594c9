"""The rules about fleets, loaded once: rules/batch, and what users add."""

from __future__ import annotations

from functools import cache

from planner.datalog.engine.cache import load_program
from planner.datalog.engine.program import Program
from planner.support.assets import rules_path
from planner.vocabulary.diagnostic import Diagnostic, Failure

Files = tuple[tuple[str, str], ...]
"""(name, text) of rule files"""


@cache
def core_files() -> Files:
    root = rules_path()
    paths = [root / "atoms.dl", *sorted((root / "batch").glob("*.dl"))]
    return tuple((str(p.relative_to(root)), p.read_text(encoding="utf-8")) for p in paths)


@cache
def batch_program(own: Files = ()) -> Program:
    """The rules of fleets together with users' files. Raises Failure when a file is broken."""
    return checked(own)[0]


def checked(own: Files) -> tuple[Program, list[Diagnostic]]:
    """The program with users' files, and warnings about these. Raises Failure."""
    core = core_files()
    program, problems = load_program([*core, *own], core=[name for name, _ in core])
    if program is None:
        raise Failure([d for d in problems if d.is_error])
    return program, [d for d in problems if d.subject is None or d.subject.filename not in dict(core)]
