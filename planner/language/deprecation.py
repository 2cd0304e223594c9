"""Marks on values that come from something deprecated: whoever uses such a value is warned, where it is used.

The mark travels with a value like any other, until an expression that uses the value is evaluated: there it is taken
off and becomes a warning. As long as nothing was marked there is nothing to look for, so that this costs nothing.
"""

from __future__ import annotations

from attrs import frozen

from planner.language.paths import PathMarks, apply_marks, marked_paths
from planner.language.values import Value, unmark_deep
from planner.vocabulary.diagnostic import Diagnostic, warning
from planner.vocabulary.span import Span


@frozen
class Deprecation:
    """What a value comes from, and what its author says about that."""

    by: str
    message: str = ""


class _Known:
    """Whether any value was ever marked."""

    any = False


def with_deprecations(value: Value, marks: list[PathMarks]) -> Value:
    """The value with marks of class Deprecation at paths."""
    if not marks:
        return value
    _Known.any = True
    return apply_marks(value, marks)


def without_deprecations(value: Value, span: Span) -> tuple[Value, list[Diagnostic]]:
    """The value of the expression at `span` without such marks, and a warning for each."""
    if not _Known.any:
        return value, []
    found: list[Diagnostic] = []
    kept: list[PathMarks] = []
    for path, marks in marked_paths(value):
        deprecations = [m for m in marks if m.__class__ is Deprecation]
        found += [_warning(d, span) for d in sorted(deprecations, key=lambda d: d.by)]
        rest = marks.difference(deprecations)
        if rest:
            kept.append((path, rest))
    return (apply_marks(unmark_deep(value)[0], kept), found) if found else (value, [])


def _warning(of: Deprecation, span: Span) -> Diagnostic:
    words = f", and its author says: {of.message}" if of.message else "."
    detail = f"This value comes from {of.by}, which is deprecated{words}"
    return warning("language.deprecated", "Value derived from a deprecated source", detail, span)
