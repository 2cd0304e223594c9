"""The settings of the backend block, evaluated early: only variables and locals can be used in them."""

from __future__ import annotations

from typing import Any

from planner.config.model import Config, Expr, VariableDecl
from planner.config.reading import Problems
from planner.config.static import StaticScope
from planner.config.variables import RawVariables
from planner.language.values import Null, Value
from planner.vocabulary.diagnostic import Diagnostic


def backend_settings(config: Config, given: RawVariables, workspace: str) -> tuple[dict[str, Any], list[Diagnostic]]:
    """Plain settings by name; null means that the setting is not given."""
    backend = config.root.backend
    problems = Problems()
    if backend is None:
        return {}, problems

    def value_of(variable: VariableDecl, mine: Problems) -> Value | None:
        raw = given.get(variable.name)
        return raw.value(variable.verbatim, mine) if raw is not None else variable.default

    root = config.root
    scope = StaticScope(root.variables, root.locals, value_of, ".", ".", workspace)
    attributes, found = backend.body.just_attributes()
    problems.extend(found)
    settings: dict[str, Any] = {}
    for name, attribute in sorted(attributes.items()):
        expr = Expr(attribute.expr, attribute.source)
        value = scope.evaluate(expr, f"backend.{backend.type}", expr.span, problems)
        settings[name] = None if value.__class__ is Null else value
    return settings, problems
