"""From provider addresses to providers: the builtin one, and those that run as plugins."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.provider_address import BUILTIN, is_builtin
from planner.world.provider.interface import Provider

if TYPE_CHECKING:
    from planner.world.provider.locate import Located
    from planner.world.state.encryption_seal import Seal


def start_provider(
    address: str, locate: Callable[[str], Located] | None = None, seal_of: Callable[[str], Seal] | None = None
) -> Provider:
    """The provider with this source address. A plugin is found by `locate`, which raises Failure like this does, and
    its process is started when it is first needed. `seal_of`: how the state is kept that a data source reads, by its
    address."""
    if address == BUILTIN:
        from planner.world.provider.builtin import BuiltinProvider

        return BuiltinProvider(seal_of)
    running = _running(address) if os.environ.get("TF_REATTACH_PROVIDERS") else None
    if running is not None:
        return running
    if locate is None or is_builtin(address):
        raise Failure(unavailable(address))
    return _plugin(address, locate(address).binary)


def _running(address: str) -> Provider | None:
    """The provider if somebody else runs it."""
    from planner.world.provider.plugin.process import attachments
    from planner.world.provider.plugin.provider import PluginProvider

    running = attachments(os.environ).get(address)
    return PluginProvider(address, (), attachment=running) if running is not None else None


def _plugin(address: str, binary: str) -> Provider:
    from planner.world.provider.plugin.provider import PluginProvider

    return PluginProvider(address, [binary], binary)


def unavailable(address: str) -> Diagnostic:
    """Why a provider cannot be had at all."""
    if is_builtin(address):
        detail = f"There is no builtin provider {address}; the only one is {BUILTIN}."
        return error("provider.unknown_builtin", "Provider not found", detail)
    detail = f"{address} runs as a plugin, and where that is depends on a directory, which there is none of here."
    return error("provider.not_found", "Provider not found", detail)


def versions_of_builtin(constraints: Mapping[str, object]) -> list[Diagnostic]:
    """That somebody constrains the versions of what has none; by provider address."""
    if not constraints.get(BUILTIN):
        return []
    detail = f"{BUILTIN} cannot be selected like this: it comes with this program and has no versions."
    return [error("install.builtin", "Invalid dependency on built-in provider", detail)]
