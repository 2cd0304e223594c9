"""Functions that render a file or a string as a template."""

from __future__ import annotations

import os
from collections.abc import Collection

from planner.foundation.values.types import DYNAMIC, STRING
from planner.foundation.values.value import Marked, Value, mark, unmark
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, has_errors
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.release import follows_next
from planner.foundation.vocabulary.span import Source
from planner.language.functions.filesystem import read_text
from planner.language.functions.protocol import CallContext, Function, FunctionError, Param, entries, function, kind
from planner.language.syntax.parse import parse_template

FUNCTIONS: list[Function] = []

STRING_FILENAME = "<templatestring argument>"
DEEPEST = 1024


def _limit() -> int:
    """The maximum nesting of templates: TF_TEMPLATE_RECURSION_DEPTH, by default 1024. Raises FunctionError."""
    limit = os.environ.get("TF_TEMPLATE_RECURSION_DEPTH", "")
    if not limit:
        return DEEPEST
    try:
        return int(limit)
    except ValueError:
        raise FunctionError("The environment variable TF_TEMPLATE_RECURSION_DEPTH must be a whole number.") from None


@function(
    Param("path", STRING, "The name of the template file.", allow_marked=True),
    Param("vars", DYNAMIC, "The variables of the template: a map or an object."),
    result=DYNAMIC,
    not_null=False,
    into=FUNCTIONS,
)
def templatefile(path: Value, variables: Value, *, context: CallContext) -> Value:
    """Renders a file as a template, which can use only the variables in the second argument."""
    path, marks = unmark(path)
    if context.depth > _limit():
        raise FunctionError(f"Templates are nested more than {_limit()} levels deep.")
    source = read_text(path, context.base_dir, hidden=bool(marks))
    return mark(_render(source, path, variables, context.deeper()), marks)


@function(
    Param("data", STRING, "The template.", allow_marked=True),
    Param("vars", DYNAMIC, "The variables of the template: a map or an object.", allow_marked=True),
    result=DYNAMIC,
    not_null=False,
    into=FUNCTIONS,
)
def templatestring(template: Value, variables: Value, *, context: CallContext) -> Value:
    """Renders a string as a template, which can use only the variables in the second argument."""
    template, marks = unmark(template)
    if follows_next():
        variables, more = unmark(variables)
        marks |= more
    return mark(_render(template, STRING_FILENAME, variables, context), marks)


def _render(source: str, filename: str, variables: Value, context: CallContext) -> Value:
    if kind(variables) not in ("object", "map"):
        _check_syntax(source, filename)
        raise FunctionError("It must be a map or an object.", 1)
    if variables.__class__ is Marked:
        _check_syntax(source, filename)
        raise FunctionError("The variables as a whole must not be sensitive; mark individual variables instead.")
    assert context.evaluate_template is not None
    scope = entries(variables)
    for name in sorted(scope):
        if not _is_identifier(name):
            _check_syntax(source, filename)
            raise FunctionError(f'"{name}" is not a valid name in a template.', 1)
    try:
        return context.evaluate_template(source, filename, scope, context)
    except Failure as failure:
        raise _missing(failure.diagnostics, scope) or _error(failure.diagnostics) from None


def _missing(problems: list[Diagnostic], known: Collection[str]) -> FunctionError | None:
    """The error if the only problem is that variables of the template have no value; otherwise None."""
    subjects = [d.subject for d in problems if d.code == "language.unknown_variable" and d.subject]
    if not subjects or len(subjects) < len(problems):
        return None
    names = {s.source.text[s.start : s.end]: s for s in reversed(subjects)}  # the first use of each variable
    uses = [f'no value for "{name}", which the template uses at {names[name]}' for name in reversed(names)]
    hints = "".join(did_you_mean(name, known) for name in reversed(names))
    return FunctionError(f"It has {' and '.join(uses)}.{hints}", 1)


def _check_syntax(source: str, filename: str) -> None:
    _, problems = parse_template(Source(filename, source))
    if has_errors(problems):
        raise _error(problems)


def _error(problems: list[Diagnostic]) -> FunctionError:
    words = "; ".join(f"{d.subject}: {d.summary}. {d.detail}" if d.subject else d.detail or d.summary for d in problems)
    return FunctionError(f"The template cannot be rendered: {words}")


def _is_identifier(name: str) -> bool:
    return name.replace("-", "_").isidentifier() and name[0] not in "-_"
