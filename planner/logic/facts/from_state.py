"""State to facts: the predicates of rules/inputs/state.dl. The source of each is a StateEntry."""

from __future__ import annotations

from planner.foundation.vocabulary.address import format_key, format_resource, join, parse_module
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.model.sources import StateEntry
from planner.world.state.model import InstanceKey, State


def module_path(instance: str) -> str:
    """A module instance address without its keys."""
    if "[" not in instance:
        return instance
    return str(parse_module(instance).config)


def add_instance(
    facts: FactBuilder, module: str, mode: str, type: str, name: str, key: InstanceKey, source: object
) -> str:
    """Add the facts about what a resource instance is, and return its address."""
    path = module_path(module)
    object = format_resource(path, mode, type, name)
    suffix = format_key(key)
    address = (object if module == path else format_resource(module, mode, type, name)) + suffix
    facts.add("instance", address, object, object + suffix, module, path, source=source)
    if mode == "data":
        facts.add("data_instance", address, source=source)
    return address


def from_state(facts: FactBuilder, state: State) -> None:
    """Add what the state records."""
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
        _implied_provider(facts, resource.provider, resource.address)
    for name in state.outputs:
        add("state_output", join("", f"output.{name}"), name, source=StateEntry(f"output.{name}"))


def _implied_provider(facts: FactBuilder, configuration: str, address: str) -> None:
    """Whatever the state needs has a default configuration in the root module, written or implied."""
    provider = provider_of(configuration)
    facts.add("default_configuration", provider, f'provider["{provider}"]', source=StateEntry(address))


def provider_of(configuration: str) -> str:
    """The provider of a configuration address: `module.a.provider["h/n/t"].x` -> `h/n/t`."""
    start = configuration.find('provider["') + len('provider["')
    return configuration[start : configuration.find('"]', start)]
