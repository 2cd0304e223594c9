"""Whether the lock file selects what a configuration needs: what is checked before anything is planned."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping

from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.provider_address import provider_source
from planner.world.provider.lock_file import Locks, lockable
from planner.world.provider.version_sets import VersionSet


def unselected(
    addresses: Iterable[str],
    constraints: Mapping[str, tuple[str, ...]],
    locks: Locks,
    overridden: Collection[str],
) -> list[Diagnostic]:
    """An error when the lock file lacks a provider, or selects a version that the constraints do not allow; none for
    providers that are overridden."""
    reasons = []
    for address in sorted(addresses):
        if not lockable(address) or address in overridden:
            continue
        wanted = VersionSet(constraints.get(address, ()))
        lock = locks.get(address)
        if lock is None:
            reasons.append(f"{address} is required, but no version of it is selected")
        elif not wanted.allows(lock.version):
            reasons.append(f'{address} is selected in version {lock.version}, but required is "{wanted}"')
    if not reasons:
        return []
    lines = "".join(f"\n  - {reason}" for reason in reasons)
    cure = "planner init -upgrade" if locks else "planner init"
    detail = (
        f"The dependency lock file does not fit the configuration:{lines}\n\nTo select providers and install them, run:"
        f"\n  {cure}"
    )
    return [error("lock.inconsistent", "Inconsistent dependency lock file", detail)]


def unmanaged(environ: Mapping[str, str] | None = None) -> frozenset[str]:
    """The providers that somebody else runs (TF_REATTACH_PROVIDERS): nothing is installed or selected for them."""
    text = (os.environ if environ is None else environ).get("TF_REATTACH_PROVIDERS", "")
    if not text:
        return frozenset()
    return _named_in(text)


def _named_in(text: str) -> frozenset[str]:
    try:
        return frozenset(provider_source(address) for address in json.loads(text))
    except (ValueError, TypeError, AttributeError):
        return frozenset()
