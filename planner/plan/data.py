"""Planning data sources: read now, or say why that has to wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.evaluation.conditions import RuleResult
from planner.evaluation.instance import Instance
from planner.evaluation.objects import object_id, write_object
from planner.evaluation.provider_diagnostics import in_body
from planner.evaluation.schema_marks import marked_by_schema
from planner.language.decode import decode_block
from planner.plan.decide import Decision, Facts, decide, rows
from planner.plan.managed import ephemeral_problems, path_name, self_references
from planner.programs.actions import does
from planner.provider import remote_state
from planner.provider.propose import planned_unknown_object
from planner.values.paths import apply_marks, marked_paths, unknown_paths
from planner.values.settled import unknown_as_null
from planner.values.value import Null, Value, is_wholly_known, unmark_deep
from planner.vocabulary.address import join
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning

if TYPE_CHECKING:
    from planner.evaluation.configuration_walk import ConfigurationWalk
    from planner.plan.walk import PlanWalk


def plan_data(walk: PlanWalk, it: Instance) -> list[Diagnostic]:
    """Read a data source, or plan to read it while applying. Raises Failure."""
    assert it.decl is not None
    assert it.objects is not None
    problems = self_references(walk, it) or walk.conditions(it, "precondition")
    if has_errors(problems):
        return problems
    config = data_configuration(it, problems)
    facts: Facts = {"desired": (), "data_source": (), **readiness(walk, it, config)}
    changing = _changing_state(walk, it, config)
    if changing:
        facts["state_changes"] = (changing,)
    if it.decl.check is not None:
        facts["read_for_check"] = (f"check.{it.decl.check}",)
    if walk.options.mode == "refresh-only":
        facts["refresh_only"] = ()
    decision = decide(facts)
    if not decision.read_now:
        if it.decl.check is not None:
            report_to_check(walk, it, it.decl.check, [])
        walk.record.refreshed.remove_object(it.resource_address, it.key)
        planned = _planned(it, config)
        _record(walk, it, planned, facts, decision)
        if not does(decision.action, "makes"):
            it.objects.remove(it.key)
            return problems
        it.objects.set(it.key, marked_by_schema(planned, it.schema.block))
        return problems + walk.conditions(it, "postcondition", it.objects.instance(it.key))
    value, found = read_data(walk, it, config)
    if it.decl.check is not None:
        found = report_to_check(walk, it, it.decl.check, found)
        value = _planned(it, config) if value is None else value
    problems += found
    if value is not None:
        _record(walk, it, value, facts, decision)
    if value is None or has_errors(problems):
        return problems
    if is_wholly_known(value):
        walk.write(walk.record.refreshed, it, write_object(value, it.schema))
    elif it.decl.check is not None:  # a check that could not read it
        walk.write(walk.record.refreshed, it, write_object(_settled(value), it.schema))
    else:
        walk.record.refreshed.remove_object(it.resource_address, it.key)
    seen = marked_by_schema(value, it.schema.block)
    it.objects.set(it.key, seen)
    return problems + walk.conditions(it, "postcondition", seen)


def readiness(walk: PlanWalk, it: Instance, config: Value) -> Facts:
    """Facts about whether a data source or an ephemeral resource can be read or opened now."""
    facts: Facts = {}
    if not is_wholly_known(config):
        facts["config_unknown"] = tuple(sorted({path_name(path[:1]) for path in unknown_paths(config)}))
    changes = walk.changes_before(it)
    if changes:
        facts["change_before"] = changes
    if it.is_offline:
        facts["unasked"] = ()
    return facts


def _changing_state(walk: PlanWalk, it: Instance, config: Value) -> str:
    """What is about to change the state that a terraform_remote_state reads, "" for nothing."""
    if not walk.options.pending_states or not it.provider.is_inline or it.type != remote_state.NAME:
        return ""
    if not is_wholly_known(config):
        return ""
    return walk.options.pending_states.get(remote_state.source(unmark_deep(config)[0]) or "") or ""


def _settled(value: Value) -> Value:
    plain = unknown_as_null(unmark_deep(value)[0])
    return apply_marks(plain, marked_paths(value))


def read_data(walk: ConfigurationWalk, it: Instance, config: Value) -> tuple[Value | None, list[Diagnostic]]:
    """What the provider reads, with the configuration's marks; None when it cannot."""
    plain = unmark_deep(config)[0]
    problems = in_body(it.provider.validate_resource("data", it.type, plain), it.body, it.address)
    if has_errors(problems):
        return None, problems
    walk.hooks.apply_start(it.address, "read")
    answer = it.provider.read_data(it.type, plain, walk.meta(it))
    problems += in_body(answer.diagnostics, it.body, it.address)
    value = answer.value
    if not has_errors(problems) and (value.__class__ is Null or not is_wholly_known(value)):
        detail = f"The provider {it.configuration} gave no complete object for {it.address}."
        problems.append(error("provider.invalid_object", "Provider produced invalid object", detail))
    if has_errors(problems):
        return None, problems
    value = apply_marks(value, marked_paths(config))
    walk.hooks.apply_complete(it.address, "read", object_id(value))
    return value, problems


def data_configuration(it: Instance, problems: list[Diagnostic]) -> Value:
    """The configuration of an instance, with marks. Raises Failure with all problems so far."""
    assert it.decl is not None
    config, found = decode_block(it.decl.body, it.schema.block, it.scope)
    problems += [d.at(it.address) for d in found]
    problems += ephemeral_problems(it, config)
    if has_errors(problems):
        raise Failure(problems)
    return config


def _planned(it: Instance, config: Value) -> Value:
    """The object as far as the configuration tells, with the marks of that."""
    planned = planned_unknown_object(it.schema.block, unmark_deep(config)[0])
    return apply_marks(planned, marked_paths(config))


def _record(walk: PlanWalk, it: Instance, planned: Value, facts: Facts, decision: Decision) -> None:
    """What is read while applying is a change; of the rest the plan only keeps why it was read now."""
    if not does(decision.action, "changes"):
        walk.record.decided(rows(it.address, facts))
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


def report_to_check(walk: ConfigurationWalk, it: Instance, check: str, found: list[Diagnostic]) -> list[Diagnostic]:
    """A data source of a check that cannot be read fails the check, not the plan."""
    assert it.module is not None
    config_address = join(str(it.module.address.config), f"check.{check}")
    address = join(it.module_text, f"check.{check}")
    if has_errors(found):
        message = "; ".join(d.summary for d in found if d.is_error)
        result = RuleResult("fail", message)
    else:
        result = RuleResult("pass")
    walk.checks.report("check", config_address, address, "data", 0, result)
    return [warning(d.code, d.summary, d.detail, d.subject, address=d.address, is_check=True) for d in found]
