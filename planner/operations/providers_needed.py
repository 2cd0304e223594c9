"""Determines the providers that a configuration needs, and reports providers that are not available."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.provider_address import BUILTIN
from planner.foundation.vocabulary.records import frozen
from planner.language.config.model import Config
from planner.world.state.workspace import data_directory

if TYPE_CHECKING:
    from planner.engine.evaluation.schemas import Schemas
    from planner.logic.datalog.engine.fact_base import FactBuilder
    from planner.world.state.model import State


@frozen
class Needed:
    """The source addresses of providers, as rules/graph/needed_providers.dl derives them. `all`: the providers that
    must be installed and locked. `started`: the providers that plans start. `recorded`: the providers of objects in the
    state. `of_modules`: {module address: the providers that the module names}."""

    all: frozenset[str]
    started: frozenset[str]
    recorded: frozenset[str]
    of_modules: Mapping[str, frozenset[str]]


_KNOWN: WeakKeyDictionary[Config, Needed] = WeakKeyDictionary()
"""a cache of the needed providers of configurations without a state, because a command determines them several times"""


def needed_providers(config: Config, state: State | None = None) -> Needed:
    if state is not None:
        return _derive(config, state)
    if config not in _KNOWN:
        _KNOWN[config] = _derive(config, None)
    return _KNOWN[config]


def asks_plugins(config: Config, state: State) -> bool:
    """Whether the configuration or the state uses a provider that is not built-in."""
    used = needed_providers(config).started
    return bool(used - {BUILTIN}) or any(BUILTIN not in r.provider for r in state.resources.values())


def reused_calls(options: object) -> dict[str, bool]:
    """{plugin call: whether the call only computes} for the calls that may be answered with the results of an earlier
    command, according to rules/renew/calls.dl. {} if PLANNER_PLAN_ANEW is set. `options`: the options of the command
    (Options or a subclass)."""
    if os.environ.get("PLANNER_PLAN_ANEW"):
        return {}
    from planner.logic.datalog.engine.evaluate import evaluate
    from planner.logic.datalog.engine.fact_base import FactBuilder
    from planner.logic.programs.rule_programs import product_program

    facts = FactBuilder()
    running_command(facts, options)
    derived = evaluate(product_program("renewal"), facts.build(), ["answer_is_reused", "computes_only"])
    return {row[0]: row in derived["computes_only"] for row in derived["answer_is_reused"]}


def running_command(facts: FactBuilder, options: object) -> None:
    """Add the facts about a command with these options that rules/renew/calls.dl reads."""
    facts.add("running_command", getattr(options, "command", ""))
    if getattr(options, "refresh", False):
        facts.add("reads_objects")


def wake_providers(config: Config, schemas: Schemas) -> None:
    """Start the provider plugins that a plan uses. They start in the background, while the state is loaded."""
    for source in sorted(needed_providers(config).started - {BUILTIN}):
        try:
            provider = schemas.provider(source)
        except Failure:
            continue  # the code that uses the provider reports the problem
        wake = getattr(provider, "wake", None)
        if wake is not None:
            wake()


def _derive(config: Config, state: State | None) -> Needed:
    from planner.logic.datalog.engine.evaluate import evaluate
    from planner.logic.datalog.engine.fact_base import FactBuilder
    from planner.logic.facts.mentions import provider_mentions
    from planner.logic.programs.rule_programs import product_program

    facts = FactBuilder()
    provider_mentions(facts, config, state)
    derived = evaluate(product_program("providers"), facts.build())
    of_modules: dict[str, set[str]] = {}
    for module, provider in derived["module_names"]:
        of_modules.setdefault(module, set()).add(provider)
    return Needed(
        frozenset(row[0] for row in derived["provider_needed"]),
        frozenset(row[0] for row in derived["starts_provider"]),
        frozenset(row[0] for row in derived["state_names"]),
        {module: frozenset(names) for module, names in of_modules.items()},
    )


def provider_constraints(config: Config, blocks: bool = True) -> dict[str, tuple[str, ...]]:
    """{source address: version constraints in all modules, sorted}. `blocks`: whether to include constraints in
    provider blocks."""
    constraints: dict[str, set[str]] = {}
    for module in config.root.walk():
        for required in module.required_providers.values():
            if required.version:
                constraints.setdefault(required.source, set()).add(required.version)
        for block in module.providers.values():
            if block.version and blocks:
                constraints.setdefault(module.provider_source(block.name), set()).add(block.version)
    return {address: tuple(sorted(texts)) for address, texts in constraints.items()}


def override_warnings(config: Config) -> list[Diagnostic]:
    """A warning if the CLI configuration replaces providers by versions in development (dev_overrides), which may
    behave differently."""
    if needed_providers(config).all <= {BUILTIN}:
        return []
    return _override_warnings()


def _override_warnings() -> list[Diagnostic]:
    from planner.foundation.clients.cli_config import load_cli_config

    try:
        overrides = load_cli_config(os.environ).overrides
    except Failure:
        return []  # this is reported when the provider is looked up
    if not overrides:
        return []
    lines = "".join(f"\n  - {address} in {overrides[address]}" for address in sorted(overrides))
    detail = (
        f"The CLI configuration names providers in development:{lines}\n\nThey may behave differently from released "
        "versions, and a state that they wrote may not work with a released version."
    )
    return [warning("provider.overrides", "Provider development overrides are in effect", detail)]


def selection_problems(config: Config, directory: str) -> list[Diagnostic]:
    """Errors for the providers of the configuration for which the lock file does not select a suitable version, and for
    a lock file that cannot be read."""
    if (addresses := needed_providers(config).all) <= {BUILTIN}:
        return damaged_selections(directory)
    return _unselected(config, directory, set(addresses))


def damaged_selections(directory: str) -> list[Diagnostic]:
    """An error if the lock file exists and cannot be read, even if the configuration needs no provider from it.
    Otherwise empty."""
    # without the file, the code for locking is not loaded
    if not os.path.lexists(os.path.join(directory, ".terraform.lock.hcl")):
        return []
    from planner.world.provider.lock_file import read_locks

    try:
        read_locks(directory)
    except Failure as failure:
        return failure.diagnostics
    return []


def _unselected(config: Config, directory: str, addresses: set[str]) -> list[Diagnostic]:
    from planner.foundation.clients.cli_config import load_cli_config
    from planner.world.provider.lock_file import read_locks
    from planner.world.provider.selections import unmanaged_providers, unselected_providers

    try:
        overridden = {*load_cli_config(os.environ).overrides, *unmanaged_providers(os.environ)}
        locks, problems = read_locks(directory)
    except Failure as failure:
        return failure.diagnostics
    return [*problems, *unselected_providers(set(addresses), provider_constraints(config), locks, overridden)]


def lacks_selected(config: Config, directory: str) -> bool:
    """Whether a provider that the lock file selects is not installed here, for example because the lock file was
    written on another machine."""
    addresses = needed_providers(config).all - {BUILTIN}
    return bool(addresses) and _lacks_selected(config, directory, addresses)


def _lacks_selected(config: Config, directory: str, addresses: frozenset[str]) -> bool:
    from planner.world.provider.locate import NOT_INSTALLED, Locator
    from planner.world.provider.selections import unmanaged_providers

    locator = Locator(directory, os.environ, provider_constraints(config), data_directory(os.environ))
    problems: list[Diagnostic] = []
    for address in addresses - unmanaged_providers(os.environ):
        try:
            locator.locate(address)
        except Failure as failure:
            problems += failure.diagnostics
    return any(problem.code == NOT_INSTALLED for problem in problems)


def not_installed(configs: Iterable[Config], directory: str, init: str = "init") -> list[Diagnostic]:
    """Errors for providers that the configurations need and that the lock file does not select, because `init` was not
    run. Providers that the CLI configuration or the environment replaces are omitted. `init`: the command that the
    errors recommend."""
    addresses = {address for config in configs for address in needed_providers(config).all} - {BUILTIN}
    return _not_installed(addresses, directory, init) if addresses else []


def _not_installed(addresses: set[str], directory: str, init: str) -> list[Diagnostic]:
    from planner.foundation.clients.cli_config import load_cli_config
    from planner.world.provider.lock_file import lockable, read_locks
    from planner.world.provider.selections import unmanaged_providers

    try:
        apart = {*load_cli_config(os.environ).overrides, *unmanaged_providers(os.environ)}
        locks, problems = read_locks(directory)
    except Failure as failure:
        return failure.diagnostics
    missing = sorted(a for a in addresses if lockable(a) and a not in apart and a not in locks)
    title = "Missing required provider"
    return problems + [
        error(
            "provider.not_installed",
            title,
            f"This configuration requires provider {address}, but that provider isn't available. You may be able to "
            f"install it automatically by running:\n  planner {init}",
        )
        for address in missing
    ]


def missing_providers(config: Config, schemas: Schemas) -> list[Diagnostic]:
    """Errors for providers that are not installed, do not start or return no valid schema, and for version constraints
    on the built-in provider. There is one error for each provider, not for each of its objects."""
    from planner.world.provider.registry import versions_of_builtin

    problems = versions_of_builtin(provider_constraints(config, blocks=False))
    for source in sorted(needed_providers(config).started):
        try:
            schemas.schema(source)
        except Failure as failure:
            problems += failure.diagnostics
    return problems
