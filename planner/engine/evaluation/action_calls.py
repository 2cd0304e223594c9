"""Evaluates what an invocation of an action needs: the action instance that a trigger names, the configuration of the
action, and the condition of the trigger."""

from __future__ import annotations

from planner.engine.evaluation.conditions import of_instance, storage_problems
from planner.engine.evaluation.configuration_walk import ConfigurationWalk
from planner.engine.evaluation.context import ModuleInstance
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.repetition import Repetition, expand
from planner.engine.evaluation.scope import ModuleScope
from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.schema import BlockSchema
from planner.foundation.values.types import BOOL
from planner.foundation.values.value import EPHEMERAL, Null, Unknown, Value, unmark_deep
from planner.foundation.vocabulary.address import InstanceKey, ResourceAddress, format_key, parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import ActionReference, ActionTrigger, Expr, ModuleConfig, ResourceDecl
from planner.language.expressions.decode import decode_block
from planner.language.expressions.evaluate import try_evaluate
from planner.language.syntax.body import BodySchema, ExpectedBlock, variables
from planner.language.syntax.nodes import Traversal, Variable


class CallerScope(ModuleScope):
    """The scope for an action's configuration. `caller`: the value of the object whose change invokes the action; None
    if there is no such object."""

    def __init__(self, scope: ModuleScope, caller: Value) -> None:
        super().__init__(scope.module, scope.repetition)
        self.caller = caller

    def resolve(self, node: Traversal | Variable, source: Source | None) -> tuple[Value, int]:
        if (node.root if isinstance(node, Traversal) else node.name) != "caller":
            return super().resolve(node, source)
        if self.caller is None:
            detail = '"caller" is the object whose change invokes the action; it is not available here.'
            span = Span(source or Source("", ""), node.start, node.end)
            raise Failure(error("plan.invalid_caller", 'Invalid "caller" reference', detail, span))
        return self.caller, 0


def find_action(module: ModuleConfig, ref: ActionReference) -> ResourceDecl:
    """The `action` block that a trigger names. Raises Failure if the module does not contain this block."""
    decl = module.resources.get(ref.action)
    if decl is not None:
        return decl
    known = [key.removeprefix("action.") for key, one in module.resources.items() if one.mode == "action"]
    place = f"module {'.'.join(module.path)}" if module.path else "the root module"
    hint = did_you_mean(f"{ref.type}.{ref.name}", known)
    detail = f"There is no action {ref.type}.{ref.name} in {place}.{hint}"
    raise Failure(error("plan.undeclared_action", "Reference to undeclared action", detail, ref.span))


def key_problems(decl: ResourceDecl, ref: ActionReference) -> list[Diagnostic]:
    """Errors for a missing key, and for a key of an action that has neither count nor for_each."""
    repeated = "count" if decl.count is not None else "for_each" if decl.for_each is not None else ""
    if bool(repeated) == (ref.key is not None):
        return []
    if repeated:
        example = "0" if repeated == "count" else "each.key"
        detail = f"{decl.key} has {repeated}: name one of its instances, as in {decl.key}[{example}]."
        return [error("plan.missing_key", "Missing action instance key", detail, ref.span)]
    detail = f"{decl.key} has neither count nor for_each, so it has a single instance: remove the index."
    return [error("plan.unexpected_key", "Unexpected action instance key", detail, ref.span)]


def action_instance(walk: ConfigurationWalk, it: Instance, ref: ActionReference, scope: ModuleScope) -> Instance:
    """The action instance that a trigger of the resource instance `it` names. Raises Failure."""
    assert it.module is not None
    module = it.module
    decl = find_action(module.config, ref)
    problems = key_problems(decl, ref)
    if problems:
        raise Failure(problems)
    objects = module.resource(decl.key)
    address = ResourceAddress(module.address, "action", decl.type, decl.name)
    if objects.expansion is None:
        objects.expansion = expand(decl, module.scope, str(address))
    key = key_of(ref.key, scope) if ref.key is not None else None
    repetition = objects.expansion.instances.get(key)
    if repetition is None:
        detail = f"{address} has no instance {format_key(key)}."
        raise Failure(error("plan.missing_action_instance", "Action instance not found", detail, ref.span))
    return instance_of(walk, module, decl, key, repetition)


def instance_of(
    walk: ConfigurationWalk, module: ModuleInstance, decl: ResourceDecl, key: InstanceKey, repetition: Repetition
) -> Instance:
    """An instance of an action. Raises Failure if the action has no schema or no provider."""
    config_address = str(ResourceAddress(module.address.config, "action", decl.type, decl.name))
    node = f"{config_address} (expand)"
    return walk.declared_instance(
        node, walk.configurations.get(node, ""), module, decl, key, repetition, config_address
    )


def key_of(expr: Expr, scope: ModuleScope) -> int | str:
    value, problems = try_evaluate(expr.node, scope, expr.source)
    if has_errors(problems):
        raise Failure(problems)
    plain, marks = unmark_deep(value)
    if plain.__class__ in (int, str) and not marks:
        return plain
    detail = "The key of an action must be a string or a whole number that is known while planning and not secret."
    raise Failure(error("plan.action_key", "Invalid index expression", detail, expr.span))


def condition_value(trigger: ActionTrigger, scope: ModuleScope) -> str:
    """The value of a trigger's condition: "true", "false" or "unknown". Raises Failure if the condition has no such
    value."""
    assert trigger.condition is not None
    expr = trigger.condition
    value, problems = try_evaluate(expr.node, scope, expr.source)
    if has_errors(problems):
        raise Failure(problems)
    plain, marks = unmark_deep(value)
    why = ""
    if EPHEMERAL in marks:
        why = "is ephemeral, but the plan must record which actions are invoked"
    elif plain.__class__ is Unknown:
        return "unknown"
    elif plain.__class__ is Null:
        why = "is null"
    else:
        try:
            return "true" if convert(plain, BOOL) is True else "false"
        except ConversionError as bad:
            why = f"is neither true nor false: {bad}"
    detail = f"The condition of a trigger determines whether its actions are invoked, but this one {why}."
    raise Failure(error("plan.trigger_condition", "Invalid action trigger condition", detail, expr.span))


def action_config(action: Instance, caller: Value) -> tuple[Value, list[Diagnostic]]:
    assert action.decl is not None
    config, reported = decode_block(action.decl.body, action.schema.block, CallerScope(action.scope, caller))
    problems = of_instance(reported, action.address)
    return config, problems if has_errors(problems) else problems + storage_problems(action, config)


def calling_object(module: ModuleInstance, caller: str) -> Value:
    """The object of the resource instance at the address `caller`; None if the instance has no object. Raises KeyError
    if the module does not declare the resource."""
    address = parse_resource_instance(caller)
    return module.resource(address.config.relative).instance(address.key)


def mentions_caller(action: ResourceDecl, schema: BlockSchema) -> bool:
    blocks = (*(ExpectedBlock(name) for name in schema.blocks), ExpectedBlock("dynamic", ("type",)))
    content, _ = action.body.partial_content(BodySchema(dict.fromkeys(schema.attributes, False), blocks))
    parts = (*(a.expr for a in content.attributes.values()), *(block.body for block in content.blocks))
    nodes = (node for part in parts for node in variables(part))
    return any((node.root if isinstance(node, Traversal) else node.name) == "caller" for node in nodes)
