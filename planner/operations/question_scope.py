"""What a question is about, and what it is asked of: which relations only a plan can tell, and the plan for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import evolve
from planner.logic.datalog.language.literals import atoms
from planner.operations import graphs
from planner.operations.explanations import facts_with_instances
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan, Planned
from planner.operations.plan_files import Unstored, planned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from planner.logic.datalog.engine.fact_base import FactBase
    from planner.logic.datalog.engine.program import RuleProgram
    from planner.logic.datalog.language.model import Predicate


def is_about_changes(predicate: Predicate) -> bool:
    """Whether a relation of ours is one of planned changes or of applying them, which only a plan can tell."""
    return predicate.span.filename.startswith(("apply/", "inputs/changes", "shared/action.", "shared/deposed."))


def reads(program: RuleProgram, predicates: Iterable[str], is_wanted: Callable[[Predicate], bool]) -> bool:
    """Whether a question reads such a relation, itself or through rules of users."""
    waiting, seen = list(predicates), set(predicates)
    while waiting:
        predicate = program.predicates[waiting.pop()]
        if predicate.is_core:
            if is_wanted(predicate):
                return True
            continue
        for rule in program.rules_for(predicate.name):
            for atom, _ in atoms(rule.body):
                if atom.predicate not in seen:
                    seen.add(atom.predicate)
                    waiting.append(atom.predicate)
    return False


def known_elsewhere(problems: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The problems of a question; what other rules than those of graphs have is said to be theirs."""
    from planner.operations.rulebook import not_of_graphs

    return [not_of_graphs(problem) for problem in problems]


def plan_of_kind(options: OperationOptions, kind: str) -> Planned[Unstored]:
    """The plan that a question about a kind of graph is about, made for the purpose."""
    mode: Any = {"plan-destroy": "destroy", "plan-refresh-only": "refresh-only"}.get(kind, options.mode)
    return planned(evolve(options, mode=mode))


def facts_of_plan(made: MadePlan[Unstored], kind: str, instances: bool) -> FactBase:
    """What the graph rules read to apply a plan, or to make it again; with what is known of instances."""
    facts_of = graphs.apply_facts if kind == "apply" else graphs.planning_facts
    facts = facts_of(made.plan, made.loaded)
    return facts_with_instances(facts, made) if instances else facts
