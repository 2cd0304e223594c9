"""Implements `validate`, which checks a configuration without the state and the real objects."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, has_errors
from planner.language.config.file_content import check_module_arguments
from planner.operations.graphs import SchemaTable, build
from planner.operations.load import Loaded, load
from planner.operations.options import Options
from planner.operations.providers_needed import damaged_selections, missing_providers, override_warnings, wake_providers
from planner.world.state.model import State

if TYPE_CHECKING:
    from planner.logic.model.graph import Graph


def validate(options: Options) -> list[Diagnostic]:
    """The problems of the configuration in the directory. After an error, later checks are omitted."""
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        loaded = load(options, diagnostics)
        try:
            wake_providers(loaded.config, loaded.schemas)
            return [*override_warnings(loaded.config), *diagnostics, *validate_loaded(loaded)]
        finally:
            loaded.schemas.close()
    return diagnostics


def validate_loaded(loaded: Loaded[Any], graph: Graph | None = None, settled: Collection[str] = ()) -> list[Diagnostic]:
    """The problems of a loaded configuration, without the problems that were reported while loading. `graph`: the graph
    of a plan without limits, because it contains all vertices that validation needs; if it is None, a graph is built.
    `settled`: the addresses of resources that are not checked, because they are already planned."""
    from planner.engine.validate.walk import validate_walk

    config, schemas = loaded.config, loaded.schemas
    problems = damaged_selections(loaded.options.directory) or missing_providers(config, schemas)
    problems = problems or list(check_module_arguments(config))
    if has_errors(problems):
        return problems
    try:
        graph = graph or build("validate", loaded, State())
    except Failure as failure:
        return [*problems, *failure.diagnostics]
    return problems + list(validate_walk(graph, config, schemas, loaded.workspace, SchemaTable(schemas), settled))
