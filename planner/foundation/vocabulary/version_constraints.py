"""Versions and version constraints: `>= 1.2, < 2.0`, `~> 1.4`, `!= 1.5.0`.

Syntax and order are those of hashicorp/go-version: Semantic Versioning 2.0.0, with any number of segments."""

from __future__ import annotations

import re
from functools import total_ordering
from typing import Any

_IDENTIFIERS = r"[0-9A-Za-z~-]+(?:\.[0-9A-Za-z~-]+)*"
_VERSION = (
    r"v?([0-9]+(?:\.[0-9]+)*?)"
    r"(?:-([0-9]+[0-9A-Za-z~-]*(?:\.[0-9A-Za-z~-]+)*)|-?([A-Za-z~-][0-9A-Za-z~-]*(?:\.[0-9A-Za-z~-]+)*))?"
    rf"(?:\+({_IDENTIFIERS}))?"
)


@total_ordering
class Version:
    """A version: numbers, padded with zeros to at least three, and the strings of prerelease and metadata. Raises
    ValueError for an invalid version."""

    __slots__ = ("given", "metadata", "numbers", "prerelease", "text")

    def __init__(self, text: str) -> None:
        match = re.fullmatch(_VERSION, text)
        if not match:
            raise ValueError(f"{text!r} is not a valid version")
        numbers = tuple(int(n) for n in match[1].split("."))
        self.given = len(numbers)
        self.numbers = numbers + (0,) * (3 - len(numbers))
        self.prerelease = match[2] or match[3] or ""
        self.metadata = match[4] or ""
        self.text = text

    def __str__(self) -> str:
        core = ".".join(map(str, self.numbers))
        return (
            core + (f"-{self.prerelease}" if self.prerelease else "") + (f"+{self.metadata}" if self.metadata else "")
        )

    def _order(self) -> tuple[Any, ...]:
        numbers = self.numbers
        while len(numbers) > 3 and numbers[-1] == 0:
            numbers = numbers[:-1]
        parts = tuple(
            (0, int(p), "") if p.isascii() and p.isdigit() else (1, 0, p) for p in self.prerelease.split(".") if p
        )
        return (numbers, 0 if parts else 1, parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._order() == other._order()

    def __lt__(self, other: Version) -> bool:
        return self._order() < other._order()

    def __hash__(self) -> int:
        return hash(self._order())


class Constraint:
    __slots__ = ("operator", "version")

    def __init__(self, operator: str, version: Version) -> None:
        self.operator = operator or "="
        self.version = version

    def __str__(self) -> str:
        return f"{self.operator} {self.version.text}"

    def allows(self, version: Version) -> bool:
        """Whether a version satisfies the constraint. A prerelease satisfies an operator that orders versions (such as
        `>=` or `~>`) only if the constraint names a prerelease of the same version."""
        limit = self.version
        if self.operator == "=":
            return version == limit
        if self.operator == "!=":
            return version != limit
        if version.prerelease and not limit.prerelease:
            return False
        if version.prerelease and limit.prerelease and version.numbers != limit.numbers:
            return False
        if self.operator == ">":
            return version > limit
        if self.operator == "<":
            return version < limit
        if self.operator == ">=":
            return version >= limit
        if self.operator == "<=":
            return version <= limit
        fixed = max(limit.given - 1, 1)
        return version >= limit and version.numbers[:fixed] == limit.numbers[:fixed]


class Constraints:
    """Constraints that must all be satisfied. Without constraints, every version is allowed."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Constraint, ...] = ()) -> None:
        self.items = items

    def __str__(self) -> str:
        return ",".join(map(str, self.items))

    def __bool__(self) -> bool:
        return bool(self.items)

    def allows(self, version: Version | str) -> bool:
        if isinstance(version, str):
            version = Version(version)
        return all(c.allows(version) for c in self.items)


def parse_constraints(text: str) -> Constraints:
    """Parse a comma-separated list of constraints. Raises ValueError."""
    items = []
    for piece in text.split(","):
        match = re.fullmatch(r"\s*(=|!=|>=|<=|>|<|~>|)\s*(\S+)\s*", piece)
        if not match:
            raise ValueError(f"{piece.strip()!r} is not a valid version constraint")
        items.append(Constraint(match[1], Version(match[2])))
    return Constraints(tuple(items))


_PRIORITY = {">": 1, ">=": 2, "=": 3, "~>": 4, "<=": 6, "<": 7, "!=": 8}


def normal_constraints(text: str) -> str:
    """The constraints as spelled in lock files (`>= 1.2.0, < 2.0.0`, `~> 1.4`, `1.5.0`), without duplicates, sorted by
    version and then from lower to upper bounds. An invalid string is returned unchanged."""
    try:
        items = parse_constraints(text).items
    except ValueError:
        return text
    spelled = {}
    for item in items:
        version = item.version
        minor = item.operator == "~>" and version.given < 3
        numbers = ".".join(map(str, version.numbers[: 2 if minor else None]))
        extra = str(version)[len(".".join(map(str, version.numbers))) :]
        shown = f"{numbers}{extra}" if item.operator == "=" else f"{item.operator} {numbers}{extra}"
        spelled[shown] = (version, version.metadata, _PRIORITY[item.operator] + minor)
    return ", ".join(sorted(spelled, key=lambda shown: spelled[shown]))


def allowed(constraint: str, version: str) -> bool:
    """Whether a version satisfies a comma-separated list of constraints; False if the version or the list is
    invalid."""
    try:
        return parse_constraints(constraint).allows(Version(version))
    except ValueError:
        return False
