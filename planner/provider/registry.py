"""From provider addresses to providers: the builtin one, and those that run as plugins."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from planner.provider.interface import Provider
from planner.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.vocabulary.provider_address import BUILTIN

if TYPE_CHECKING:
    from planner.provider.locate import Located


def start_provider(address: str, locate: Callable[[str], Located] | None = None) -> Provider:
    """The provider with this source address. A plugin is found by `locate`, which raises Failure like this does, and
    its process is started when it is first needed."""
    if address == BUILTIN:
        from planner.provider.builtin import BuiltinProvider

        return BuiltinProvider()
    if os.environ.get("TF_REATTACH_PROVIDERS"):
        from planner.provider.plugin.provider import PluginProvider
        from planner.provider.plugin.reattach import attachments

        running = attachments(os.environ).get(address)
        if running is not None:
            return PluginProvider(address, (), attachment=running)
    if locate is None or address.startswith("terraform.io/builtin/"):
        raise Failure(unavailable(address))
    from planner.provider.plugin.provider import PluginProvider

    binary = locate(address).binary
    return PluginProvider(address, [binary], binary)


def unavailable(address: str) -> Diagnostic:
    """Why a provider cannot be had at all."""
    if address.startswith("terraform.io/builtin/"):
        detail = f"There is no builtin provider {address}; the only one is {BUILTIN}."
        return error("provider.unknown_builtin", "Provider not found", detail)
    detail = f"{address} runs as a plugin, and where that is depends on a directory, which there is none of here."
    return error("provider.not_found", "Provider not found", detail)
