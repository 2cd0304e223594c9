"""Decisions about one unit, derived by rules/batch. They depend on the outcomes of other units, but not on the names of
these units, so each combination of outcomes is derived once and cached."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from planner.foundation.vocabulary.records import frozen
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.rule_programs import batch_program

_WANT = (
    "skipped",
    "runs",
    "reused",
    "sees_plan",
    "pending",
    "outcome",
    "appliable",
    "needs_approval",
    "continued",
    "retried",
    "spares_tainted",
    "decided_by",
)
_UNIT = "unit"


@frozen
class Earlier:
    """A dependency of the unit U about which is decided. `is_read`: U reads outputs of the dependency.
    `changes_outputs`: the dependency has a plan that changes its outputs and is not applied yet. `is_awaited`: the plan
    of U depends on unknown parts of these outputs."""

    outcome: str
    is_read: bool = False
    changes_outputs: bool = False
    is_awaited: bool = False


@frozen
class EarlierResult:
    """The properties of an earlier result that decide whether it is reused: whether plugins or services affect it,
    whether it is young enough for -reuse, and whether the command relies on states without refreshing objects."""

    asks_plugins: bool = False
    asks_services: bool = False
    young_enough: bool = False
    trusts_states: bool = False


@frozen
class UnitDecision:
    """The decisions of the rules about a unit. `skipped`: the units because of which it is skipped. `sees_plan`: the
    units whose planned outputs it uses. `pending`: the units for whose unknown outputs it waits. `because`: the unit
    that caused the outcome, or ""."""

    skipped: tuple[str, ...] = ()
    sees_plan: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    runs: bool = False
    reused: bool = False
    outcome: str = ""
    appliable: bool = False
    retried: bool = False
    spares_tainted: bool = False
    because: str = ""
    asks: bool = False
    is_continued: bool = False
    """whether to plan the unit again after its apply, because some changes were deferred"""


def decide(
    command: str,
    before: Mapping[str, Earlier],
    kept: EarlierResult | None = None,
    result: str = "",
    died: int = 0,
    was_cut_off: bool = False,
    is_partial: bool = False,
    is_approved: bool = False,
) -> UnitDecision:
    """The decisions about a unit. `before`: the units that run before this unit. `kept`: the unit's earlier result, if
    its inputs are unchanged. `result`: the result of the unit's run, as in UnitResult; "" if the run has not ended.
    `died`: how often its worker died. `was_cut_off`: the unit was running when the run that is resumed was interrupted.
    `is_partial`: some changes are deferred. `is_approved`: the approval rules of the deployment's group approve the
    plan."""
    kinds = sorted(set(before.values()), key=_order)
    shape = _decide(command, tuple(kinds), kept, result, died, was_cut_off, is_partial, is_approved)
    if not (shape.skipped or shape.sees_plan or shape.pending or shape.because):
        return shape
    names = sorted(before)
    number = {kind: str(n) for n, kind in enumerate(kinds)}

    def named(numbers: tuple[str, ...]) -> tuple[str, ...]:
        return tuple([n for n in names if number[before[n]] in numbers]) if numbers else ()

    return UnitDecision(
        named(shape.skipped),
        named(shape.sees_plan),
        named(shape.pending),
        shape.runs,
        shape.reused,
        shape.outcome,
        shape.appliable,
        shape.retried,
        shape.spares_tainted,
        next(iter(named((shape.because,))), ""),
        shape.asks,
        shape.is_continued,
    )


def _order(kind: Earlier) -> tuple[str, bool, bool, bool]:
    return kind.outcome, kind.is_read, kind.changes_outputs, kind.is_awaited


@cache
def _decide(
    command: str,
    kinds: tuple[Earlier, ...],
    kept: EarlierResult | None,
    result: str,
    died: int,
    was_cut_off: bool,
    is_partial: bool,
    is_approved: bool,
) -> UnitDecision:
    facts = FactBuilder()
    facts.add("command", command)
    facts.add("about_unit", _UNIT)
    for n, kind in enumerate(kinds):
        other = str(n)
        facts.add("earlier", _UNIT, other, kind.outcome)
        if kind.is_read:
            facts.add("takes_output", _UNIT, "", other, "")
        if kind.changes_outputs:
            facts.add("changed_output", other, "")
        if kind.is_awaited:
            facts.add("waits_for_output", _UNIT, "", other, "", "")
            facts.add("unknown_output", other, "", "")
    if kept is not None:
        facts.add("same_inputs", _UNIT)
        for name in ("asks_plugins", "asks_services", "young_enough"):
            if getattr(kept, name):
                facts.add(name, _UNIT)
        if kept.trusts_states:
            facts.add("trusts_states")
    if was_cut_off:
        facts.add("was_cut_off", _UNIT)
    if is_partial:
        facts.add("defers", _UNIT)
    if is_approved:
        facts.add("approved_by", _UNIT, "")
    if result:
        facts.add("result", _UNIT, result)
    if died:
        facts.add("died_times", _UNIT, died)
    database = evaluate(batch_program(), facts.build(), _WANT)
    outcome_rows = database.sorted("outcome")
    if len(outcome_rows) > 1:
        raise AssertionError(f"the rules derive several outcomes: {outcome_rows}")
    return UnitDecision(
        tuple(str(row[1]) for row in database.sorted("skipped")),
        tuple(str(row[1]) for row in database.sorted("sees_plan")),
        tuple(sorted({str(row[1]) for row in database["pending"]})),
        bool(database["runs"]),
        bool(database["reused"]),
        str(outcome_rows[0][1]) if outcome_rows else "",
        bool(database["appliable"]),
        bool(database["retried"]),
        bool(database["spares_tainted"]),
        next((str(row[1]) for row in database.sorted("decided_by")), ""),
        bool(database["needs_approval"]),
        bool(database["continued"]),
    )
