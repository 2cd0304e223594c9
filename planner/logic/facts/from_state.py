"""Converts states and planned changes to facts of rules/inputs/state.dl, rules/inputs/changes.dl and
rules/graph/instances.dl. Facts from the state have a StateEntry as source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planner.foundation.support.digests import sha256_of
from planner.foundation.values.value import Null
from planner.foundation.vocabulary.address import (
    ResourceAddress,
    format_key,
    format_resource,
    join,
    parse_address,
    parse_module,
    parse_resource_instance,
)
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.model.graph import CommandLine, StateEntry
from planner.logic.model.plan import Plan, ResourceChange
from planner.world.state.model import InstanceKey, State


def module_path(instance: str) -> str:
    """The address of a module instance without its keys."""
    if "[" not in instance:
        return instance
    return str(parse_module(instance).config)


def add_instance(
    facts: FactBuilder, module: str, mode: str, type: str, name: str, key: InstanceKey, source: object
) -> str:
    """Add the facts that identify a resource instance. Returns its address."""
    path = module_path(module)
    object = format_resource(path, mode, type, name)
    suffix = format_key(key)
    address = (object if module == path else format_resource(module, mode, type, name)) + suffix
    facts.add("instance", address, object, object + suffix, module, path, source=source)
    if mode == "data":
        facts.add("data_instance", address, source=source)
    return address


def from_state(facts: FactBuilder, state: State) -> None:
    add = facts.add
    for resource in state.resources.values():
        parts = (resource.module, resource.mode, resource.type, resource.name)
        for instance in resource.instances.values():
            entry = StateEntry(resource.address + format_key(instance.key))
            address = add_instance(facts, *parts, instance.key, entry)
            add("state_provider", address, resource.provider, source=entry)
            if instance.current is not None:
                add("in_state", address, source=entry)
                dependencies = instance.current.dependencies
                if dependencies:
                    facts.extend("state_depends_on", [(address, dependency) for dependency in dependencies], entry)
                if instance.current.create_before_destroy:
                    add("state_create_before_destroy", address, source=entry)
            for deposed in instance.deposed:
                add("state_deposed", address, deposed, source=entry)
        if resource.module:
            add("state_module", module_path(resource.module), source=StateEntry(resource.address))
        # every provider in the state has a default configuration in the root module, declared or implied
        provider = provider_of(resource.provider)
        facts.add("default_configuration", provider, f'provider["{provider}"]', source=StateEntry(resource.address))
    for name in state.outputs:
        add("state_output", join("", f"output.{name}"), name, source=StateEntry(f"output.{name}"))


def provider_of(configuration: str) -> str:
    """The provider in the address of a provider configuration, such as `h/n/t` in `module.a.provider["h/n/t"].x`."""
    start = configuration.find('provider["') + len('provider["')
    return configuration[start : configuration.find('"]', start)]


# Facts about the instances of a walk: the predicates of rules/graph/instances.dl.


def declared_instance(
    facts: FactBuilder, address: str, object: str, module_instance: str, key: str, declaration: Span
) -> None:
    """Add the fact about an instance that results from the repetition of its block. `key`: written as in addresses; ""
    if there is none."""
    facts.add("expanded", address, object, module_instance, key, source=declaration)


def recorded_instance(facts: FactBuilder, address: str, object: str, abandoned: bool = False) -> None:
    """Add facts about an instance that exists only in the state. `abandoned`: whether the module instance that contains
    it is no longer declared."""
    source = StateEntry(address)
    facts.add("left_over", address, object, source=source)
    if abandoned:
        facts.add("abandoned", address, source=source)


# Facts about the plan's decisions: the predicates of rules/inputs/changes.dl.
#
# The source of a fact is the resource block if it exists, otherwise the entry in the state.


def from_changes(facts: FactBuilder, changes: Iterable[ResourceChange], state: State, config: Config) -> None:
    """Add facts about the object of each entry of a plan (also of `no-op` entries), with its provider and planned
    action, and about unused deposed keys, which replacements may need."""
    for change in changes:
        source = declaration(config, change) or StateEntry(change.address)
        address = add_instance(facts, change.module, change.mode, change.type, change.name, change.key, source)
        facts.add("provider_of_change", address, change.provider, source=source)
        if change.deposed:
            facts.add("deposed", address, change.deposed, change.action, source=StateEntry(change.address))
            continue
        facts.add("action", address, change.action, source=source)
        if change.action != "no-op" and change.before.__class__ is not Null:
            resource = state.resources.get(change.resource_address)
            instance = resource.instances.get(change.key) if resource else None
            key = deposed_key(address, instance.deposed if instance else ())
            facts.add("free_deposed_key", address, key, source=StateEntry(change.address))


def from_deferral(facts: FactBuilder, plan: Plan, config: Config) -> None:
    """Add facts about the blocks that a plan defers, and about the reasons: unknown arguments and settings, and
    deferred actions. The deferred blocks are also excluded, as with -exclude."""
    places: dict[str, Span | None] = {}
    for block, cause, _ in plan.deferred:
        address = parse_address(block)
        module = config.root.descendant(address.path if isinstance(address, ResourceAddress) else address.path[:-1])
        decl: Any = None
        if module is not None:
            name = address.relative if isinstance(address, ResourceAddress) else address.path[-1]
            decl = (module.resources if isinstance(address, ResourceAddress) else module.calls).get(name)
        expr = getattr(decl, cause, None)
        places[block] = expr.span if expr is not None else getattr(decl, "span", None)
        source = places[block] or StateEntry(block)
        facts.add("deferral", block, cause, source=source)
        form = "resource" if isinstance(address, ResourceAddress) else "module"
        facts.add("exclude", block, form, block, source=source)
    for one in plan.deferred_changes:
        block = str(parse_resource_instance(one.change.address).config)
        place = places.get(block) or StateEntry(block)
        if one.invoked:
            facts.add("deferral_action", block, one.invoked, source=place)
            continue
        for argument in one.unknown:
            facts.add("deferral_unknown", block, argument, source=place)
    for configuration, argument in plan.deferred_settings:
        facts.add("setting_unknown", configuration, argument, source=CommandLine(configuration))


def declaration(config: Config, change: ResourceChange) -> Span | None:
    """The span of the resource block of the object in an entry of a plan; None if the configuration does not declare
    the resource."""
    path = tuple(name for name in module_path(change.module).removeprefix("module.").split(".module.") if name)
    module = config.root.descendant(path)
    prefix = "" if change.mode == "managed" else f"{change.mode}."
    resource = module.resources.get(f"{prefix}{change.type}.{change.name}") if module else None
    return resource.span if resource else None


def deposed_key(address: str, taken: Iterable[str]) -> str:
    """A deposed key of 8 hexadecimal digits that is not in `taken`. It is computed from the address, so that equal
    plans have equal graphs."""
    # decided in Python: the key of a deposed object -- it is a digest, which rules cannot compute
    used, attempt = set(taken), 0
    while True:
        key = sha256_of(f"{address}#{attempt}".encode("utf-8", "surrogateescape"))[:8]
        if key not in used:
            return key
        attempt += 1
