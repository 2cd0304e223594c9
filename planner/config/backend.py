"""The settings of a backend block, which static evaluation must give before there is any state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from planner.config.model import Config, Expr
from planner.config.reading import Problems, expr_of
from planner.config.static import StaticScope
from planner.config.variables import RawVariables, given_values
from planner.syntax.body import BodySchema
from planner.values.value import EPHEMERAL, SENSITIVE, List, Map, Set, Value, is_null, unmark_deep
from planner.vocabulary.diagnostic import Diagnostic
from planner.vocabulary.nearest import did_you_mean

Override: TypeAlias = "tuple[str, Expr | str]"
"""A setting from outside the block: its name, with an expression in a file or the text itself."""


def backend_settings(
    config: Config,
    given: RawVariables,
    workspace: str = "default",
    overrides: Iterable[Override] = (),
) -> tuple[dict[str, Any], list[Diagnostic]]:
    """The arguments of the root module's backend (or cloud) block as plain Python values, null as None. `overrides`
    (from -backend-config) win, the last of a name. Secrets are refused: the settings are stored in clear."""
    problems = Problems()
    settings: dict[str, Any] = {}
    backend = config.root.backend
    if backend is None:
        return settings, problems
    root = config.root
    scope = StaticScope(root.variables, root.locals, given_values(given), root.directory, workspace=workspace)
    attributes, diagnostics = backend.body.just_attributes()
    problems.extend(diagnostics)
    written: dict[str, Expr | str] = {name: expr_of(attribute, problems) for name, attribute in attributes.items()}
    written.update(overrides)
    for name, expr in written.items():
        if isinstance(expr, str):
            settings[name] = expr
            continue
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
    return settings, problems


def read_overrides(items: Iterable[str], known: Iterable[str]) -> tuple[list[Override], list[Diagnostic]]:
    """What the values of -backend-config say: `NAME=VALUE`, or a file with arguments. `known` are the settings that the
    backend has. An empty value says nothing; it is how to take back what was given before."""
    names = list(known)
    problems = Problems()
    overrides: list[Override] = []
    for item in items:
        name, equals, text = item.partition("=")
        if not item:
            continue
        if not equals:
            overrides += _file_overrides(item, names, problems)
        elif name in names:
            overrides.append((name, text))
        else:
            detail = f'This backend has no setting "{name}".{did_you_mean(name, names)}'
            problems.error("backend_argument", "Invalid backend configuration argument", detail)
    return overrides, problems


def _file_overrides(path: str, known: list[str], problems: Problems) -> list[Override]:
    from planner.syntax.files import load_file

    body, _, diagnostics = load_file(path, path, given=True)
    problems.extend(diagnostics)
    if body is None:
        return []
    content = body.content(BodySchema(dict.fromkeys(known, False)))
    problems.extend(content.diagnostics)
    return [(name, expr_of(attribute, problems)) for name, attribute in content.attributes.items()]


def texts(settings: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """The settings as a schema of strings reads them: every known name, numbers and bools as text."""
    found: dict[str, Any] = dict.fromkeys(known)
    for name, value in settings.items():
        found[name] = str(value).lower() if isinstance(value, bool) else value
        if isinstance(value, int | float) and not isinstance(value, bool):
            found[name] = f"{value:.15g}" if isinstance(value, float) else str(value)
    return found


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
