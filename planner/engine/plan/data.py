"""Plans data sources. A data source is read while planning, or the plan records why the apply must read it."""

from __future__ import annotations

from planner.engine.evaluation.conditions import path_name
from planner.engine.evaluation.data import data_configuration, read_data, report_to_check
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.objects import write_object
from planner.engine.evaluation.schemas import marked_by_schema
from planner.engine.plan.action import Decision, Facts, decide, rows
from planner.engine.plan.options import ComingState
from planner.engine.plan.shared_work import PlanWork
from planner.foundation.values.paths import apply_marks, marked_paths, unknown_paths
from planner.foundation.values.sets import unknown_as_null
from planner.foundation.values.value import Null, Value, is_wholly_known, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.logic.programs.actions import does
from planner.world.provider import remote_state
from planner.world.provider.propose import planned_unknown_object


def plan_data(walk: PlanWork, it: Instance) -> list[Diagnostic]:
    """Plan a data source: read it, or record that the apply must read it. Returns the problems. Raises Failure."""
    assert it.decl is not None
    assert it.objects is not None
    problems = walk.self_references(it) or walk.conditions(it, "precondition")
    if has_errors(problems):
        return problems
    config = data_configuration(it, problems)
    facts: Facts = {"desired": (), "data_source": (), **readiness(walk, it, config)}
    coming = _coming_state(walk, it, config)
    if coming is not None and not coming.is_known:
        facts["state_changes"] = (f"unit.{coming.unit}",)
    if it.decl.check is not None:
        facts["read_for_check"] = (f"check.{it.decl.check}",)
    if walk.options.mode == "refresh-only":
        facts["refresh_only"] = ()
    decision = decide(facts)
    if not decision.read_now:
        if it.decl.check is not None:
            report_to_check(walk, it, it.decl.check, [])
        walk.record.refreshed.remove_object(it.resource_address, it.key)
        planned = _planned_from_config(it, config)
        if coming is not None:
            planned = {
                **planned,
                "outputs": remote_state.with_outputs(unmark_deep(config)[0], coming.outputs)["outputs"],
            }
        _record(walk, it, planned, facts, decision)
        if not does(decision.action, "makes"):
            it.objects.remove(it.key)
            return problems
        it.objects.set(it.key, marked_by_schema(planned, it.schema.block))
        return problems + walk.conditions(it, "postcondition", it.objects.instance(it.key))
    value, diagnostics = (
        (_with_coming_outputs(config, coming), list[Diagnostic]())
        if coming is not None
        else read_data(walk, it, config)
    )
    if it.decl.check is not None:
        diagnostics = report_to_check(walk, it, it.decl.check, diagnostics)
        value = _planned_from_config(it, config) if value is None else value
    problems += diagnostics
    if value is not None:
        _record(walk, it, value, facts, decision)
    if value is None or has_errors(problems):
        return problems
    if is_wholly_known(value):
        walk.write(walk.record.refreshed, it, write_object(value, it.schema))
    elif it.decl.check is not None:  # the data source of a check could not be read
        walk.write(walk.record.refreshed, it, write_object(_state_value(value), it.schema))
    else:
        walk.record.refreshed.remove_object(it.resource_address, it.key)
    it.objects.set(it.key, marked_by_schema(value, it.schema.block))
    return problems + walk.conditions(it, "postcondition", it.objects.instance(it.key))


def readiness(walk: PlanWork, it: Instance, config: Value) -> Facts:
    """Facts that determine whether a data source can be read, or an ephemeral resource can be opened, while
    planning."""
    facts: Facts = {}
    if not is_wholly_known(config):
        facts["config_unknown"] = tuple(sorted({path_name(path[:1]) for path in unknown_paths(config)}))
    changes = walk.changes_before(it)
    if changes:
        facts["change_before"] = changes
    if it.is_offline:
        facts["offline"] = ()
    return facts


def _coming_state(walk: PlanWork, it: Instance, config: Value) -> ComingState | None:
    """The planned new state that a terraform_remote_state data source reads, if an apply of another unit will write
    this state; otherwise None."""
    if not walk.options.coming_states or not it.provider.is_inline or it.type != remote_state.NAME:
        return None
    if not is_wholly_known(config):
        return None
    return walk.options.coming_states.get(remote_state.source(unmark_deep(config)[0]) or "")


def _with_coming_outputs(config: Value, coming: ComingState) -> Value:
    value = remote_state.with_outputs(unmark_deep(config)[0], coming.outputs)
    return apply_marks(value, marked_paths(config))


def _state_value(value: Value) -> Value:
    plain = unknown_as_null(unmark_deep(value)[0])
    return apply_marks(plain, marked_paths(value))


def _planned_from_config(it: Instance, config: Value) -> Value:
    planned = planned_unknown_object(it.schema.block, unmark_deep(config)[0])
    return apply_marks(planned, marked_paths(config))


def _record(walk: PlanWork, it: Instance, planned: Value, facts: Facts, decision: Decision) -> None:
    """Record a change if the apply must read the data source. If it was already read, record only the facts behind this
    decision."""
    if not does(decision.action, "changes"):
        walk.record.add_decision(rows(it.address, facts))
        return
    walk.record.add(
        walk.record.change_of(
            it,
            decision.action,
            decision.reason,
            Null(it.object_type),
            planned,
            facts=rows(it.address, facts),
            undecided=decision.undecided,
        )
    )
