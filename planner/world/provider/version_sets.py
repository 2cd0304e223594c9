"""Which versions of a provider satisfy constraints: released ones by order, prereleases only when named exactly."""

from __future__ import annotations

from collections.abc import Iterable

from planner.foundation.vocabulary.version_constraints import Constraint, Version, normal_constraints, parse_constraints


class VersionSet:
    """The version constraints of all modules for one provider. Raises ValueError when a text is none."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts = tuple(sorted(set(texts)))
        self.items = tuple(item for text in self.texts for item in parse_constraints(text).items)

    def __str__(self) -> str:
        """In the spelling of lock files; "" when any version will do."""
        return normal_constraints(",".join(map(str, self.items))) if self.items else ""

    def allows(self, version: Version) -> bool:
        if not version.prerelease:
            return str(version) != "0.0.0" and all(_within(c, version) for c in self.items)
        named = any(c.operator == "=" and _same(c.version, version) for c in self.items)
        return named and all(_within(c, version) for c in self.items)

    def newest(self, versions: Iterable[Version]) -> Version | None:
        return max(filter(self.allows, versions), default=None)


def _within(constraint: Constraint, version: Version) -> bool:
    """By order alone, prereleases coming before their release."""
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
    """Whether they are one version; metadata has no order, but 1.0.0+local is another package than 1.0.0."""
    return version == other and version.metadata == other.metadata


def readable(texts: Iterable[str]) -> list[Version]:
    """The versions among texts, oldest first; others are left out."""
    versions = []
    for text in texts:
        try:
            versions.append(Version(text))
        except ValueError:
            continue
    return sorted(versions)
