"""The survey of one unit's configuration: its state, the states that it reads, its files."""

from __future__ import annotations

import os
from typing import Any

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.types import DYNAMIC, NUMBER
from planner.foundation.values.value import Null, Value, is_wholly_known, unmark_deep
from planner.foundation.vocabulary.address import format_key
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.foundation.vocabulary.span import Span
from planner.language.config.backend import backend_settings
from planner.language.config.for_each import for_each_items
from planner.language.config.load import load_tree
from planner.language.config.model import Config, Expr, ModuleCall, ModuleConfig, ResourceDecl, VariableDecl
from planner.language.config.reading import Problems, expr_of
from planner.language.config.static import Given, StaticScope
from planner.language.config.variables import given_values
from planner.language.syntax.body import BodySchema, Content
from planner.operations.backends import data_folder
from planner.operations.load import ConfigurationReading, RunInputs
from planner.operations.options import StateOptions
from planner.workflows.batch.model import FileLocation, RemoteRead, Survey, diagnostics_json
from planner.world.provider import remote_state
from planner.world.state.backend import schema_of, state_identity
from planner.world.state.workspace import read_pointer

_REMOTE = BodySchema({"backend": False, "config": False, "workspace": False})
_PROVIDER = "terraform.io/builtin/terraform"


def survey(unit: str, reading: ConfigurationReading[StateOptions], folder: str) -> Survey:
    """The survey of a loaded configuration, in the working directory of the unit. `folder` is what its files are shown
    below."""
    begun, config, problems = reading.begun, reading.config, list(reading.problems)
    if config is None:
        # problems are reported by planning; the readable part still shows which units wait for which
        config, _ = load_tree(".", variables=begun.given, workspace=begun.workspace, locate=lambda *_: None)
        problems = []
    kind, settings = "local", dict[str, Any]()
    if config.root.backend is not None:
        kind = config.root.backend.type
        schema = schema_of(kind)
        if schema is not None:
            settings, more = backend_settings(config, begun.given, schema, begun.workspace)
            problems += more
        pointer, more = read_pointer(data_folder(begun.options.directory))
        problems += more
        if pointer is not None and pointer.type == kind:
            settings = {**settings, **pointer.settings}  # init may have received more settings than the block has
    state = "" if has_errors(problems) else state_identity(kind, settings, begun.workspace)
    remote = tuple(_remote_reads(config, begun, folder))
    files = [os.path.abspath(name) for name in config.files]
    files += [os.path.abspath(raw.span.filename) for raw in begun.given.values() if raw.span is not None]
    backend = config.root.backend
    place = _place(backend.span, folder) if backend is not None else None
    outputs = tuple(sorted(config.root.outputs)) if reading.config is not None else None
    variables = tuple(sorted(config.root.variables)) if reading.config is not None else None
    return Survey(unit, state, remote, tuple(sorted(set(files))), diagnostics_json(problems), place, outputs, variables)


def _remote_reads(config: Config, begun: RunInputs[StateOptions], folder: str) -> list[RemoteRead]:
    reads: list[RemoteRead] = []
    _module(config.root, "", given_values(begun.given), begun, folder, reads)
    return reads


def _module(
    module: ModuleConfig, path: str, given: Given, begun: RunInputs[StateOptions], folder: str, found: list[RemoteRead]
) -> None:
    """Collect what the module and those below it read. What cannot be evaluated without planning has no state."""
    scope = StaticScope(module.variables, module.locals, given, module.directory, ".", begun.workspace)
    for key in sorted(module.resources):
        decl = module.resources[key]
        if decl.mode != "data" or decl.type != remote_state.NAME:
            continue
        if module.provider_source(decl.provider_name) != _PROVIDER:
            continue
        content, _ = decl.body.partial_content(_REMOTE)
        at = content.attributes.get("config")
        place = _place(at.span if at is not None else decl.span, folder)
        address = f"{path}.{key}" if path else key
        for instance, inner in _instances(decl, scope):
            found.append(RemoteRead(f"{address}{instance}", _state(content, inner), place))
    for name in sorted(module.children):
        child = module.children[name]
        address = f"{path}.module.{name}" if path else f"module.{name}"
        assert child.call is not None
        for instance, outer in _instances(child.call, scope):
            _module(child, f"{address}{instance}", _inputs(child, outer), begun, folder, found)


def _state(content: Content, scope: StaticScope) -> str:
    """The state that a data source reads; "" when that is not known without planning."""
    values: dict[str, Value] = {}
    for name, attribute in content.attributes.items():
        problems = Problems()
        value = _static(scope, expr_of(attribute, problems), problems)
        if value is None:
            return ""
        values[name] = value
    if "backend" not in values:
        return ""
    return remote_state.source({"config": Null(DYNAMIC), "workspace": Null(DYNAMIC), **values}) or ""


def _instances(decl: ResourceDecl | ModuleCall, scope: StaticScope) -> list[tuple[str, StaticScope]]:
    """The keys of the instances of a block as in addresses, each with the scope of its expressions. A block whose
    instances are not known without planning represents all of them."""
    problems = Problems()
    for expr in (decl.enabled, decl.count, decl.for_each):
        if expr is None:
            continue
        value = _static(scope, expr, problems)
        if value is None:
            return [("", scope)]
        if expr is decl.for_each:
            items = for_each_items(value, expr, problems)
            return (
                []
                if items is None
                else [
                    (format_key(key), scope.repeated({"each": {"key": key, "value": item}}))
                    for key, item in items.items()
                ]
            )
        if expr is decl.enabled:
            return [("", scope)] if value is True else []
        try:
            count = convert(value, NUMBER)
        except ConversionError:
            return [("", scope)]
        if not isinstance(count, int) or count < 0:
            return [("", scope)]
        return [(format_key(index), scope.repeated({"count": {"index": index}})) for index in range(count)]
    return [("", scope)]


def _place(span: Span, folder: str) -> FileLocation:
    return FileLocation.of(span, os.path.normpath(os.path.join(folder, span.filename)))


def _inputs(child: ModuleConfig, outer: StaticScope) -> Given:
    """The arguments of a module call, as far as they are known without planning."""
    call = child.call

    def value(variable: VariableDecl, problems: Problems) -> Value | None:
        attribute = call.inputs.get(variable.name) if call is not None else None
        if attribute is None:
            return variable.default
        return _static(outer, expr_of(attribute, problems), problems)

    return value


def _static(scope: StaticScope, expr: Expr, problems: Problems) -> Value | None:
    """The plain value of an expression; None when it cannot be had without planning."""
    mine = Problems()
    value = scope.evaluate(expr, "this", expr.span, mine)
    problems.extend(mine)
    if value is None or mine.has_errors:
        return None
    value = unmark_deep(value)[0]
    return value if is_wholly_known(value) else None
