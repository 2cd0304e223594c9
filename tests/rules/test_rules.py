"""Every case of every rule file, and for every rule a case that fails when the rule is taken away."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from planner.answers.policy import rulebook
from planner.foundation.support.assets import rules_path
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.tools.cases import Case, load_cases, run_case
from planner.logic.graph.build import graph_program
from planner.logic.programs.rule_programs import batch_program, product_program

HERE = Path(__file__).parent


@cache
def programs() -> list[RuleProgram]:
    """The programs that the product runs."""
    product = [
        graph_program(),
        product_program("decisions"),
        product_program("moves"),
        product_program("causes"),
        batch_program(),
        product_program("limits"),
    ]
    product += [
        product_program("relevance"),
        product_program("verdicts"),
        product_program("testing"),
        product_program("stacks"),
        product_program("deployments"),
    ]
    product += [
        product_program("renewal"),
        product_program("renames"),
        product_program("discover"),
        product_program("postponed"),
    ]
    return [*product, rulebook.program("policy")]


def program_of(path: Path) -> RuleProgram:
    """The program that has the rules of a case file's namesake."""
    name = f"{path.parent.name}/{path.stem}.dl"
    for program in programs():
        if any(rule.file == name for rule in program.rules):
            return program
    raise LookupError(name)


@cache
def cases_of(path: Path) -> list[Case]:
    cases, diagnostics = load_cases(program_of(path), path.name, path.read_text(encoding="utf-8"))
    assert not diagnostics, diagnostics
    return cases


FILES = sorted(HERE.rglob("*.case"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_cases(path: Path) -> None:
    for case in cases_of(path):
        assert run_case(program_of(path), case) == [], case.name


NAMES = (
    *("graph", "decisions", "moves", "causes", "batch", "limits", "relevance", "verdicts", "testing", "stacks"),
    *("deployments", "renewal", "renames", "discover", "postponed", "policies"),
)


@pytest.mark.parametrize("index", range(len(NAMES)), ids=NAMES)
def test_every_rule_has_a_case_that_fails_without_it(index: int) -> None:
    assert len(programs()) == len(NAMES)
    tested = programs()[index]
    cases = [(path, case) for path in FILES if program_of(path) is tested for case in cases_of(path)]
    functions: dict[int, list[str]] = {}
    for step in tested.compiled.steps:
        for function in step.functions:
            functions.setdefault(function.rule, []).append(f"f{function.number}")
    unneeded = []
    elsewhere = {rule.name for earlier in programs()[:index] for rule in earlier.rules}
    for rule in tested.rules:
        if rule.name in elsewhere:
            continue
        kept = {name: tested.functions[name] for name in functions[rule.number]}
        tested.functions.update(dict.fromkeys(kept, lambda *_: set()))
        try:
            nearest_first = sorted(cases, key=lambda c: not rule.file.endswith(f"{c[0].stem}.dl"))
            if not any(run_case(tested, case) for _, case in nearest_first):
                unneeded.append(rule.name)
        finally:
            tested.functions.update(kept)
    assert unneeded == []


def test_every_rule_file_belongs_to_a_program() -> None:
    root = rules_path()
    known = {rule.file for program in programs() for rule in program.rules}
    known |= {predicate.span.filename for program in programs() for predicate in program.predicates.values()}
    files = {str(p.relative_to(root)) for p in root.rglob("*.dl")} - {"atoms.dl"}
    files = {name for name in files if not name.startswith("packs/")}  # tests/policy
    assert files <= known
