"""Implements `show` and `output`: reads states, outputs and saved plans, and converts them to JSON."""

from __future__ import annotations

import os
from typing import Any, Generic, TypeVar

from planner.answers.documents.json_config import config_json
from planner.answers.documents.json_config import module_json as document_of_module
from planner.answers.documents.json_state import state_json
from planner.engine.evaluation.schemas import Schemas
from planner.foundation.support.disk import MAX_BYTES, read_given
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error
from planner.foundation.vocabulary.records import evolve, frozen
from planner.language.config.load import load_root, load_tree
from planner.operations.load import (
    Encryption,
    begin,
    encryption_of,
    encryption_of_directory,
    load,
    load_variables,
    new_schemas,
    read_configuration,
    selected_workspace,
)
from planner.operations.options import OperationOptions, Options, StateOptions
from planner.operations.plan import MadePlan
from planner.operations.plan_files import Unstored, open_plan
from planner.operations.state_access import store_of
from planner.world.state.backend import Backend, Store
from planner.world.state.file import read_state
from planner.world.state.model import OutputState, State

S = TypeVar("S", bound=StateOptions)


@frozen(eq=False)
class StateLocation(Generic[S]):
    """The backend and the store of the selected workspace's state, its encryption, and the schemas of its objects."""

    options: S
    schemas: Schemas
    backend: Backend
    store: Store
    encryption: Encryption


@frozen(eq=False)
class ShownState:
    """A state (None if there is no state yet), and the schemas of its objects."""

    state: State | None
    schemas: Schemas


Shown = MadePlan[Unstored] | ShownState
"""a plan or a state, which `show` prints"""


def kept_state(options: S, diagnostics: Diagnostics) -> StateLocation[S]:
    """Determine where the state of the selected workspace is stored. The state is not read. Raises Failure."""
    from planner.operations.backends import current_backend

    workspace, problems = selected_workspace(options)
    diagnostics += problems
    config, given, schemas = None, dict[str, Any](), new_schemas(options.directory)
    encryption: Encryption | None = None
    if options.state_path is None and _has_configuration(options.directory):
        reading = read_configuration(options)
        config, given = reading.config, reading.begun.given
        schemas = new_schemas(options.directory, config, options.offline)
        if config is None:  # missing modules do not matter here
            config, problems = load_root(options.directory, variables=given, workspace=workspace)
            if config is None:
                raise Failure(problems)
        encryption = encryption_of(config, given, workspace)
    elif options.state_path is not None:
        given, _ = load_variables(options)
        encryption = encryption_of_directory(options.directory, given, workspace)
    encryption = encryption or encryption_of(None, given, workspace)
    backend, problems = current_backend(options.directory, config, workspace, given, encryption)
    diagnostics += problems
    if backend is None:
        raise Failure(())
    return StateLocation(options, schemas, backend, store_of(options, backend, workspace), encryption)


def stored_state(options: StateOptions) -> tuple[ShownState | None, list[Diagnostic]]:
    """The state of the selected workspace, and diagnostics. The result is None if the state cannot be read."""
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        kept = kept_state(options, diagnostics)
        state, problems = kept.store.read()
        diagnostics.check(problems)
        if state is not None:
            kept.schemas.serve(state)
        return ShownState(state, kept.schemas), diagnostics
    return None, diagnostics


def _has_configuration(directory: str) -> bool:
    endings = (".tf", ".tofu", ".tf.json", ".tofu.json")
    try:
        return any(name.endswith(endings) for name in os.listdir(directory))
    except OSError:
        return False


def outputs(options: StateOptions) -> tuple[dict[str, OutputState], list[Diagnostic]]:
    """{name: root output in the state}, and diagnostics. {} if there is no state, or if it cannot be read."""
    shown, problems = stored_state(options)
    return ({} if shown is None or shown.state is None else dict(shown.state.outputs)), problems


def show(options: OperationOptions, path: str | None) -> tuple[Shown | None, list[Diagnostic]]:
    """The plan or the state in a file, or the state of the selected workspace if `path` is None; and diagnostics. The
    result is None on errors."""
    if path is None:
        return stored_state(options)
    return _show_file(options, path)


def _show_file(options: OperationOptions, path: str) -> tuple[Shown | None, list[Diagnostic]]:
    from planner.answers.documents.kind import is_plan_file

    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        if is_plan_file(path):
            return open_plan(options, path, diagnostics, only_shown=True), diagnostics
        try:
            data = read_given(path, MAX_BYTES)
        except OSError as problem:
            detail = f"{path}: {problem.strerror or problem}."
            raise Failure(error("show.unreadable", "Cannot read the file", detail)) from None
        state = diagnostics.take(read_state(_opened_state(options, data, diagnostics), path))
        schemas = new_schemas(options.directory)
        schemas.serve(state)
        return ShownState(state, schemas), diagnostics
    return None, diagnostics


def _opened_state(options: OperationOptions, data: bytes, diagnostics: Diagnostics) -> bytes:
    """The decrypted content of a state file. Raises Failure."""
    begun, _ = begin(options)
    encryption = encryption_of_directory(options.directory, begun.given, begun.workspace)
    diagnostics.check(encryption.check())
    return encryption.state.unseal(data).data if data else data


def shown_json(shown: Shown) -> dict[str, Any]:
    """The plan or the state as `show -json` prints it. Raises Failure."""
    if isinstance(shown, ShownState):
        return state_json(shown.state, shown.schemas.schema)
    from planner.answers.documents.json_plan import plan_json

    return plan_json(shown.plan, shown.loaded.config, shown.loaded.schemas.schema)


# JSON of `show` for configurations: the whole tree of modules, or a single module.


Document = tuple[dict[str, Any] | None, list[Diagnostic]]


def configuration_json(options: Options) -> Document:
    """The configuration in the directory, in the form of the member `configuration` of plan JSON; and diagnostics. None
    on errors."""
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        loaded = load(options, diagnostics)
        return config_json(loaded.config, loaded.schemas.schema), diagnostics
    return None, diagnostics


def module_json(directory: str) -> Document:
    """The module in a directory as JSON, without the modules that it calls, and diagnostics. Providers and called
    modules need not be installed. None on errors."""

    if not os.path.isdir(directory):
        detail = f"There is no directory {directory}."
        return None, [error("show.no_module", "Module directory does not exist", detail)]
    config, problems = load_tree(directory, variables=None, workspace="default", locate=lambda *_: None)
    if any(d.is_error for d in problems):
        return None, problems
    return document_of_module(evolve(config, root=evolve(config.root, children={}))), problems
