"""The settings of a backend block, which static evaluation must give before there is any state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.config.model import Config
from planner.config.reading import Problems, expr_of
from planner.config.static import StaticScope
from planner.config.variables import RawVariables, given_values
from planner.language.values import EPHEMERAL, SENSITIVE, List, Map, Set, Value, is_null, unmark_deep
from planner.vocabulary.diagnostic import Diagnostic


def backend_settings(
    config: Config,
    given: RawVariables,
    workspace: str = "default",
    overrides: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], list[Diagnostic]]:
    """The arguments of the root module's backend (or cloud) block as plain Python values, null as None. `overrides`
    (from -backend-config) win. Secrets are refused: the settings are stored in clear."""
    problems = Problems()
    settings: dict[str, Any] = {}
    backend = config.root.backend
    if backend is not None:
        root = config.root
        scope = StaticScope(root.variables, root.locals, given_values(given), root.directory, workspace=workspace)
        attributes, diagnostics = backend.body.just_attributes()
        problems.extend(diagnostics)
        for name, attribute in attributes.items():
            expr = expr_of(attribute, problems)
            value = scope.evaluate(expr, f"backend.{backend.type}", backend.span, problems)
            if value is None:
                continue
            plain, marks = unmark_deep(value)
            for secret, word in ((SENSITIVE, "sensitive"), (EPHEMERAL, "ephemeral")):
                if secret in marks:
                    title = f"Backend config contains {word} values"
                    detail = f"The value of {name} is {word}, but backend settings are stored: use the environment."
                    problems.error("secret_in_backend", title, detail, backend.span)
            settings[name] = _plain(plain)
    settings.update(overrides or {})
    return settings, problems


def _plain(value: Value) -> Any:
    if is_null(value):
        return None
    if isinstance(value, List | Set):
        return [_plain(item) for item in value.items]
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Map | dict):
        items = value.items if isinstance(value, Map) else value
        return {name: _plain(item) for name, item in items.items()}
    return value if isinstance(value, str | bool | int) else float(value)
