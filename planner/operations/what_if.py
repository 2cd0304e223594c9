"""Implements `what-if`: compares plans with different options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from planner.answers.explain.causes import Because, CauseStep
from planner.answers.explain.plan_difference import (
    ValueDifference,
    cause_between,
    only_between,
    roots_between,
    value_differences,
)
from planner.answers.explain.why import Explainer
from planner.foundation.values.value import Null, Value, identical, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.limits import UNLIMITED
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.logic.model.plan import OutputChange, ResourceChange, change_name
from planner.operations.explanations import causes, explainer_of
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan
from planner.operations.plan_files import open_or_make_plan


@frozen(eq=False)
class Difference:
    """A difference between two plans for an object or output. `without`, `within`: the actions in the plan without and
    in the plan with the options; "no-op" if no action is planned."""

    name: str
    without: str
    within: str
    because: Because | None = None
    """the cause of the action in the plan with the options. If this plan has no action, it is the cause of the action
    in the other plan. If both actions are equal, it is the cause of the different values"""
    values: tuple[ValueDifference, ...] = ()
    """the values that differ, if the object exists after both plans"""
    was_planned: bool = True
    """whether the plan without the options contains the object"""
    is_planned: bool = True
    """whether the plan with the options contains the object"""


@frozen(eq=False)
class PlanComparison:
    """Two plans (without and with options), and their differences."""

    without: MadePlan[Any]
    within: MadePlan[Any]
    differences: tuple[Difference, ...] = field(factory=tuple)


def what_if(options: OperationOptions, base: OperationOptions) -> tuple[PlanComparison | None, list[Diagnostic]]:
    """Compare the plan for the options `base` with the plan for `options`. Returns the comparison and diagnostics. The
    comparison is None if one of the plans cannot be made."""
    without = open_or_make_plan(base)
    if without.complete is None:
        return None, list(without.diagnostics)
    within = open_or_make_plan(options)
    if within.complete is None:
        return None, list(within.diagnostics)
    problems = list(dict.fromkeys([*without.diagnostics, *within.diagnostics]))
    return compared(without.complete, within.complete), problems


class CausesOf(Protocol):
    """The causes of changes, by the name of the change."""

    def get(self, name: str, /) -> Because | None: ...


def compared(
    without: MadePlan[Any], within: MadePlan[Any], causes_of: Callable[[MadePlan[Any]], CausesOf] = causes
) -> PlanComparison:
    return PlanComparison(without, within, _differences(without, within, causes_of))


def base_of(options: OperationOptions, base_variables: tuple[str, ...]) -> OperationOptions:
    """The options without -var, -replace, -target and -exclude, but with the variable values in `base_variables`
    ("NAME=VALUE")."""
    given = tuple((kind, text) for kind, text in options.var_args if kind == "var-file")
    given += tuple(("var", text) for text in base_variables)
    return evolve(options, var_args=given, limits=UNLIMITED)


def _differences(
    without: MadePlan[Any], within: MadePlan[Any], causes_of: Callable[[MadePlan[Any]], CausesOf]
) -> tuple[Difference, ...]:
    before, after = _changes_by_name(without), _changes_by_name(within)
    old_causes: CausesOf | None = None
    new_causes: CausesOf | None = None
    explainers: tuple[Explainer, Explainer] | None = None
    roots: dict[str, CauseStep | None] = {}
    variables = _different_variables(without, within)
    differences = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old is new:
            continue
        old_action, new_action = (c.action if c is not None else "no-op" for c in (old, new))
        if old_action == new_action and (old is None or new is None or _same(old.after, new.after)):
            continue
        values: tuple[ValueDifference, ...] = ()
        if old is not None and new is not None and Null not in {old.after.__class__, new.after.__class__}:
            values = value_differences(name, old, new)
        if old is not None and new is not None and old_action == new_action:
            explainers = explainers or (explainer_of(without), explainer_of(within))
            new_causes = causes_of(within) if new_causes is None else new_causes
            because = new_causes.get(name)
            if because is not None:
                because = only_between(roots_between(because, *explainers, roots, False), roots, variables)
            if because is None:  # tracing each value takes longer, so values are traced only here
                because = cause_between([value.what for value in values], *explainers)
            differences.append(Difference(name, old_action, new_action, because, values))
            continue
        if new_action != "no-op":
            new_causes = causes_of(within) if new_causes is None else new_causes
            because = new_causes.get(name)
        else:
            old_causes = causes_of(without) if old_causes is None else old_causes
            because = old_causes.get(name)
        if because is not None:
            explainers = explainers or (explainer_of(without), explainer_of(within))
            because = roots_between(because, *explainers, roots, new_action == "no-op")
        planned = old is not None, new is not None
        differences.append(Difference(name, old_action, new_action, because, values, *planned))
    return tuple(differences)


def _changes_by_name(made: MadePlan[Any]) -> dict[str, ResourceChange | OutputChange]:
    named: dict[str, ResourceChange | OutputChange] = {change_name(c): c for c in made.plan.changes}
    return named | {f"output.{o.name}": o for o in made.plan.outputs}


def _different_variables(without: MadePlan[Any], within: MadePlan[Any]) -> frozenset[str]:
    both = without.variables, within.variables
    names = both[0].keys() | both[1].keys()
    return frozenset(f"var.{name}" for name in names if not _same(*(one.get(name, Null) for one in both)))


def _same(before: Value, after: Value) -> bool:
    return identical(unmark_deep(before)[0], unmark_deep(after)[0])
