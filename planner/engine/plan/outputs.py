"""Output values: those of child modules for their callers, those of the root module as planned changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.engine.evaluation.conditions import check_rule
from planner.engine.evaluation.context import ModuleInstance, output_marks
from planner.engine.evaluation.outputs import evaluate_output
from planner.engine.plan.action import Facts, derive, rows
from planner.engine.plan.findings import PlanRecord
from planner.foundation.values.operations import same_value
from planner.foundation.values.value import (
    Null,
    Value,
    is_wholly_known,
    mark,
    type_of,
    unmark,
    unmark_deep,
)
from planner.foundation.vocabulary.address import join
from planner.foundation.vocabulary.diagnostic import Diagnostic, Severity, has_errors
from planner.language.config.model import OutputDecl
from planner.logic.model.plan import Action, OutputChange
from planner.logic.programs.actions import NO_OP, does
from planner.world.state.model import OutputState, State

if TYPE_CHECKING:
    from planner.engine.plan.shared_work import PlanWork


def plan_output(walk: PlanWork, module: ModuleInstance, name: str, config_address: str) -> list[Diagnostic]:
    """Evaluate an output of one module instance; in the root module plan its change."""
    decl = module.config.outputs[name]
    address = join(module.text, f"output.{name}")
    severity: Severity = "warning" if walk.options.mode == "refresh-only" else "error"
    problems: list[Diagnostic] = []
    for i, rule in enumerate(decl.preconditions):
        result = check_rule(rule, "output", module.scope, severity)
        walk.checks.report("output_value", config_address, address, "output", i, result)
        problems += result.about("output_value", address, "output")
    if has_errors(problems):
        return problems
    value, found = evaluate_output(module, decl)
    problems += found
    if has_errors(problems):
        return problems
    if module.parent is not None:
        module.set_output(name, mark(value, output_marks(module, decl)))
        if is_wholly_known(unmark_deep(value)[0]):
            walk.record.module_outputs[address] = value
    else:
        _plan_root(walk.record, walk.state, decl, value)
    return problems


# ---------------------------------------------------------------- root outputs


def _plan_root(record: PlanRecord, state: State, decl: OutputDecl, value: Value) -> None:
    recorded = state.outputs.get(decl.name)
    before: Value = recorded.value if recorded is not None else Null()
    plain = unmark_deep(value)[0]
    facts = _facts(decl, recorded, before, plain)
    action = output_action(facts)
    sensitive = decl.sensitive or (recorded is not None and recorded.sensitive)
    # nothing to nothing: the type of the null that the expression gives is not told
    after = before if not does(action, "changes") and plain.__class__ is Null else value
    told = rows(f"output.{decl.name}", facts)
    record.outputs[decl.name] = OutputChange(decl.name, action, before, after, sensitive, told)
    if is_wholly_known(plain):
        if plain.__class__ is Null:
            record.refreshed.remove_output(decl.name)
        else:
            record.refreshed.set_output(decl.name, OutputState(plain, type_of(plain), decl.sensitive, decl.deprecated))


def _facts(decl: OutputDecl, recorded: OutputState | None, before: Value, plain: Value) -> Facts:
    """What rules/plan/outputs.dl asks about an output that the configuration has."""
    facts: Facts = {"output_declared": ()}
    if recorded is not None:
        facts["output_recorded"] = ()
    gone = (("before", unmark(before)[0]), ("after", plain))
    nulls = tuple(when for when, v in gone if v.__class__ is Null)
    if nulls:
        facts["output_null"] = nulls
    different = {
        "value": not is_wholly_known(plain) or not same_value(plain, before),
        "sensitivity": recorded is not None and decl.sensitive != recorded.sensitive,
        "deprecation": (decl.deprecated or "") != ((recorded.deprecated if recorded is not None else None) or ""),
    }
    if any(different.values()):
        facts["output_differs"] = tuple(what for what, differs in different.items() if differs)
    return facts


def output_action(facts: Facts) -> Action:
    """The action of an output of which these facts hold; no-op when the rules say nothing."""
    for (action,) in derive(facts, "output_action"):
        return str(action)
    return NO_OP


def plan_destroyed_output(record: PlanRecord, state: State, name: str, facts: Facts) -> list[Diagnostic]:
    """A root output that nothing declares any more, or that goes with everything else, as the facts say."""
    recorded = state.outputs.get(name)
    if recorded is not None:
        facts = {"output_recorded": (), **facts}
        action, told = output_action(facts), rows(f"output.{name}", facts)
        record.outputs[name] = OutputChange(name, action, recorded.value, Null(), recorded.sensitive, told)
    return []
