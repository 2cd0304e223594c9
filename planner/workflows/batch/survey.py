"""The survey of one unit's configuration: its state, the states that it reads, its files."""

from __future__ import annotations

import os
from typing import Any

from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import Null, Value
from planner.foundation.vocabulary.address import join
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.language.config.backend import backend_settings
from planner.language.config.for_each import constant, module_scopes, repeated_scopes
from planner.language.config.load import load_tree
from planner.language.config.model import Config
from planner.language.config.reading import Problems, expr_of
from planner.language.config.static import StaticScope
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
    """The survey of a loaded configuration, in the working directory of the unit. Paths of its files are shown relative
    to `folder`."""
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
            settings = {**settings, **pointer.settings}  # init may have received more settings than the block contains
    state = "" if has_errors(problems) else state_identity(kind, settings, begun.workspace)
    remote = tuple(_remote_reads(config, begun, folder))
    files = [os.path.abspath(name) for name in config.files]
    files += [os.path.abspath(raw.span.filename) for raw in begun.given.values() if raw.span is not None]
    backend = config.root.backend
    place = FileLocation.below(folder, backend.span) if backend is not None else None
    outputs = tuple(sorted(config.root.outputs)) if reading.config is not None else None
    variables = tuple(sorted(config.root.variables)) if reading.config is not None else None
    return Survey(unit, state, remote, tuple(sorted(set(files))), diagnostics_json(problems), place, outputs, variables)


def _remote_reads(config: Config, begun: RunInputs[StateOptions], folder: str) -> list[RemoteRead]:
    """The states that the modules read; a state that cannot be determined without planning is unknown."""
    reads: list[RemoteRead] = []
    for path, module, scope in module_scopes(config.root, given_values(begun.given), begun.workspace):
        for key in sorted(module.resources):
            decl = module.resources[key]
            if decl.mode != "data" or decl.type != remote_state.NAME:
                continue
            if module.provider_source(decl.provider_name) != _PROVIDER:
                continue
            content, _ = decl.body.partial_content(_REMOTE)
            at = content.attributes.get("config")
            place = FileLocation.below(folder, at.span if at is not None else decl.span)
            for instance, inner in repeated_scopes(decl, scope):
                reads.append(RemoteRead(f"{join(path, key)}{instance}", _state(content, inner), place))
    return reads


def _state(content: Content, scope: StaticScope) -> str:
    """The state that a data source reads; "" if unknown without planning."""
    values: dict[str, Value] = {}
    for name, attribute in content.attributes.items():
        problems = Problems()
        value = constant(scope, expr_of(attribute, problems), problems)
        if value is None:
            return ""
        values[name] = value
    if "backend" not in values:
        return ""
    return remote_state.source({"config": Null(DYNAMIC), "workspace": Null(DYNAMIC), **values}) or ""
