"""Converts configurations and command lines to facts. Most predicates of rules/inputs/config.dl have a function of
their own."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from sys import intern  # an address occurs in many facts; interned strings are compared faster
from typing import Protocol, TypeAlias

from planner.foundation.values.schema import BlockSchema
from planner.foundation.vocabulary.address import Address, ModuleAddress, format_key, join
from planner.foundation.vocabulary.limits import UNLIMITED, Limits
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import Config, ModuleConfig, ProviderRef
from planner.language.config.statements import import_blocks, removed_blocks
from planner.language.syntax.nodes import Call, GetAttr, GetIndex, Step, Traversal, Variable
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.facts import mentions
from planner.logic.facts.mentions import Mention
from planner.logic.model.graph import CommandLine


class ArgumentSchemas(Protocol):
    """The provider schemas. Facts depend on them, because only a schema distinguishes arguments from blocks."""

    def resource_schema(self, provider: str, mode: str, type: str) -> BlockSchema | None: ...
    def provider_schema(self, provider: str) -> BlockSchema | None: ...
    def provider_functions(self, provider: str) -> tuple[Collection[str], bool] | None:
        """(names of the provider's functions, whether this list is complete); None if the provider's schema is not
        available."""

    def provisioner_schema(self, type: str) -> BlockSchema | None: ...


def module_address(module: ModuleConfig) -> str:
    """The address of a module, such as `module.a.module.b`; "" for the root module."""
    return ".".join(f"module.{name}" for name in module.path)


def from_config(facts: FactBuilder, config: Config, schemas: ArgumentSchemas, imports: bool = True) -> None:
    """Add facts about the declarations and references in the configuration, with their spans. `imports`: whether import
    blocks are included."""
    for module in config.root.walk():
        address = module_address(module)
        _module_call(facts, config, module, address)
        _variables(facts, module, address)
        _locals(facts, module, address)
        _outputs(facts, module, address)
        _resources(facts, module, address, schemas)
        _checks(facts, module, address)
        _provider_blocks(facts, module, address, schemas)
        _expects_provider(facts, module, address)
        _requires_provider(facts, module, address)
        _passes_provider(facts, module, address, config)
    removed_statements(facts, config)
    if imports:
        for module, target, block in import_blocks(config):
            named = mentions.of_import(block)
            _references(facts, "import_reference", str(target), module_address(module), named, module)
    for provider in sorted({row[2] for row in facts.rows("calls_named")} - {""}):
        _provider_functions(facts, provider, schemas)


def _references(
    facts: FactBuilder, predicate: str, object: str, module: str, found: Iterable[Mention], within: ModuleConfig
) -> None:
    """Add facts about the references in an object's configuration. `within`: the module that contains them, which has
    the address `module`."""
    add = facts.add
    for node, source, path in found:
        if isinstance(node, Call):
            called = "validation_calls_function" if predicate == "validation_reference" else "calls_function"
            _function_call(facts, called, object, module, node, source, within)
            continue
        named = subject(node, module)
        if named is None:
            continue
        target, general = intern(named[0]), named[1]
        span = Span(source, node.start, node.end)
        add(predicate, object, target, intern(path), source=span)
        if general is not None:
            add("without_key", target, general, source=span)


def _function_call(
    facts: FactBuilder, predicate: str, object: str, module: str, node: Call, source: Source, within: ModuleConfig
) -> None:
    span = Span(source, node.start, node.end)
    _, name, *alias, function = node.name.split("::") if node.name.count("::") in (2, 3) else ("",) * 3
    provider = within.provider_source(name) if name in within.required_providers else ""
    facts.add("calls_named", object, node.name, provider, alias[0] if alias else "", function, source=span)
    if not provider:
        return
    facts.add(predicate, object, module, provider, alias[0] if alias else "", source=span)
    default_configuration(facts, provider, span)


def _provider_functions(facts: FactBuilder, provider: str, schemas: ArgumentSchemas) -> None:
    result = schemas.provider_functions(provider)
    if result is None:
        return
    functions, are_all = result
    facts.add("functions_fixed" if are_all else "functions_registered", provider)
    for name in functions:
        facts.add("provider_function", provider, name)


def _module_call(facts: FactBuilder, config: Config, module: ModuleConfig, address: str) -> None:
    call, caller = module.call, config.root.descendant(module.path[:-1])
    if call is None or caller is None:
        return
    parent = ".".join(f"module.{name}" for name in module.path[:-1])
    facts.add("child_module", address, parent, source=call.span)
    _references(facts, "reference", address, parent, mentions.of_call(call), caller)
    for name in module.variables:
        attribute = call.inputs.get(name)
        if attribute is not None:
            result = mentions.in_expression(attribute.expr, attribute.source, name)
            _references(facts, "reference", f"{address}.var.{name}", parent, result, caller)


def _variables(facts: FactBuilder, module: ModuleConfig, address: str) -> None:
    for name, variable in module.variables.items():
        object = intern(join(address, f"var.{name}"))
        facts.add("input_variable", object, address, name, source=variable.span)
        if variable.validations:
            facts.add("validated", object, source=variable.validations[0].span)
            result = mentions.in_rules(variable.validations, "validation")
            _references(facts, "validation_reference", object, address, result, module)


def _locals(facts: FactBuilder, module: ModuleConfig, address: str) -> None:
    for name, local in module.locals.items():
        object = intern(join(address, f"local.{name}"))
        facts.add("local", object, address, source=local.span)
        _references(facts, "reference", object, address, mentions.in_expr(local.expr, "value"), module)


def _outputs(facts: FactBuilder, module: ModuleConfig, address: str) -> None:
    for name, output in module.outputs.items():
        object = intern(join(address, f"output.{name}"))
        facts.add("output_value", object, address, name, source=output.span)
        _references(facts, "reference", object, address, mentions.of_output(output), module)


def _resources(facts: FactBuilder, module: ModuleConfig, address: str, schemas: ArgumentSchemas) -> None:
    for key, resource in module.resources.items():
        object = intern(join(address, key))
        facts.add("resource", object, address, resource.mode, resource.type, source=resource.span)
        if resource.made_up is not None:
            facts.add("overridden", object, resource.made_up.block, source=resource.made_up.span)
        schema = schemas.resource_schema(module.provider_source(resource.provider_name), resource.mode, resource.type)
        result = mentions.of_resource(resource, schema, schemas.provisioner_schema)
        _references(facts, "reference", object, address, result, module)
        if resource.mode == "action" and schema is not None:
            result = (m for m in mentions.in_body(resource.body, schema, "config.") if not mentions.is_caller(m))
            _references(facts, "action_reference", object, address, result, module)
        lifecycle = resource.lifecycle
        for trigger in lifecycle.action_triggers:
            for ref in trigger.actions:
                for event in trigger.events:
                    facts.add("triggers", object, intern(join(address, ref.action)), event, source=ref.span)
        if lifecycle.prevent_destroy is not None:
            result = mentions.in_expr(lifecycle.prevent_destroy, "lifecycle.prevent_destroy")
            _references(facts, "destroy_reference", object, address, result, module)
        if lifecycle.preconditions or lifecycle.postconditions:
            first = (lifecycle.preconditions or lifecycle.postconditions)[0]
            facts.add("has_conditions", object, source=first.span)
        if lifecycle.create_before_destroy:
            source = lifecycle.create_before_destroy_span or lifecycle.span or resource.span
            facts.add("create_before_destroy", object, source=source)


def _checks(facts: FactBuilder, module: ModuleConfig, address: str) -> None:
    for name, check in module.checks.items():
        object = intern(join(address, f"check.{name}"))
        facts.add("check", object, address, source=check.span)
        _references(facts, "reference", object, address, mentions.in_rules(check.assertions, "assert"), module)
        if check.data is not None:
            facts.add("check_data", join(address, check.data.key), object, source=check.data.span)


def configuration_address(module: str, provider: str, alias: str | None) -> str:
    """The address of a provider configuration, such as `module.a.provider["host/ns/type"].alias`."""
    text = f'provider["{provider}"]'
    return join(module, f"{text}.{alias}" if alias else text)


def _provider_blocks(facts: FactBuilder, module: ModuleConfig, address: str, schemas: ArgumentSchemas) -> None:
    for block in module.providers.values():
        provider = module.provider_source(block.name)
        configuration = configuration_address(address, provider, block.alias)
        facts.add("provider_block", configuration, address, provider, block.alias or "", source=block.span)
        if block.mocking is not None:
            facts.add("mocks_configuration", configuration, source=block.span)
        elif block.is_empty:
            facts.add("empty_provider_block", configuration, source=block.span)
        schema = schemas.provider_schema(provider) if block.mocking is None else None
        if schema is not None:
            _references(facts, "reference", configuration, address, mentions.in_body(block.body, schema), module)
        default_configuration(facts, provider, block.span)


def default_configuration(facts: FactBuilder, provider: str, source: object) -> None:
    facts.add("default_configuration", provider, configuration_address("", provider, None), source=source)


def _expects_provider(facts: FactBuilder, module: ModuleConfig, address: str) -> None:
    for required in module.required_providers.values():
        for expected in required.configuration_aliases:
            row = (address, required.source, expected.alias or "")
            facts.add("expects_provider", configuration_address(*row), *row, source=required.span)


def _requires_provider(facts: FactBuilder, module: ModuleConfig, address: str) -> None:
    for key, resource in module.resources.items():
        provider = module.provider_source(resource.provider_name)
        alias = resource.provider_alias
        span = resource.provider.span if resource.provider and resource.provider.span else resource.span
        facts.add("requires_provider", intern(join(address, key)), address, provider, alias, source=span)
        default_configuration(facts, provider, span)


def _passes_provider(facts: FactBuilder, module: ModuleConfig, address: str, config: Config) -> None:
    call = module.call
    parent = config.root.descendant(module.path[:-1])
    if call is None or parent is None:
        return
    for inner, outer in call.providers:
        span = outer.span or inner.span or call.span
        row = (_provider(module, inner), inner.alias or "", _provider(parent, outer), outer.alias or "")
        facts.add("passes_provider", address, *row, source=span)
        mine = row[:2]
        facts.add("handed_over", configuration_address(address, *mine), address, *mine, source=span)
        default_configuration(facts, _provider(parent, outer), span)


def _provider(module: ModuleConfig, reference: ProviderRef) -> str:
    return module.provider_source(reference.name)


def removed_statements(facts: FactBuilder, config: Config) -> None:
    for position, (address, block) in enumerate(removed_blocks(config)):
        facts.add("removed_statement", position, address, "destroy" if block.destroy else "keep", source=block.span)


# Targets of traversals, as keys of the graph rules (see `key` in rules/atoms.dl).


Subject: TypeAlias = tuple[str, str | None]  # the key of a target, and that key without an instance key

NO_VERTEX = frozenset(("count", "each", "self", "path", "terraform", "tofu", "template", "lazy", "arg"))


def subject(node: Traversal | Variable, module: str) -> Subject | None:
    """(key of the target of a traversal in `module`, this key without an instance key). The second item is None if it
    is the same. The result is None if no vertex could represent the target."""
    if isinstance(node, Variable) or node.root in NO_VERTEX:
        return None
    steps, root = node.steps, node.root
    first = steps[0]
    if not isinstance(first, GetAttr):
        return None
    if root in ("var", "local"):
        return join(module, f"{root}.{first.name}"), None
    if root == "module":
        return _module_subject(join(module, f"module.{first.name}"), steps)
    if root in ("data", "ephemeral", "list", "resource"):
        if len(steps) < 2 or not isinstance(steps[1], GetAttr):
            return None
        prefix = "" if root == "resource" else f"{root}."
        return _keyed_subject(join(module, f"{prefix}{first.name}.{steps[1].name}"), steps, 2)
    return _keyed_subject(join(module, f"{root}.{first.name}"), steps, 1)


def _keyed_subject(general: str, steps: tuple[Step, ...], at: int) -> Subject:
    if len(steps) > at and isinstance(step := steps[at], GetIndex):
        return general + _key(step), general
    return general, None


def _module_subject(call: str, steps: tuple[Step, ...]) -> Subject:
    if len(steps) == 1:
        return call, None
    second = steps[1]
    if isinstance(second, GetAttr):
        return f"{call}.{second.name}", None
    if len(steps) > 2 and isinstance(output := steps[2], GetAttr):
        return f"{call}{_key(second)}.{output.name}", f"{call}.{output.name}"
    return call + _key(second), call


def _key(step: GetIndex) -> str:
    key = step.key
    return format_key(key if isinstance(key, (int, str)) else str(key))


# Facts of the command line: the predicates of rules/inputs/command.dl.


def from_command(facts: FactBuilder, walk: str, limits: Limits = UNLIMITED) -> None:
    """Add facts about the kind of walk, the limits that the command line sets, and the addresses of -replace and
    -invoke."""
    facts.add("walk", walk, source=CommandLine(walk))
    for option, address in limits.options():
        predicate = {"replace": "asked_replacement", "invoke": "asked_invocation"}.get(option, option)
        row = (str(address), _address_form(address), str(address.config))
        facts.add(predicate, *row, source=CommandLine(f"-{option}={address}"))


def _address_form(address: Address) -> str:
    """The form of an address: "module" or "resource" for an address without keys, otherwise "module_instance",
    "resource_instance" (only the module of the resource has keys) or "instance"."""
    keyed = any(key is not None for _, key in address.module.steps)
    if isinstance(address, ModuleAddress):
        return "module_instance" if keyed else "module"
    if address.key is not None:
        return "instance"
    return "resource_instance" if keyed else "resource"
