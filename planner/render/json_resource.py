"""A resource instance as UI messages name it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from planner.foundation.vocabulary.address import AddressError, ResourceAddress, parse_address


@lru_cache(maxsize=1024)
def _parts(address: str) -> tuple[tuple[str, Any], ...]:
    try:
        parsed = parse_address(address)
    except AddressError:
        parsed = None
    if not isinstance(parsed, ResourceAddress):
        return (("addr", address),)
    return (
        ("addr", address),
        ("module", str(parsed.module)),
        ("resource", parsed.relative),
        ("implied_provider", parsed.type.split("_", 1)[0]),
        ("resource_type", parsed.type),
        ("resource_name", parsed.name),
        ("resource_key", parsed.key),
    )


def resource_json(address: str) -> dict[str, Any]:
    """The `resource` object of a UI message."""
    return dict(_parts(address))
