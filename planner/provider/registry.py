"""From provider addresses to providers. Only the builtin one can be started so far."""

from __future__ import annotations

from planner.provider.interface import Provider
from planner.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.vocabulary.provider_address import BUILTIN


def start_provider(address: str) -> Provider:
    """The provider with this source address, started (a ProviderFactory). Raises Failure when it cannot be had."""
    if address == BUILTIN:
        from planner.provider.builtin import BuiltinProvider

        return BuiltinProvider()
    raise Failure(unavailable(address))


def unavailable(address: str) -> Diagnostic:
    """Why a provider cannot be started."""
    if address.startswith("terraform.io/builtin/"):
        detail = f"There is no builtin provider {address}; the only one is {BUILTIN}."
        return error("provider.unknown_builtin", "Provider not found", detail)
    detail = (
        f"{address} would have to run as a plugin, and provider plugins are not supported yet. Use resources of the "
        f"builtin provider {BUILTIN} only."
    )
    return error("provider.plugins_unsupported", "Provider plugins are not supported yet", detail)
