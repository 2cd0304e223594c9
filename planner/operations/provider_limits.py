"""Bounds for single providers: `-provider-parallelism NAME=N`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.nearest import nearest
from planner.foundation.vocabulary.provider_address import provider_source
from planner.operations.options import OperationOptions
from planner.operations.providers_needed import needed_providers

if TYPE_CHECKING:
    from planner.language.config.model import Config
    from planner.world.state.model import State


def provider_limits(options: OperationOptions, config: Config, state: State) -> dict[str, int]:
    """How many operations at a time, by source address. A provider is named by its local name in the root module, its
    source address (host and namespace may be left out where that is the default) or its type; of several bounds for
    one, the last counts. Raises Failure for names that mean no provider, or several."""
    if not options.provider_parallelism:
        return {}
    known = _known(config, state)
    limits: dict[str, int] = {}
    problems: list[Diagnostic] = []
    for name, count in options.provider_parallelism:
        found = _named(config, name, known)
        if len(found) == 1:
            limits[found[0]] = count
        else:
            problems.append(_ambiguous(name, found) if found else _unknown(name, known))
    if problems:
        raise Failure(problems)
    return limits


def _known(config: Config, state: State) -> list[str]:
    """The providers of the configuration and of what the state has."""
    return sorted(needed_providers(config, state).all)


def _named(config: Config, name: str, known: list[str]) -> list[str]:
    if name in config.root.required_providers:
        return [config.root.provider_source(name)]
    by_type = [source for source in known if source.rpartition("/")[2] == name]
    if by_type:
        return by_type
    try:
        return [source for source in known if source == provider_source(name)]
    except ValueError:
        return []


def _unknown(name: str, known: list[str]) -> Diagnostic:
    hit = nearest(name, [text for source in known for text in (source, source.rpartition("/")[2])])
    guess = f" Did you mean {hit}?" if hit else ""
    listed = "".join(f"\n  - {source}" for source in known)
    detail = f"Neither the configuration nor the state has a provider {name}.{guess} Known are:{listed or ' none'}"
    return error("cli.provider_parallelism", "Unknown provider in -provider-parallelism", detail)


def _ambiguous(name: str, found: list[str]) -> Diagnostic:
    detail = f"{name} is the type of several providers: {', '.join(found)}. Name the one that is meant by its address."
    return error("cli.provider_parallelism", "Ambiguous provider in -provider-parallelism", detail)
