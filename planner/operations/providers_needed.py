"""Which providers a configuration needs, and what keeps them from being had."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from planner.vocabulary.diagnostic import Diagnostic, Failure, warning
from planner.vocabulary.provider_address import BUILTIN, is_builtin

if TYPE_CHECKING:
    from planner.config.model import Config, ModuleConfig
    from planner.evaluation.schemas import Schemas


def provider_addresses(config: Config, required: bool = True) -> set[str]:
    """The providers that a configuration uses; those too that it only requires."""
    # decided in Python: which providers a configuration needs -- it is asked before there are facts
    addresses = set()
    for module in config.root.walk():
        names = {r.provider_name for r in module.resources.values()} | set(
            module.required_providers if required else ()
        )
        names |= set(_imported_through(module))
        addresses |= {module.provider_source(name) for name in names | {p.name for p in module.providers.values()}}
    return addresses


def _imported_through(module: ModuleConfig) -> Iterator[str]:
    """The local names of providers for which configuration is to be generated: those of import blocks whose resource is
    not declared (yet)."""
    for block in module.imports:
        if block.target is not None and block.target.module.is_root and str(block.target) not in module.resources:
            yield block.provider.name if block.provider is not None else block.target.type.split("_", 1)[0]


def provider_constraints(config: Config) -> dict[str, tuple[str, ...]]:
    """The version constraints of all modules by provider address."""
    constraints: dict[str, set[str]] = {}
    for module in config.root.walk():
        for required in module.required_providers.values():
            if required.version:
                constraints.setdefault(required.source, set()).add(required.version)
        for block in module.providers.values():
            if block.version:
                constraints.setdefault(module.provider_source(block.name), set()).add(block.version)
    return {address: tuple(sorted(texts)) for address, texts in constraints.items()}


def override_warnings(config: Config) -> list[Diagnostic]:
    """A warning when the user's settings replace providers by ones in development, which may do anything."""
    if provider_addresses(config) <= {BUILTIN}:
        return []
    return _override_warnings()


def _override_warnings() -> list[Diagnostic]:
    from planner.provider.cli_config import load_cli_config

    try:
        overrides = load_cli_config(os.environ).overrides
    except Failure:
        return []  # reported where the provider is looked for
    if not overrides:
        return []
    lines = "".join(f"\n  - {address} in {overrides[address]}" for address in sorted(overrides))
    detail = (
        f"The settings of the command line tool name providers in development:{lines}\n\nThey may behave differently "
        "from any release, and a state that they wrote may not fit a released version."
    )
    return [warning("provider.overrides", "Provider development overrides are in effect", detail)]


def selection_problems(config: Config, directory: str) -> list[Diagnostic]:
    """What is wrong with the dependency lock file: it must select every provider of the configuration."""
    if (addresses := provider_addresses(config)) <= {BUILTIN}:
        return []
    return _unselected(config, directory, addresses)


def _unselected(config: Config, directory: str, addresses: set[str]) -> list[Diagnostic]:
    from planner.provider.cli_config import load_cli_config
    from planner.provider.lock_file import read_locks
    from planner.provider.selections import unmanaged, unselected

    try:
        overridden = {*load_cli_config(os.environ).overrides, *unmanaged(os.environ)}
        locks, problems = read_locks(directory)
    except Failure as failure:
        return failure.diagnostics
    return [*problems, *unselected(addresses, provider_constraints(config), locks, overridden)]


def missing_providers(config: Config, schemas: Schemas) -> list[Diagnostic]:
    """Why providers that the configuration uses cannot be had."""
    from planner.provider.registry import versions_of_builtin

    problems = versions_of_builtin(provider_constraints(config))
    used = provider_addresses(config, required=False)
    used |= {source for source in provider_addresses(config) if is_builtin(source)}
    for source in sorted(used):
        try:
            schemas.provider(source)
        except Failure as failure:
            problems += failure.diagnostics
    return problems
