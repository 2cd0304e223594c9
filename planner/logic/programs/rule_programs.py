"""Loads the compiled rule programs of the product, each when it is first used, and only once in a process."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from planner.foundation.support.assets import rules_folder, rules_path
from planner.foundation.support.disk import read_text
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.foundation.vocabulary.records import evolve
from planner.language.syntax.rule_syntax import RuleFile
from planner.logic.datalog.engine.cache import load_program
from planner.logic.datalog.engine.program import RuleProgram

if TYPE_CHECKING:
    from planner.logic.datalog.language.spaces import Spaces


# The rules about fleets: rules/batch, and rules that users add.


@cache
def batch_program(own: Files = ()) -> RuleProgram:
    """The program of the rules about fleets, with the user's files. Raises Failure if a file has errors."""
    return check_fleet_rules(own)[0]


def check_fleet_rules(own: Files, name: str = "batch") -> tuple[RuleProgram, list[Diagnostic]]:
    """(the product's program `name` with the user's files, warnings about these files). Raises Failure if a file has
    errors."""
    core = files_of(name)
    program, problems = load(name, own)
    if program is None:
        raise Failure([d for d in problems if d.is_error])
    return program, [d for d in problems if d.subject is None or d.subject.filename not in dict(core)]


# The rule files of each program. A relation that belongs to several programs is declared only once, in rules/shared,
# because compiling a program fails if two files of the product declare the same name.


Files = tuple[tuple[str, str], ...]  # (name, text) of rule files

_CLASSES = ("shared/action_classes", "shared/action_events")
_DECISION = (
    *_CLASSES,
    "shared/action",
    "shared/decided",
    "plan/object",
    "plan/actions",
    "plan/reasons",
    "plan/data",
    "plan/triggers",
    "plan/imports",
    "plan/minimal_refresh",
    "plan/drift",
    "plan/outputs",
    "plan/undecided",
    "plan/again",
    "plan/invocations",
)
_PLANNED = ("shared/action", "shared/deposed", "shared/resource", "shared/reference")
_MOVES = ("plan/implied_moves", "plan/moves", "plan/move_errors")
_STACKS = ("stacks/approval", "stacks/instances", "stacks/rounds")
FILES: dict[str, tuple[str, ...]] = {
    "graph": (*_CLASSES, *_PLANNED, "shared/edges", "shared/order", "shared/mocked", "inputs/*", "graph/*", "apply/*"),
    # the action of one object, and its reason
    "decisions": _DECISION,
    # implied moves, moves, and errors in move statements
    "moves": _MOVES,
    # sources of planned values and actions: the decision and its cause
    "causes": (*_DECISION, "plan/values", "plan/unknowns", "plan/causes", "plan/because"),
    "policy": (*_CLASSES, *_PLANNED, "shared/decided", "shared/edges", "shared/verdicts", "shared/mocked", "policy/*"),
    "batch": ("shared/edges", "shared/order", "shared/verdicts", "batch/*"),
    # effects of -target, -exclude and -replace on instances, and dependencies between instances of one resource
    "limits": (
        "shared/resource",
        "shared/reference",
        "inputs/command",
        "inputs/config",
        "graph/instances",
        "graph/own_references",
        "plan/move_limits",
    ),
    # all rules about moves, for queries, including moves that the command line partly excludes
    "moving": ("inputs/command", "graph/instances", *_MOVES, "plan/move_limits"),
    # the removed block that applies to a resource
    "removals": ("inputs/state", "graph/removals"),
    # attributes that contribute to the changes of a plan, and causes of unknown values, for documents and policies
    "relevance": ("plan/relevant", "plan/unknown_causes"),
    "action_classes": _CLASSES,
    # levels, overrides and waivers, and their effect on findings of policies
    "verdicts": ("verdicts/*",),
    "state": ("inputs/state",),
    "providers": ("graph/needed_providers",),
    # results of the runs of test files
    "testing": ("test/*",),
    # actions on instances of components in a deployment
    "stacks": _STACKS,
    # pairs of destroyed and created objects that look like renamed objects, and moves that would keep them
    "renames": ("plan/renames",),
    # actions in plan JSON for objects that wait for a later plan
    "postponed": ("plan/postponed",),
    # results of searches that are already managed
    "discover": ("shared/verdicts", "discover/managed"),
    # the parts of a plan that are kept, or planned again, after an edit
    "renewal": ("renew/*",),
    # for queries: rules of deployments, with relations for everything in the plan of a deployment
    "deployments": (*_STACKS, "stacks/deployment", "shared/edges", "shared/verdicts", "batch/contents"),
}
"""{program: its files}, as paths below `rules` without `.dl`; `*` means all files of a directory. The file with the
column types (atoms.dl) belongs to every program"""


