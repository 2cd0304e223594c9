"""Invokes the planned actions before and after an object is changed."""

from __future__ import annotations

from collections.abc import Callable

from planner.engine.apply.shared_work import ApplyWork
from planner.engine.evaluation.action_calls import (
    action_config,
    action_instance,
    calling_object,
    condition_value,
    instance_of,
)
from planner.engine.evaluation.conditions import unknown_arguments
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.provider_diagnostics import in_body
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, Mark, Value, is_wholly_known, unmark_deep
from planner.foundation.vocabulary.address import parse_module
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.language.config.model import ResourceDecl
from planner.logic.model.plan import Invocation
from planner.logic.programs.actions import failure_effects
from planner.world.provider.interface import Provider
from planner.world.state.taint_record import TaintOrigin


def invoke_actions(
    walk: ApplyWork, it: Instance, step: str, position: str, caller: Value, problems: list[Diagnostic]
) -> bool:
    """Invoke the actions that are planned before or after (`position`) a step of an object's change (create, update or
    delete). If an action fails, the remaining actions are not invoked, unless the trigger has `on_failure = continue`.
    `caller`: the value of the object. Appends diagnostics to `problems`. Returns whether a failure taints the
    object."""
    for invocation in walk.invocations.get((it.address, step, position), ()):
        reported = _invoke(walk, it, invocation, step, caller)
        effects = failure_effects(invocation.on_failure, invocation.event) if has_errors(reported) else frozenset()
        if "warn" in effects:
            reported = [evolve(d, severity="warning") for d in reported]
        problems += reported
        if "stop" in effects:
            if "taint" in effects:
                walk.record.taints[it.address] = TaintOrigin(f"the action {invocation.address}", _place(it, invocation))
            return "taint" in effects
    return False


def _place(it: Instance, invocation: Invocation) -> str:
    assert it.decl is not None
    span = it.decl.lifecycle.action_triggers[invocation.block].span
    return f"{span.filename}:{span.line}"


def _invoke(walk: ApplyWork, it: Instance, invocation: Invocation, step: str, caller: Value) -> list[Diagnostic]:
    try:
        if step == "delete":
            return invoke(walk, invocation, invocation.config, None)
        assert it.decl is not None
        triggers = it.decl.lifecycle.action_triggers
        if invocation.block >= len(triggers) or invocation.index >= len(triggers[invocation.block].actions):
            detail = (
                f"The plan invokes {invocation.address} for {it.address}, but its configuration has no such trigger."
            )
            return [error("apply.undeclared_trigger", "Action trigger not declared", detail, address=it.address)]
        trigger = triggers[invocation.block]
        # decided in Python: whether the condition of an action is false during the apply -- it has to be evaluated
        if trigger.condition is not None and condition_value(trigger, it.scope) == "false":
            return []
        action = action_instance(walk, it, trigger.actions[invocation.index], it.scope)
        config, problems = action_config(action, caller)
        return problems if has_errors(problems) else problems + invoke(walk, invocation, config, action)
    except Failure as failure:
        return failure.diagnostics


def invoke_requested(walk: ApplyWork, decl: ResourceDecl, config_address: str) -> list[Diagnostic]:
    """Invoke the instances of an action that the option -invoke names, until one fails."""
    problems: list[Diagnostic] = []
    for invocation in walk.requested.get(config_address, ()):
        module = walk.context.module(parse_module(invocation.module))
        expansion = module.resource(decl.key).expansion if module is not None else None
        if module is None or expansion is None or invocation.key not in expansion.instances:
            detail = f"The plan invokes {invocation.address}, but the configuration no longer declares it."
            return [*problems, error("apply.undeclared_instance", "Action not declared", detail)]
        try:
            action = instance_of(walk, module, decl, invocation.key, expansion.instances[invocation.key])
            caller = calling_object(module, invocation.caller) if invocation.caller else None
            config, reported = action_config(action, caller)
            problems += reported
            if not has_errors(problems):
                problems += invoke(walk, invocation, config, action)
        except Failure as failure:
            problems += failure.diagnostics
        if has_errors(problems):
            return problems
    return problems


def invoke(walk: ApplyWork, invocation: Invocation, config: Value, action: Instance | None) -> list[Diagnostic]:
    """Invoke an action, and record the start and the end of the invocation. If an argument is unknown, an error is
    returned, and the action is not invoked. `action`: the declared instance of the action. If it is None, the provider
    recorded in the plan is called. Raises Failure."""
    address, body = invocation.address, action.body if action is not None else None
    plain, marks = unmark_deep(config)
    if not is_wholly_known(plain):
        where = unknown_arguments(plain)
        detail = f"These arguments of {address} are still unknown: {where}. The action was not invoked."
        return [error("apply.unknown_action", "Action configuration contains unknown value", detail, address=address)]
    if action is not None:
        provider: Provider = action.provider
    else:
        provider = walk.providers.instance(invocation.provider, invocation.provider_key, address)
    walk.record.flush()  # the action may take long, and earlier work must not be lost
    number = walk.record.begin(address, "invoke")
    walk.hooks.action_start(address, invocation.caller)
    result = provider.invoke_action(invocation.type, plain, _progress(walk, invocation, marks))
    walk.record.end(number, True)
    if hidden := _hidden(walk, marks):
        result = [evolve(d, detail=f"(detail suppressed: {hidden})") if d.detail else d for d in result]
    problems = in_body(result, body, address)
    failed = has_errors(problems)
    walk.record.count("failed" if failed else "invoke")
    (walk.hooks.action_errored if failed else walk.hooks.action_complete)(address, invocation.caller)
    return problems


def _progress(walk: ApplyWork, invocation: Invocation, marks: frozenset[Mark]) -> Callable[[str], None]:
    hidden = _hidden(walk, marks)

    def show(text: str) -> None:
        text = f"(message suppressed: {hidden})" if hidden else text
        walk.hooks.action_progress(invocation.address, invocation.caller, text)

    return show


def _hidden(walk: ApplyWork, marks: frozenset[Mark]) -> str:
    """Why messages of an action are hidden: the kind of secret values in its configuration. "" if the messages are
    shown."""
    kind = "ephemeral" if EPHEMERAL in marks else "sensitive" if SENSITIVE in marks else ""
    if not kind or (walk.hooks.show_sensitive and kind == "sensitive"):
        return ""
    return f"the configuration has {kind} values"
