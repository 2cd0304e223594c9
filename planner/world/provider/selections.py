"""Checks before planning whether the lock file selects the providers that a configuration needs."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping

from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.provider_address import provider_source
from planner.foundation.vocabulary.version_constraints import Constraint, Version, normal_constraints, parse_constraints
from planner.world.provider.lock_file import Locks, lockable


def unselected_providers(
    addresses: Iterable[str],
    constraints: Mapping[str, tuple[str, ...]],
    locks: Locks,
    overridden: Collection[str],
) -> list[Diagnostic]:
    """An error if the lock file lacks a provider, or selects a version that the constraints do not allow. Providers
    with development overrides are not checked."""
    reasons = []
    for address in sorted(addresses):
        if not lockable(address) or address in overridden:
            continue
        wanted = VersionSet(constraints.get(address, ()))
        lock = locks.get(address)
        if lock is None:
            reasons.append(f"{address} is required, but no version of it is selected")
        elif not wanted.allows(lock.version):
            reasons.append(f'{address} is selected in version {lock.version}, but "{wanted}" is required')
    if not reasons:
        return []
    lines = "".join(f"\n  - {reason}" for reason in reasons)
    cure = "planner init -upgrade" if locks else "planner init"
    detail = (
        f"The dependency lock file does not match the configuration:{lines}\n\nTo select providers and install them, "
        "run:"
        f"\n  {cure}"
    )
    return [error("lock.inconsistent", "Inconsistent dependency lock file", detail)]


def unmanaged_providers(environ: Mapping[str, str] | None = None) -> frozenset[str]:
    """Providers that run outside of planner (TF_REATTACH_PROVIDERS), for which nothing is installed or selected; none
    if the variable is not valid."""
    text = (os.environ if environ is None else environ).get("TF_REATTACH_PROVIDERS", "")
    if not text:
        return frozenset()
    try:
        return frozenset(provider_source(address) for address in json.loads(text))
    except (ValueError, TypeError, AttributeError):
        return frozenset()


# Versions that satisfy constraints: releases are compared, prereleases must be named exactly.


class VersionSet:
    """The version constraints of all modules for one provider. Raises ValueError for an invalid constraint."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts = tuple(sorted(set(texts)))
        self.items = tuple(item for text in self.texts for item in parse_constraints(text).items)

    def __str__(self) -> str:
        """The constraints as spelled in lock files; "" if any version is allowed."""
        return normal_constraints(",".join(map(str, self.items))) if self.items else ""

    def allows(self, version: Version) -> bool:
        if not version.prerelease:
            return str(version) != "0.0.0" and all(_is_within(c, version) for c in self.items)
        named = any(c.operator == "=" and _same(c.version, version) for c in self.items)
        return named and all(_is_within(c, version) for c in self.items)

    def newest(self, versions: Iterable[Version]) -> Version | None:
        return max(filter(self.allows, versions), default=None)


def _is_within(constraint: Constraint, version: Version) -> bool:
    """Whether a version satisfies a constraint, by the order of versions alone: a prerelease precedes its release, and
    it is accepted even if the constraint does not name it."""
    limit, operator = constraint.version, constraint.operator
    if operator == "~>":
        fixed = max(limit.given - 1, 1)
        return version >= limit and version.numbers[:fixed] == limit.numbers[:fixed]
    return {
        "=": _same(version, limit),
        "!=": not _same(version, limit),
        ">": version > limit,
        "<": version < limit,
        ">=": version >= limit,
        "<=": version <= limit,
    }[operator]


def _same(version: Version, other: Version) -> bool:
    """Whether two versions denote one package. Metadata has no order, but 1.0.0+local differs from 1.0.0."""
    return version == other and version.metadata == other.metadata


def readable(texts: Iterable[str]) -> list[Version]:
    """The valid versions among the strings, in increasing order."""
    versions = []
    for text in texts:
        try:
            versions.append(Version(text))
        except ValueError:
            continue
    return sorted(versions)