@cache
def files_of(program: str) -> Files:
    root = rules_folder()
    names = ["atoms.dl"]
    for name in FILES[program]:
        folder = name.removesuffix("/*")
        names += [f"{name}.dl"] if folder == name else [f"{folder}/{file}" for file in _rule_files(f"{root}/{folder}")]
    return tuple([(name, read_text(f"{root}/{name}")) for name in names])


def _rule_files(folder: str) -> list[str]:
    return sorted([name for name in os.listdir(folder) if name.endswith(".dl")])


@cache
def every_file() -> Files:
    """All rule files of the product except policy packs, which have namespaces of their own."""
    root = rules_path()
    paths = sorted(path for path in root.rglob("*.dl") if path.relative_to(root).parts[0] != "packs")
    return tuple((path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")) for path in paths)


def load(
    program: str,
    more: Sequence[tuple[str, str]] = (),
    made: Sequence[RuleFile] = (),
    spaces: Spaces | None = None,
) -> tuple[RuleProgram | None, list[Diagnostic]]:
    """(program, diagnostics) of a program of the product together with other files (see `load_program`)."""
    core = files_of(program)
    loaded, problems = load_program([*core, *more], [name for name, _ in core], made, every_file, spaces)
    return loaded, problems if loaded is not None else [
        _explain_unknown_relation(program, problem) for problem in problems
    ]


def _explain_unknown_relation(program: str, problem: Diagnostic) -> Diagnostic:
    """The error about an unknown relation, with an explanation if another program has the relation: the rule is in the
    wrong directory. Other problems are returned unchanged."""
    if problem.code != "rules.unknown_predicate" or problem.subject is None:
        return problem
    name = problem.subject.text.removeprefix("not ").partition("(")[0].strip()
    places = [other for other in _PLACES if other != program and _declares(other, name)]
    if program not in _PLACES or not places:
        return problem
    here, there = _PLACES[program], _PLACES[places[0]]
    detail = f"{name} is a relation of {there[0]}, not of {here[0]}: put rules about it into {there[1]}."
    return evolve(problem, detail=detail)


_PLACES = {
    "graph": ("graphs", ".planner/rules, or the directory of -rules"),
    "policy": ("policies", ".planner/policies, or files that -policy names"),
    "batch": ("fleets", ".planner/batch-rules or .planner/batch-policies"),
    "deployments": ("deployments of stacks", ".planner/stack-policies"),
}
"""{program to which users can add rules: (what its rules are about, place for the rules)}"""


def _declares(program: str, name: str) -> bool:
    declaration = re.compile(rf"^\.(?:decl|native)\s+{re.escape(name)}\s*\(", re.MULTILINE)
    return any(declaration.search(text) for _, text in files_of(program))


@cache
def product_program(name: str) -> RuleProgram:
    """A program of the product without other files. Raises Failure if a file has errors."""
    loaded, diagnostics = load(name)
    if loaded is None:
        raise Failure([d for d in diagnostics if d.is_error])
    return loaded
