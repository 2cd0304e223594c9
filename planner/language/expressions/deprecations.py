"""Warns about expressions that use values from deprecated sources.

Deprecations are marks, so every value computed from a marked one is marked, too. At the end of an evaluation, warnings
replace the marks."""

from __future__ import annotations

from planner.foundation.values.convert import path_text
from planner.foundation.values.paths import Path, apply_marks, marked_paths
from planner.foundation.values.value import Value, unmark_deep
from planner.foundation.vocabulary.diagnostic import Deprecation, Diagnostic, warning
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Span


def take_deprecations(value: Value, span: Span) -> tuple[Value, list[Diagnostic]]:
    """The value without deprecation marks, and a warning for each mark."""
    marked = marked_paths(value)
    causes = [(cause, path) for path, marks in marked for cause in marks if isinstance(cause, Deprecation)]
    if not causes:
        return value, []
    kept = [(path, frozenset(m for m in marks if m.__class__ is not Deprecation)) for path, marks in marked]
    value = apply_marks(unmark_deep(value)[0], kept)
    return value, [_warning(cause, path, span) for cause, path in sorted(causes, key=lambda c: c[0].by)]


def take_from_body(value: Value, span: Span) -> tuple[Value, list[Diagnostic]]:
    """The result of `take_deprecations` for the value of a body; the warnings refer to the whole body."""
    value, warnings = take_deprecations(value, span)
    return value, [evolve(w, detail=_detail(w.deprecation, ()), group="") for w in warnings if w.deprecation]


def _warning(cause: Deprecation, path: Path, span: Span) -> Diagnostic:
    title = "Value derived from a deprecated source"
    detail = _detail(cause, path)
    return warning("language.deprecated", title, detail, span, deprecation=cause, group=cause.by)


def _detail(cause: Deprecation, path: Path) -> str:
    part = path_text(path)
    what = f"This value's attribute {part}" if part else "This value"
    words = f" with the following message:\n\n{cause.message}" if cause.message else "."
    return f"{what} is derived from {cause.by}, which is deprecated{words}"
