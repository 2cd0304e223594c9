"""Plans the actions that the change of an object invokes, as rules/plan/invocations.dl decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.engine.evaluation.action_calls import (
    action_config,
    action_instance,
    calling_object,
    condition_value,
    instance_of,
    key_of,
    mentions_caller,
)
from planner.engine.evaluation.conditions import extend, path_name, unknown_arguments
from planner.engine.evaluation.context import ModuleInstance
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.provider_diagnostics import deferral_error, in_body
from planner.engine.evaluation.repetition import repetition_of
from planner.engine.evaluation.schemas import without_write_only
from planner.engine.evaluation.scope import ModuleScope
from planner.engine.plan.action import Facts, derive
from planner.engine.plan.shared_work import PlanWork
from planner.foundation.values.paths import marked_paths, unknown_paths
from planner.foundation.values.value import EPHEMERAL, Null, Unknown, Value, is_wholly_known, unmark_deep
from planner.foundation.vocabulary.address import ModuleAddress, ResourceAddress, join, parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import evolve
from planner.language.config.model import ActionReference, ActionTrigger, Config, ResourceDecl
from planner.logic.model.plan import Invocation
from planner.logic.programs.actions import event_place


class DeferredInvocation(Failure):
    """The provider of an action defers the invocation, so the object that invokes the action is deferred, too.
    `invoked`: the address of the action. `reason`: the reason that the provider reported. `unknown`: the arguments of
    the action that have unknown values."""

    invoked = ""
    reason = ""
    unknown: tuple[str, ...] = ()


def plan_invocations(
    walk: PlanWork, it: Instance, facts: Facts, before: Value, after: Value, problems: list[Diagnostic]
) -> None:
    """Plan the invocations of actions that the change of an instance causes. If providers are not called (-offline),
    nothing is planned. `facts`: the facts that decided the change; facts about triggers are added. `before`, `after`:
    the object before and after the change, with marks. Raises Failure with all problems so far, and DeferredInvocation
    if the object must be deferred because a provider defers an invocation."""
    triggers = it.decl.lifecycle.action_triggers if it.decl is not None else ()
    if not triggers or it.decl is None or it.module is None or it.is_offline:
        return
    if it.decl.made_up is not None:
        facts["stand_in"] = ()
    scope = it.scope if not it.is_orphan else _recorded_scope(walk, it)
    facts["trigger"] = tuple((str(n), event) for n, trigger in enumerate(triggers) for event in trigger.events)
    happens = {int(row[0]) for row in derive(facts, "event_happens")}
    conditions = tuple(
        (str(n), condition_value(triggers[n], scope)) for n in sorted(happens) if triggers[n].condition is not None
    )
    if conditions:
        facts["trigger_condition"] = conditions
        for (block,) in derive(facts, "unknown_at_end"):
            extend(problems, [_end_condition_problem(triggers[int(block)], it.address)])
    invoked = {(int(block), str(event)) for block, event in derive(facts, "invokes_at")}
    facts["trigger_action"] = tuple(
        (str(n), join(it.module_text, ref.action)) for n, trigger in enumerate(triggers) for ref in trigger.actions
    )
    facts["trigger_failure"] = tuple((str(n), trigger.on_failure) for n, trigger in enumerate(triggers))
    for block, event, index, ref in _in_order(triggers, invoked):
        caller = before if event_place(event).step == "delete" else after
        planned, reason = _plan(walk, it, ref, scope, caller, event, problems)
        if reason:
            facts["action_deferred"] = ((join(it.module_text, ref.action), reason),)
            for invoked, why in derive(facts, "deferred_with_action"):
                raise _deferral_failure(planned, invoked, why, it.address, problems)
        walk.record.add_invocation(planned.at(it.address, event, block, index, triggers[block].on_failure))


def _in_order(
    triggers: tuple[ActionTrigger, ...], invoked: set[tuple[int, str]]
) -> Iterator[tuple[int, str, int, ActionReference]]:
    for block, trigger in enumerate(triggers):
        for event in trigger.events:
            if (block, event) in invoked:
                for index, ref in enumerate(trigger.actions):
                    yield block, event, index, ref


def _recorded_scope(walk: PlanWork, it: Instance) -> ModuleScope:
    return walk.module_scope(it).inside(repetition_of(it.key))


def _plan(
    walk: PlanWork,
    it: Instance,
    ref: ActionReference,
    scope: ModuleScope,
    caller: Value,
    event: str,
    problems: list[Diagnostic],
) -> tuple[Invocation, str]:
    action = action_instance(walk, it, ref, scope)
    return _invocation(action, caller, event_place(event).step == "delete", it.address, problems)


def _deferral_failure(
    planned: Invocation, invoked: str, reason: str, caller: str, problems: list[Diagnostic]
) -> DeferredInvocation:
    """The exception to raise after a provider deferred the invocation `planned`. `caller`: the address of the deferred
    object, or of the action if the command line requested the invocation. `invoked`, `reason`: as in
    DeferredInvocation."""
    detail = f"The provider of {planned.address} deferred the invocation with the reason {reason}."
    failure = DeferredInvocation([*problems, deferral_error(reason, detail, caller)])
    failure.invoked, failure.reason = invoked, reason
    failure.unknown = tuple(sorted({path_name(path[:1]) for path in unknown_paths(unmark_deep(planned.config)[0])}))
    return failure


def _invocation(
    action: Instance, caller: Value, is_end: bool, by: str, problems: list[Diagnostic]
) -> tuple[Invocation, str]:
    """The invocation of an action, and the reason why its provider defers it ("" if it is not deferred). Raises Failure
    with all problems so far."""
    config, reported = action_config(action, caller)
    extend(problems, reported)
    plain = unmark_deep(config)[0]
    if is_end:
        extend(problems, _end_configuration_problems(action, config, plain, by))
    extend(problems, in_body(action.provider.validate_action(action.type, plain), action.body, action.address))
    answer = action.provider.plan_action(action.type, plain)
    extend(problems, in_body(answer.diagnostics, action.body, action.address))
    planned = Invocation(
        action.address,
        action.module_text,
        action.type,
        action.name,
        action.key,
        action.configuration,
        without_write_only(config, action.schema.block),
        provider_key=action.provider_key,
    )
    return planned, answer.deferred


def _end_configuration_problems(action: Instance, config: Value, plain: Value, caller: str) -> list[Diagnostic]:
    """An error if the plan cannot store the configuration of an action that is invoked when an object is destroyed.
    Empty if it can."""
    assert action.decl is not None
    wrong = ""
    if not is_wholly_known(plain):
        wrong = "has values that are not known yet"
    elif any(EPHEMERAL in marks for _, marks in marked_paths(config)):
        wrong = "has ephemeral values"
    if not wrong:
        return []
    detail = (
        f"The action is invoked when {caller} is destroyed, with the planned configuration; but this configuration "
        f"{wrong}."
    )
    return [
        error("plan.action_at_end", "Invalid action configuration", detail, action.decl.span, address=action.address)
    ]


def _end_condition_problem(trigger: ActionTrigger, caller: str) -> Diagnostic:
    detail = (
        f"The actions are invoked when {caller} is destroyed, only if the condition is true; but the condition is not "
        "known yet, and the configuration of a destroyed object is not evaluated again."
    )
    return error("plan.action_at_end", "Invalid action condition", detail, trigger.span, address=caller)


# Actions that the command line invokes.


def unknown_actions(config: Config, addresses: Iterable[ResourceAddress]) -> list[Diagnostic]:
    """Errors for addresses of -invoke that name no action in the configuration."""
    problems = []
    known = {
        str(ResourceAddress(ModuleAddress(tuple((name, None) for name in module.path)), "action", decl.type, decl.name))
        for module in config.root.walk()
        for decl in module.resources.values()
        if decl.mode == "action"
    }
    for address in addresses:
        if str(address.config) not in known:
            detail = f"The configuration has no {address.config}.{did_you_mean(str(address.config), known)}"
            problems.append(error("plan.undeclared_action", f"-invoke={address} does not name an action", detail))
    return problems


def plan_requested(walk: PlanWork, decl: ResourceDecl, modules: list[ModuleInstance]) -> list[Diagnostic]:
    """Plan the invocations of an action that the option -invoke requests. Returns problems."""
    problems: list[Diagnostic] = []
    for module in modules:
        expansion = module.resource(decl.key).expansion
        for key, repetition in expansion.instances.items() if expansion is not None else ():
            address = ResourceAddress(module.address, "action", decl.type, decl.name, key)
            if any(asked.covers(address) for asked in walk.options.limits.invoke):
                try:
                    _request(walk, instance_of(walk, module, decl, key, repetition), module, problems)
                except Failure as failure:
                    return failure.diagnostics
    return problems


def _request(walk: PlanWork, action: Instance, module: ModuleInstance, problems: list[Diagnostic]) -> None:
    assert action.decl is not None
    callers: list[str] = [""]
    if mentions_caller(action.decl, action.schema.block):
        targets = walk.options.limits.targets
        called = (parse_resource_instance(address) for address in _callers(module, action))
        callers = [str(a) for a in called if not targets or any(target.covers(a) for target in targets)]
        if not callers:
            detail = f"{action.address} uses caller, but no existing object has a trigger that names this action."
            raise Failure([*problems, error("plan.invoke_nothing", "Nothing to invoke", detail, action.decl.span)])
    for caller in callers:
        value = calling_object(module, caller) if caller else None
        planned, reason = _invocation(action, value, False, caller, problems)
        if reason:
            raise _deferral_failure(planned, action.address, reason, action.address, problems)
        if unknown := unknown_arguments(unmark_deep(planned.config)[0]):
            detail = f"Only actions are planned, so these arguments of {action.address} remain unknown: {unknown}."
            problem = error(
                "plan.invoke_unknown", "Action configuration contains unknown value", detail, action.decl.span
            )
            raise Failure([*problems, problem])
        walk.record.add_invocation(evolve(planned, caller=caller))


def _callers(module: ModuleInstance, action: Instance) -> Iterator[str]:
    """The existing instances in the module that have a trigger for the action."""
    assert action.decl is not None
    for decl in module.config.resources.values():
        refs = [ref for t in decl.lifecycle.action_triggers for ref in t.actions if ref.action == action.decl.key]
        if not refs:
            continue
        objects = module.resource(decl.key)
        for key, repetition in objects.expansion.instances.items() if objects.expansion is not None else ():
            scope = module.with_repetition(repetition)
            value = objects.instance(key)
            names = any((key_of(ref.key, scope) if ref.key else None) == action.key for ref in refs)
            if names and value is not None and value.__class__ not in (Null, Unknown):
                yield module.instance_address(decl, key)
