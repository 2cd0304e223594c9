"""Inputs of a unit from other units: the values of variables that the fleet's file sets, and the planned outputs of
states that the unit reads."""

from __future__ import annotations

import os
from typing import Any

from planner.engine.plan.options import ComingState
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import Unknown
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.span import Source
from planner.language.config.directory import is_secret_directory
from planner.language.expressions.evaluate import evaluate
from planner.language.expressions.scope import MappingScope
from planner.language.syntax.parse import parse_expression
from planner.operations.backends import data_folder
from planner.operations.load import encryption_of_directory, load_variables
from planner.operations.options import Options
from planner.workflows.batch.model import Request, Upstream
from planner.workflows.batch.passed_outputs import outputs_of, own_outputs
from planner.world.state.backend import open_backend
from planner.world.state.backends.local import StateStore
from planner.world.state.encryption_seal import PLAIN, Seal
from planner.world.state.model import State
from planner.world.state.workspace import current_workspace, read_pointer


def coming_states(request: Request) -> dict[str, ComingState]:
    """{name of a state: planned outputs of the unit that will write this state}. Raises Failure."""
    result: dict[str, ComingState] = {}
    for one in request.upstream:
        if not one.seen:
            continue
        values = outputs_of(one.unit, one.planned)
        if one.state:
            result[one.state] = ComingState(one.unit, own_outputs(values))
        for state, component in one.parts:
            if component in values:
                result[state] = ComingState(one.unit, values[component])
    return result


def inputs(request: Request) -> dict[str, Any]:
    """{variable: value} for the variables that the fleet's file sets. Parts of values that depend on unknown outputs of
    other units have a mark (`passed_outputs.Awaited`). Raises Failure."""
    only_checked = request.command == "validate"
    units: dict[str, Any] = {}
    for one in request.upstream if request.inputs else ():
        result = _outputs(one, only_checked)
        if one.called:
            units.setdefault(one.called[0], {})[one.called[1]] = result
        else:
            units[one.unit] = result
    constants = MappingScope({})
    names = {name: _value(request, name, text, constants) for name, text in request.names}
    given = {name: _value(request, name, text, constants) for name, text in request.variables}
    scope = MappingScope({**names, "unit": units})
    return given | {name: _value(request, name, text, scope) for name, text in request.inputs}


def _value(request: Request, name: str, text: str, scope: MappingScope) -> Any:
    source = Source(f"<{name} of unit {request.unit}>", text)
    node, problems = parse_expression(source)
    if node is None or has_errors(problems):
        raise Failure(problems)
    return evaluate(node, scope, source)


def outputs(request: Request, unit: str) -> Any:
    upstream = next(one for one in request.upstream if one.unit == unit)
    return _outputs(upstream, request.command == "validate")


def _outputs(upstream: Upstream, only_checked: bool) -> Any:
    """The root outputs of another unit, from its plan or its state; unknown if `only_checked`. The values are not
    marked as sensitive; declare the variables that receive them as sensitive if necessary. Raises Failure."""
    if only_checked:
        return Unknown(DYNAMIC)
    if upstream.seen:
        return own_outputs(outputs_of(upstream.unit, upstream.planned))
    unit = upstream.unit
    if not upstream.state:
        detail = (
            f"The location of the state of {unit} is not known. Set the variable in another way, for example in a file."
        )
        raise Failure(error("batch.remote_outputs", f"The outputs of {unit} cannot be read", detail))
    state, problems = _state_of(upstream)
    if has_errors(problems):
        detail = "\n".join(f"{d.summary}: {d.detail}" for d in problems if d.is_error)
        raise Failure(error("batch.remote_outputs", f"The outputs of {unit} cannot be read", detail))
    if state is None:
        detail = f"The unit {unit} has no state yet: apply it first, or together with this one."
        raise Failure(error("batch.no_upstream_state", "No outputs to read", detail))
    return {name: output.value for name, output in state.outputs.items()}


def _state_of(upstream: Upstream) -> tuple[State | None, list[Diagnostic]]:
    """The state of another unit (None if it does not exist or cannot be read) and problems. The encryption settings
    come from the configuration of the requesting unit: from its `remote_state_data_source` block for the other unit or,
    without this block, from `default`. If there is neither, the state is read as plain text and, after an error, with
    the encryption settings of the requesting unit's own state."""
    if not is_secret_directory("."):
        return _state_with(upstream, PLAIN)
    try:
        given, _ = load_variables(Options("."))
        encryption = encryption_of_directory(".", given, os.environ.get("TF_WORKSPACE") or "default")
        remote, mine = encryption.remote_state(upstream.unit), encryption.state
    except Failure as failure:
        return None, failure.diagnostics
    if remote is not PLAIN:
        return _state_with(upstream, remote)
    state, problems = _state_with(upstream, PLAIN)
    return (state, problems) if mine is PLAIN or not has_errors(problems) else _state_with(upstream, mine)


def _state_with(upstream: Upstream, seal: Seal) -> tuple[State | None, list[Diagnostic]]:
    """The state from its file, or from the backend that `init` has configured (None if it does not exist or cannot be
    read), and problems."""
    if os.path.isabs(upstream.state):
        return StateStore(upstream.state, seal=seal).read()
    return _state_in_service(upstream, seal)


def _state_in_service(upstream: Upstream, seal: Seal) -> tuple[State | None, list[Diagnostic]]:
    if upstream.deployment is not None:
        from planner.workflows.stacks.settings import backend_of
        from planner.workflows.stacks.states import States

        return States(backend_of(upstream.directory, seal), upstream.deployment or "").read(), []
    pointer, problems = read_pointer(data_folder(upstream.directory))
    if pointer is None:
        detail = (
            f"The unit {upstream.unit} is not initialized, so the location of its state is unknown: run init there."
        )
        return None, problems or [error("batch.remote_outputs", "Backend not initialized", detail)]
    backend, problems = open_backend(pointer.type, pointer.settings, seal)
    if backend is None:
        return None, problems
    workspace = upstream.workspace or current_workspace(upstream.directory, {})[0]
    try:
        return backend.store(workspace).read()
    except OSError as problem:
        return None, [error("batch.remote_outputs", "Error loading state", str(problem.strerror or problem))]
