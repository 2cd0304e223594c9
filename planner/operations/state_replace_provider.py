"""`state replace-provider`: make another provider responsible for objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.foundation.vocabulary.address import sort_key
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.provider_address import parse_provider_configuration, provider_source
from planner.foundation.vocabulary.records import evolve
from planner.operations.options import StateOptions
from planner.operations.state_edit import edit

if TYPE_CHECKING:
    from planner.world.state.model import State


def state_replace_provider(
    options: StateOptions, old: str, new: str, dry_run: bool = False
) -> tuple[list[str], list[Diagnostic]]:
    """Make another provider responsible for all resources of one; their addresses."""
    before, after = _provider(old), _provider(new)

    def change(state: State) -> tuple[State, list[str], list[Diagnostic]]:
        resources = dict(state.resources)
        for address, resource in resources.items():
            provider = parse_provider_configuration(resource.provider)
            if provider.source == before:
                resources[address] = evolve(resource, provider=str(evolve(provider, source=after)))
        affected = sorted((a for a in resources if resources[a] is not state.resources[a]), key=sort_key)
        return evolve(state, resources=resources), affected, []

    return edit(options, "state-replace-provider", change, dry_run)


def _provider(text: str) -> str:
    try:
        return provider_source(text)
    except ValueError:
        detail = "A provider is written as type, namespace/type or host/namespace/type."
        raise Failure(error("state.provider", f'"{text}" is not a provider', detail)) from None
