"""Provider configurations in plan JSON, and the configuration that each resource uses. A configuration that a module
only inherits or receives from its caller is not listed. Resources that use it refer to the original configuration."""

from __future__ import annotations

from typing import Any

from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.version_constraints import normal_constraints
from planner.language.config.model import Config, ModuleCall, ModuleConfig, ModulePath
from planner.language.syntax.body import Body


@frozen(eq=False)
class ProviderEntry:
    """A provider configuration in a module. `parent`: if the module inherits the configuration or receives it from its
    caller, the key of the original configuration; otherwise ""."""

    name: str
    full_name: str
    alias: str
    version_constraint: str
    module_address: str
    block: Body | None = None
    parent: str = ""

    def fields(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "full_name": self.full_name,
            "alias": self.alias,
            "version_constraint": self.version_constraint,
            "module_address": self.module_address,
        }


@frozen(eq=False)
class ProviderConfigurations:
    """The provider configurations of all modules, by keys such as `module.a:aws.west`."""

    entries: dict[str, ProviderEntry] = field(factory=dict)

    @property
    def shown(self) -> dict[str, ProviderEntry]:
        return {key: entry for key, entry in self.entries.items() if not entry.parent}

    def resolve(self, local: str, path: ModulePath) -> str:
        """The key of the configuration to which a local name (with or without an alias) refers in a module."""
        key = provider_key(local, module_text(path))
        entry = self.entries.get(key)
        return entry.parent if entry is not None and entry.parent in self.entries else key

    def source_of(self, key: str, full_name: str) -> str:
        """The key of the last configuration for the provider `full_name` in the chain of parents that begins at `key`;
        "" if `key` is not a configuration for this provider."""
        source = ""
        while key:
            entry = self.entries.get(key)
            if entry is None or entry.full_name != full_name:
                break
            source, key = key, entry.parent
        return source


def provider_configurations(config: Config) -> ProviderConfigurations:
    """The configurations of all modules, parents first."""
    configurations = ProviderConfigurations()
    _add_module(configurations, config.root)
    return configurations


def module_text(path: ModulePath) -> str:
    """The address of a module, such as `module.a.module.b`."""
    return ".".join(f"module.{name}" for name in path)


def provider_key(name: str, module: str) -> str:
    return f"{module}:{name}" if module else name


def _add_module(configurations: ProviderConfigurations, module: ModuleConfig) -> None:
    address = module_text(module.path)
    above = module_text(module.path[:-1])
    constraints = _requirements(module)

    def entry(name: str, source: str, **more: Any) -> ProviderEntry:
        return ProviderEntry(name, source, more.pop("alias", ""), constraints.get(source, ""), address, **more)

    def inherited(name: str, source: str) -> str:
        return configurations.source_of(provider_key(name, above), source) if module.path else ""

    for declared in module.providers.values():
        source = module.provider_source(declared.name)
        configurations.entries[provider_key(declared.key, address)] = entry(
            declared.name, source, alias=declared.alias or "", block=declared.body
        )
    for name, required in module.required_providers.items():
        for alias in required.configuration_aliases:
            configurations.entries.setdefault(provider_key(str(alias), address), entry(name, required.source))
        key = provider_key(name, address)
        if key not in configurations.entries:
            configurations.entries[key] = entry(name, required.source, parent=inherited(name, required.source))
    for source in sorted(constraints):
        name = source.rsplit("/", 1)[-1]
        key = provider_key(name, address)
        if key not in configurations.entries:
            configurations.entries[key] = ProviderEntry(name, source, "", "", address, parent=inherited(name, source))
    for name in sorted(module.calls):
        child = module.children.get(name)
        if child is not None:
            _add_passed(configurations, module.calls[name], child, address)
            _add_module(configurations, child)


def _add_passed(configurations: ProviderConfigurations, call: ModuleCall, child: ModuleConfig, address: str) -> None:
    inner_address = module_text(child.path)
    for inner, outer in call.providers:
        source = child.provider_source(inner.name)
        parent = configurations.source_of(provider_key(str(outer), address), source)
        configurations.entries[provider_key(str(inner), inner_address)] = ProviderEntry(
            str(inner), source, "", "", inner_address, None, parent
        )


def _requirements(module: ModuleConfig) -> dict[str, str]:
    """{source address: version constraints} of the providers that the module itself uses."""
    texts: dict[str, list[str]] = {}
    for required in module.required_providers.values():
        texts.setdefault(required.source, []).extend([required.version] if required.version else [])
    for resource in module.resources.values():
        texts.setdefault(module.provider_source(resource.provider_name), [])
    for block in module.imports:
        if block.target is not None:
            local = block.provider.name if block.provider else block.target.type.split("_", 1)[0]
            texts.setdefault(module.provider_source(local), [])
    for declared in module.providers.values():
        given = texts.setdefault(module.provider_source(declared.name), [])
        given.extend([declared.version] if declared.version else [])
    return {source: (normal_constraints(", ".join(written)) if written else "") for source, written in texts.items()}
