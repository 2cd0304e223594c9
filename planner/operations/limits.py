"""Bounds for single providers: `-provider-parallelism NAME=N`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.operations.session import Session, provider_addresses
from planner.vocabulary.diagnostic import Diagnostic, Failure, error

if TYPE_CHECKING:
    from planner.state.model import State


def provider_limits(session: Session) -> dict[str, int]:
    """How many operations at a time, by source address. A provider is named by its local name in the root module, its
    source address (host and namespace may be left out where that is the default) or its type; of several bounds for
    one, the last counts. Raises Failure for names that mean no provider, or several."""
    if not session.options.provider_parallelism:
        return {}
    known = _known(session)
    limits: dict[str, int] = {}
    problems: list[Diagnostic] = []
    for name, count in session.options.provider_parallelism:
        found = _named(session, name, known)
        if len(found) == 1:
            limits[found[0]] = count
        else:
            problems.append(_ambiguous(name, found) if found else _unknown(name, known))
    if problems:
        raise Failure(problems)
    return limits


def _known(session: Session) -> list[str]:
    """The providers of the configuration and of what the state has."""
    from planner.vocabulary.address import AddressError
    from planner.vocabulary.provider_address import parse_provider_configuration

    found = provider_addresses(session.config) if session.config is not None else set()
    state: State | None = session.state
    for resource in state.resources.values() if state is not None else ():
        try:
            found.add(parse_provider_configuration(resource.provider).source)
        except AddressError:
            continue
    return sorted(found)


def _named(session: Session, name: str, known: list[str]) -> list[str]:
    from planner.vocabulary.provider_address import provider_source

    root = session.config.root if session.config is not None else None
    if root is not None and name in root.required_providers:
        return [root.provider_source(name)]
    by_type = [source for source in known if source.rpartition("/")[2] == name]
    if by_type:
        return by_type
    try:
        return [source for source in known if source == provider_source(name)]
    except ValueError:
        return []


def _unknown(name: str, known: list[str]) -> Diagnostic:
    from planner.vocabulary.nearest import nearest

    hit = nearest(name, [text for source in known for text in (source, source.rpartition("/")[2])])
    guess = f" Did you mean {hit}?" if hit else ""
    listed = "".join(f"\n  - {source}" for source in known)
    detail = f"Neither the configuration nor the state has a provider {name}.{guess} Known are:{listed or ' none'}"
    return error("cli.provider_parallelism", "Unknown provider in -provider-parallelism", detail)


def _ambiguous(name: str, found: list[str]) -> Diagnostic:
    detail = f"{name} is the type of several providers: {', '.join(found)}. Name the one that is meant by its address."
    return error("cli.provider_parallelism", "Ambiguous provider in -provider-parallelism", detail)
