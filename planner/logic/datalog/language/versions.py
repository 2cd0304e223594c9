"""Built-in functions and tests for versions and version constraints, in the syntax of `version` arguments in
configurations. Functions return None for an invalid argument."""

from __future__ import annotations

from functools import lru_cache

from planner.foundation.vocabulary.version_constraints import Constraints, Version, parse_constraints
from planner.logic.datalog.language.values import Value

LONGEST = 300  # maximum length, in characters, of a version or a constraint


@lru_cache(maxsize=10_000)
def _version(text: str) -> Version | None:
    try:
        return Version(text.strip()) if len(text) <= LONGEST else None
    except ValueError:
        return None


@lru_cache(maxsize=1_000)
def _constraints(text: str) -> Constraints | None:
    try:
        return parse_constraints(text) if len(text) <= LONGEST else None
    except ValueError:
        return None


def version(value: Value) -> Version | None:
    return _version(value) if type(value) is str else None


def constraints(value: Value) -> Constraints | None:
    return _constraints(value) if type(value) is str else None


def is_version(value: Value) -> bool:
    """Whether a value is a version such as 1.2.0 or v2.0.0-rc1."""
    return version(value) is not None


def is_constraint(value: Value) -> bool:
    """Whether a value is a version constraint such as "~> 5.0" or ">= 1.2, < 2.0"."""
    return constraints(value) is not None


def version_matches(text: Value, constraint: Value) -> bool:
    item, limits = version(text), constraints(constraint)
    return item is not None and limits is not None and limits.allows(item)


def version_compare(a: Value, b: Value) -> int | None:
    """-1, 0 or 1 if the first version is older than, equal to or newer than the second. Build metadata are ignored."""
    left, right = version(a), version(b)
    if left is None or right is None:
        return None
    return 0 if left == right else -1 if left < right else 1


def version_major(text: Value) -> int | None:
    return _number(text, 0)


def version_minor(text: Value) -> int | None:
    return _number(text, 1)


def version_patch(text: Value) -> int | None:
    return _number(text, 2)


def _number(text: Value, place: int) -> int | None:
    result = version(text)
    return None if result is None else result.numbers[place]


def version_prerelease(text: Value) -> str | None:
    """The part of a version after the hyphen, such as rc1 of 2.0.0-rc1; "" for a release."""
    result = version(text)
    return None if result is None else result.prerelease
