"""Marks of values that come from something deprecated: whoever uses such a value is told so, once, where it is used.

A value keeps the mark through whatever is computed from it, until the evaluation of the expression ends: the warnings
of the expression take the place of the marks.
"""

from __future__ import annotations

from planner.values.paths import apply_marks, marked_paths
from planner.values.value import Value, unmark_deep
from planner.vocabulary.diagnostic import Diagnostic, warning
from planner.vocabulary.records import frozen
from planner.vocabulary.span import Span


@frozen
class Deprecation:
    """The mark: what is deprecated (`module.a.old`), and what its author says about it, if anything."""

    by: str
    message: str = ""


def take_deprecations(value: Value, span: Span) -> tuple[Value, list[Diagnostic]]:
    """The value without such marks, and a warning for each place that had one."""
    marked = marked_paths(value)
    causes = [cause for _, marks in marked for cause in marks if cause.__class__ is Deprecation]
    if not causes:
        return value, []
    kept = [(path, frozenset(m for m in marks if m.__class__ is not Deprecation)) for path, marks in marked]
    value = apply_marks(unmark_deep(value)[0], kept)
    return value, [_warning(cause, span) for cause in sorted(causes, key=lambda c: c.by)]


def _warning(cause: Deprecation, span: Span) -> Diagnostic:
    words = f" with the following message:\n\n{cause.message}" if cause.message else "."
    detail = f"This value is derived from {cause.by}, which is deprecated{words}"
    return warning("language.deprecated", "Value derived from a deprecated source", detail, span)
