"""`show` and `output`: states, outputs and saved plans, as values and as JSON."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from planner.foundation.support.disk import MOST_BYTES, read_given
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.diagnostic_list import Diagnostics
from planner.foundation.vocabulary.records import frozen
from planner.language.config.load import load_root
from planner.operations.encryption import Encryption, encryption_of, encryption_of_directory
from planner.operations.load import begin, load_variables, new_schemas, read_configuration
from planner.operations.options import OperationOptions, StateOptions
from planner.operations.plan import MadePlan
from planner.operations.plan_files import Unstored, open_plan
from planner.operations.state_access import store_of
from planner.world.state.file import read_state
from planner.world.state.workspace import current_workspace

if TYPE_CHECKING:
    from planner.engine.evaluation.schemas import Schemas
    from planner.world.state.backend import Backend, Store
    from planner.world.state.model import OutputState, State

S = TypeVar("S", bound=StateOptions)


@frozen(eq=False)
class StateLocation(Generic[S]):
    """Where the state of the selected workspace is kept; the configuration only says where."""

    options: S
    schemas: Schemas
    backend: Backend
    store: Store
    encryption: Encryption


@frozen(eq=False)
class ShownState:
    """A state (None: there is none yet), and schemas to show it by."""

    state: State | None
    schemas: Schemas


Shown = MadePlan[Unstored] | ShownState
"""what `show` reads: a plan, or a state"""


def kept_state(options: S, told: Diagnostics) -> StateLocation[S]:
    """Where the state of the selected workspace is kept; nothing is read from that yet. Raises Failure."""
    from planner.operations.backends import current_backend

    workspace, _, problems = current_workspace(options.directory, os.environ)
    told += problems
    config, given, schemas = None, dict[str, Any](), new_schemas(options.directory)
    encryption: Encryption | None = None
    if options.state_path is None and _has_configuration(options.directory):
        reading = read_configuration(options)
        config, given = reading.config, reading.begun.given
        schemas = new_schemas(options.directory, config, options.offline)
        if config is None:  # modules that are not installed do not matter here
            config, problems = load_root(options.directory, variables=given, workspace=workspace)
            if config is None:
                raise Failure(problems)
        encryption = encryption_of(config, given, workspace)
    elif options.state_path is not None:
        given, _ = load_variables(options)
        encryption = encryption_of_directory(options.directory, given, workspace)
    encryption = encryption or encryption_of(None, given, workspace)
    backend, problems = current_backend(options.directory, config, workspace, given, encryption)
    told += problems
    if backend is None:
        raise Failure(())
    return StateLocation(options, schemas, backend, store_of(options, backend, workspace), encryption)


def stored_state(options: StateOptions) -> tuple[ShownState | None, list[Diagnostic]]:
    """The state of the selected workspace; None when it cannot be read."""
    told = Diagnostics()
    with told.until_an_error():
        kept = kept_state(options, told)
        state, problems = kept.store.read()
        told.check(problems)
        return ShownState(state, kept.schemas), told
    return None, told


def _has_configuration(directory: str) -> bool:
    endings = (".tf", ".tofu", ".tf.json", ".tofu.json")
    try:
        return any(name.endswith(endings) for name in os.listdir(directory))
    except OSError:
        return False


def outputs(options: StateOptions) -> tuple[dict[str, OutputState], list[Diagnostic]]:
    """The root output values in the state."""
    shown, problems = stored_state(options)
    return ({} if shown is None or shown.state is None else dict(shown.state.outputs)), problems


def show(options: OperationOptions, path: str | None) -> tuple[Shown | None, list[Diagnostic]]:
    """The state of the workspace, or the plan or state in a file."""
    if path is None:
        return stored_state(options)
    return _show_file(options, path)


def _show_file(options: OperationOptions, path: str) -> tuple[Shown | None, list[Diagnostic]]:
    from planner.answers.documents.kind import is_plan_file

    told = Diagnostics()
    with told.until_an_error():
        if is_plan_file(path):
            return open_plan(options, path, told), told
        try:
            data = read_given(path, MOST_BYTES)
        except OSError as problem:
            detail = f"{path}: {problem.strerror or problem}."
            raise Failure(error("show.unreadable", "Cannot read the file", detail)) from None
        state = told.take(read_state(_opened_state(options, data, told), path))
        return ShownState(state, new_schemas(options.directory)), told
    return None, told


def _opened_state(options: OperationOptions, data: bytes, told: Diagnostics) -> bytes:
    """The bytes of a state file that was named, in clear. Raises Failure."""
    begun, _ = begin(options)
    encryption = encryption_of_directory(options.directory, begun.given, begun.workspace)
    told.check(encryption.check())
    return encryption.state.unseal(data).data if data else data


def shown_json(shown: Shown) -> dict[str, Any]:
    """What `show -json` prints. Raises Failure."""
    if isinstance(shown, ShownState):
        return _state_json(shown)
    return _plan_json(shown)


def _state_json(shown: ShownState) -> dict[str, Any]:
    from planner.answers.documents.json_state import state_json

    return state_json(shown.state, shown.schemas.schema)


def _plan_json(shown: MadePlan[Unstored]) -> dict[str, Any]:
    from planner.answers.documents.json_plan import plan_json

    return plan_json(shown.plan, shown.loaded.config, shown.loaded.schemas.schema)
