"""The action of one object, as rules/plan/actions.dl and reasons.dl derive it from its facts.

The action does not depend on the name of the instance or on paths. It depends only on the predicates of the facts, and
on those values in the facts that rules examine (see datalog/engine/compile.py). Both together are called the shape of
the facts. Therefore a process derives the action only once for each shape, for example once for ten thousand new
resources."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias, cast

from planner.engine.evaluation.instance import Instance
from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.types import BOOL
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, Null, Unknown, unmark
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.nearest import option
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import ResourceDecl
from planner.language.config.references import Ref, parse_reference
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import Scope
from planner.language.syntax.body import variables
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.model.plan import Action
from planner.logic.programs.actions import does
from planner.logic.programs.rule_programs import product_program

Facts: TypeAlias = dict[str, tuple[Any, ...]]
"""{predicate: facts about one instance}. A fact is represented by its columns without the first column, which is the
instance. This is a string for one column, or a tuple of strings for several columns. If the instance is the only
column, the value of the dictionary is an empty tuple"""

_DERIVED = ("action", "reason", "destroy_prevented", "undecided", "differs_from_plan", "read_now")
_INSTANCE = "instance"
_OTHER = "\0"  # placeholder of values that no rule examines; does not occur in rules


@frozen
class Decision:
    """The action of an object, as the rules derive it. `reason`: the `action_reason` of plan JSON ("" for none).
    `undecided`: the possible decisions, if the provider must select one of them and was not called. `unforeseen`:
    during an apply, whether this decision differs from the decision in the plan. `read_now`: whether a data source is
    read while planning."""

    action: Action
    reason: str
    destroy_prevented: bool
    undecided: tuple[str, ...] = ()
    unforeseen: bool = False
    read_now: bool = False


def decide(facts: Facts) -> Decision:
    return _decide(_shape(facts))


def derive(facts: Facts, predicate: str) -> Sequence[tuple[Any, ...]]:
    """The rows of a predicate that the rules derive from these facts about an object, without the column for the
    object. Do not call it for predicates whose columns contain strings from the facts: a placeholder may replace
    strings that no rule examines."""
    return _derive(_shape(facts), predicate)


def _shape(facts: Facts) -> frozenset[tuple[str, ...]]:
    seen = _columns_looked_at()
    shape: set[tuple[str, ...]] = set()
    for name, values in facts.items():
        if not values:
            shape.add((name,))
            continue
        columns = seen[name]
        if len(columns) > 1:
            shape.update((name, *map(_as_seen, value, columns)) for value in values)
        elif columns[0] is None:
            shape.update((name, value) for value in values)
        else:
            shape.update((name, value if value in columns[0] else _OTHER) for value in values)
    return frozenset(shape)


def _as_seen(value: str, words: frozenset[object] | None) -> str:
    return value if words is None or value in words else _OTHER


@cache
def _columns_looked_at() -> dict[str, tuple[frozenset[object] | None, ...]]:
    """{predicate with several columns: for each column except the first, the values that rules examine, or None if
    every value matters}."""
    return {
        name: tuple(None if column.compared or column.shown else column.constants for column in columns[1:])
        for name, columns in product_program("decisions").compiled.looks.items()
        if len(columns) > 1
    }


def rows(instance: str, facts: Facts) -> tuple[tuple[str, ...], ...]:
    """The facts about an instance as rows (predicate, instance, other columns), sorted by predicate. The plan stores
    the rows for `why`."""
    items: list[tuple[str, ...]] = []
    for name in sorted(facts):
        items += [(name, instance, *_columns(value)) for value in facts[name]] or [(name, instance)]
    return tuple(items)


def _columns(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else (value,)


@cache
def _derive(shape: frozenset[tuple[str, ...]], predicate: str) -> Sequence[tuple[Any, ...]]:
    result = evaluate(product_program("decisions"), _fact_base(shape), [predicate])
    return tuple(row[1:] for row in result.sorted(predicate))


def _fact_base(shape: frozenset[tuple[str, ...]]) -> FactBase:
    builder = FactBuilder()
    for name, *values in shape:
        builder.add(name, _INSTANCE, *values)
    return builder.build()


@cache
def _decide(shape: frozenset[tuple[str, ...]]) -> Decision:
    result = evaluate(product_program("decisions"), _fact_base(shape), list(_DERIVED))
    actions: list[Any] = result.sorted("action")
    if len(actions) != 1:
        raise AssertionError(f"the rules derive {len(actions)} actions from {sorted(shape)}")
    reasons = result.sorted("reason")
    return Decision(
        cast(Action, actions[0][1]),
        reasons[0][1] if reasons else "",
        bool(result["destroy_prevented"]),
        tuple(str(row[1]) for row in result.sorted("undecided")),
        bool(result["differs_from_plan"]),
        bool(result["read_now"]),
    )


# Evaluates the arguments of lifecycle blocks about destroying: `destroy` and `prevent_destroy`.


def keeps_object(decl: ResourceDecl | None) -> bool:
    """Whether lifecycle.destroy is false, so that the object is never destroyed, only forgotten. Raises Failure."""
    expr = decl.lifecycle.destroy if decl is not None else None
    if expr is None:
        return False
    value, problems = try_evaluate(expr.node, Scope(), expr.source)
    if has_errors(problems):
        raise Failure(problems)
    if value.__class__ is not bool:
        detail = "lifecycle.destroy must be true or false."
        raise Failure(error("plan.lifecycle_destroy", "Invalid lifecycle destroy expression", detail, expr.span))
    return not value


def decide_instance(it: Instance, facts: Facts, scope: Scope) -> tuple[Decision, list[Diagnostic]]:
    """The decision about an instance, and diagnostics if prevent_destroy forbids the action or is invalid. If
    prevent_destroy is true, this fact is added to `facts`."""
    decision = decide(facts)
    decl = it.decl
    if decl is None or decl.lifecycle.prevent_destroy is None or it.deposed:
        return decision, []
    problems: list[Diagnostic] = []
    destroys = does(decision.action, "destroys")
    if _prevents_destroy(decl, scope, it.address, destroys, problems):
        facts["prevents_destroy"] = ()
        decision = decide(facts)
    if decision.destroy_prevented:
        detail = (
            f"The plan would destroy {it.address}, but prevent_destroy is true. Change prevent_destroy if the object "
            f"may be destroyed, or exclude the resource from this plan with {option('exclude', it.resource_address)}."
        )
        problems.append(error("plan.destroy_prevented", "Resource instance cannot be destroyed", detail, decl.span))
    return decision, problems


def _prevents_destroy(
    decl: ResourceDecl, scope: Scope, address: str, destroys: bool, problems: list[Diagnostic]
) -> bool:
    """Whether prevent_destroy is true. An invalid expression and a sensitive, ephemeral or non-bool value are always
    reported; an unknown or null value is reported only if the plan `destroys` the object."""
    expr = decl.lifecycle.prevent_destroy
    if expr is None:
        return False
    diagnostics = []
    for node in variables(expr.node):
        ref = parse_reference(node)
        if isinstance(ref, Ref) and ref.kind in ("each", "count"):
            detail = f"{ref.kind}.{ref.name} has no value in instances that are no longer declared."
            span = Span(expr.source, ref.start, ref.end)
            diagnostics.append(error("plan.prevent_destroy", "Invalid reference in prevent_destroy", detail, span))
    if diagnostics:
        problems += diagnostics
        return False
    value, diagnostics = try_evaluate(expr.node, scope, expr.source)
    if has_errors(diagnostics):
        problems += diagnostics
        return False
    if destroys:
        problems += diagnostics
    value, marks = unmark(value)
    reason = ""
    try:
        value = convert(value, BOOL)
    except ConversionError as bad:
        reason = str(bad)
    if SENSITIVE in marks:
        reason = "it is sensitive, but whether the plan destroys the object would reveal it"
    elif EPHEMERAL in marks:
        reason = "it is ephemeral, but it must have the same value during plan and apply"
    elif not reason and destroys and value.__class__ is Unknown:
        reason = f"it is known only after apply. Exclude the resource from this plan with {option('exclude', address)}"
    elif not reason and destroys and value.__class__ is Null:
        reason = "it is null; to allow destroying the object, write false"
    if reason:
        detail = f"prevent_destroy of {address} is not valid: {reason}."
        problems.append(error("plan.prevent_destroy", "Invalid value for prevent_destroy", detail, expr.span))
        return False
    return value is True
