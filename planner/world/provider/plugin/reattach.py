"""Plugins that somebody else has started and keeps running, as TF_REATTACH_PROVIDERS tells: for debugging a provider.

The variable holds a JSON object: provider address -> {"Protocol": "grpc", "ProtocolVersion": 6, "Pid": 42, "Test":
true, "Addr": {"Network": "unix", "String": "/tmp/plugin.sock"}}.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from planner.foundation.vocabulary.address import AddressError
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.provider_address import provider_source
from planner.foundation.vocabulary.records import frozen
from planner.world.provider.plugin.messages import VERSIONS
from planner.world.provider.plugin.process import Handshake

VARIABLE = "TF_REATTACH_PROVIDERS"


@frozen
class Attachment:
    """Where a running plugin listens. Nothing is known of its output, and its end is not our business."""

    handshake: Handshake
    is_running: bool = True

    def how_it_ended(self) -> str:
        return "it was started by somebody else"

    def last_output(self) -> str:
        return ""

    def end(self, seconds: float = 0.0) -> None:
        """It stays."""


def attachments(environ: Mapping[str, str]) -> dict[str, Attachment]:
    """The running plugins by provider address. Raises Failure."""
    text = environ.get(VARIABLE, "")
    if not text:
        return {}
    try:
        given = json.loads(text)
        return {provider_source(name): _attachment(given[name]) for name in given}
    except (ValueError, TypeError, KeyError, AttributeError, AddressError) as problem:
        detail = f"The environment variable {VARIABLE} cannot be used: {type(problem).__name__}: {problem}."
        raise Failure(error("provider.reattach", "Invalid running providers", detail)) from None


def _attachment(given: dict[str, object]) -> Attachment:
    address = given["Addr"]
    assert isinstance(address, dict)
    network, where = address["Network"], address["String"]
    version = given.get("ProtocolVersion") or VERSIONS[0]
    if version not in VERSIONS or given.get("Protocol", "grpc") != "grpc" or network not in ("unix", "tcp"):
        raise ValueError(f"protocol {given.get('Protocol')} {version} on {network} is not supported")
    return Attachment(Handshake(int(str(version)), f"unix:{where}" if network == "unix" else str(where)))
