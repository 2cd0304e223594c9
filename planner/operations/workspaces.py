"""Lists, creates, selects and deletes workspaces. Each workspace has its own state of the configuration, and one
workspace is selected."""

from __future__ import annotations

import os
from typing import Literal

from planner.foundation.vocabulary.address import format_key
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error, has_errors, warning
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import evolve
from planner.operations.options import StateOptions
from planner.operations.show import kept_state
from planner.world.state.backend import DEFAULT_WORKSPACE, Backend
from planner.world.state.model import State
from planner.world.state.workspace import current_workspace, select_workspace, valid_workspace_name

Selected = Literal["as before", "switched", "created"]


def workspace_name(options: StateOptions) -> tuple[str, list[Diagnostic]]:
    name, _, problems = current_workspace(options.directory, os.environ)
    return name, problems


def workspaces(options: StateOptions, creates: bool = False) -> tuple[list[str], str, list[Diagnostic]]:
    """The names of all workspaces, the name of the selected workspace, and diagnostics. The diagnostics contain an
    error if the backend does not support workspaces. `creates`: whether a workspace is to be created; this changes only
    the title of the error."""
    current, problems = workspace_name(options)
    backend, item = _backend(options)
    problems = [*problems, *item]
    if backend is None:
        return [], current, problems
    if not backend.has_workspaces:
        summary, verb = "Error loading workspaces", "Listing workspaces failed"
        if creates:
            summary, verb = "Error getting existing workspaces", "Failed listing workspaces"
        detail = f'{verb}: workspaces not supported\n\nThe backend "{backend.type}" supports only one state.'
        return [], current, [*problems, error("workspace.unsupported", summary, detail)]
    try:
        return backend.workspaces(), current, problems
    except OSError as problem:
        return [], current, [*problems, _os_problem("list the workspaces", problem)]


def workspace_new(options: StateOptions, name: str) -> list[Diagnostic]:
    """Create and select a workspace. If the option `state_path` is set, the workspace starts with a copy of the state
    in that file. It is an error if the workspace exists. Returns diagnostics."""
    names, _, problems = _changeable(options, name, creates=True)
    if has_errors(problems):
        return problems
    if name in names:
        detail = "Choose another name, or select this one."
        return [*problems, error("workspace.exists", f'Workspace "{name}" already exists', detail)]
    return problems + _create(options, name)


def workspace_select(options: StateOptions, name: str, create: bool = False) -> tuple[Selected, list[Diagnostic]]:
    """Select a workspace. If it does not exist, it is created if `create` is set; otherwise this is an error. Returns
    "created", "switched" or "as before" (it was already selected, or there are errors), and diagnostics."""
    names, current, problems = _changeable(options, name)
    if has_errors(problems):
        return "as before", problems
    if name not in names:
        if not create:
            detail = did_you_mean(name, names).lstrip()
            detail = detail or "Create it with `planner workspace new`, or select it with -or-create."
            return "as before", [*problems, error("workspace.unknown", f'Workspace "{name}" doesn\'t exist', detail)]
        return "created", problems + _create(options, name)
    if name == current:
        return "as before", problems
    return "switched", problems + _select(options, name)


def workspace_delete(options: StateOptions, name: str, force: bool = False) -> list[Diagnostic]:
    """Delete a workspace and its state. It is an error to delete the default workspace or the selected workspace. If
    the workspace still manages objects, it is not deleted, and an error names these objects. With `force`, it is
    deleted, and a warning names the objects. Returns diagnostics."""
    names, current, problems = _changeable(options, name, selects=False)
    backend, _ = _backend(options)
    if has_errors(problems) or backend is None:
        return problems
    refused = ""
    if name not in names:
        detail = f"Nothing was deleted.{did_you_mean(name, names)}"
        return [*problems, error("workspace.unknown", f'Workspace "{name}" doesn\'t exist', detail)]
    if name == DEFAULT_WORKSPACE:
        refused = "The default workspace cannot be deleted."
    elif name == current:
        refused = "It is selected. Select another one first."
    if refused:
        return [*problems, error("workspace.kept", f'Workspace "{name}" is kept', refused)]
    try:
        store = backend.store(name)
    except OSError as problem:
        return [*problems, _os_problem("delete the workspace", problem)]
    diagnostics = store.lock("workspace-delete", options.lock_timeout) if options.lock else []
    if has_errors(diagnostics):
        return [*problems, *diagnostics]
    try:
        state, diagnostics = store.read()
    finally:
        if options.lock:
            store.unlock()
    problems = [*problems, *diagnostics]
    if has_errors(problems):
        return problems
    left = managed_objects(state) if state is not None else []
    names_left = "".join(f"\n  - {address}" for address in left)
    if left and not force:
        detail = (
            f"It still manages {len(left)} object{'' if len(left) == 1 else 's'}:{names_left}\n\nDestroy them first, "
            "or use -force to delete the workspace and leave them unmanaged."
        )
        return [*problems, error("workspace.kept", "Workspace is not empty", detail)]
    if left:
        detail = f'Workspace "{name}" was not empty. These objects still exist, but are no longer managed:{names_left}'
        problems = [*problems, warning("workspace.not_empty", "Objects remain unmanaged", detail)]
    try:
        backend.delete_workspace(name)
    except OSError as problem:
        return [*problems, _os_problem("delete the workspace", problem)]
    return problems


def managed_objects(state: State) -> list[str]:
    """The addresses of the managed objects in a state, including deposed objects, but not data sources."""
    result = []
    for resource, instance in state.instances():
        if resource.mode == "managed":
            address = resource.address + format_key(instance.key)
            result += [address] if instance.current is not None else []
            result += [f"{address} (deposed object {key})" for key in sorted(instance.deposed)]
    return result


def _changeable(
    options: StateOptions, name: str, selects: bool = True, creates: bool = False
) -> tuple[list[str], str, list[Diagnostic]]:
    """The names of all workspaces, the name of the selected workspace, and diagnostics. There is an error if `name` is
    not a valid name, or if TF_WORKSPACE selects the workspace, so that commands cannot select or create one."""
    current, forced, problems = current_workspace(options.directory, os.environ)
    if forced and selects and not (creates and name == current):
        detail = "TF_WORKSPACE selects the workspace. Unset the variable to select or create one by command."
        return [], "", [error("workspace.forced", "The workspace is selected by the environment", detail)]
    if not valid_workspace_name(name):
        detail = f'"{name}" is not allowed: names may contain letters, digits and -_.~$&+=:@.'
        return [], "", [error("workspace.name", "Invalid workspace name", detail)]
    if has_errors(problems):
        return [], "", problems
    return workspaces(options, creates)


def _create(options: StateOptions, name: str) -> list[Diagnostic]:
    backend, problems = _backend(options)
    if backend is None:
        return problems
    begins_with = None
    if options.state_path:
        begins_with, item = _state_in(options)
        problems = [*problems, *item]
        if begins_with is None and not has_errors(item):
            detail = f"The state file {options.state_path} does not exist. Nothing was created."
            problems = [*problems, error("workspace.no_state", "No state to copy", detail)]
        if has_errors(problems):
            return problems
    try:
        backend.create_workspace(name, options.lock)
        if begins_with is not None:
            problems = [*problems, *backend.store(name).put(begins_with)[1]]
    except OSError as problem:
        return [*problems, _os_problem("create the workspace", problem)]
    except Failure as failure:
        return [*problems, *failure.diagnostics]
    return [*problems, *_select(options, name)]


def _state_in(options: StateOptions) -> tuple[State | None, list[Diagnostic]]:
    """The state in the file `state_path`, and diagnostics. The state is None if the file does not exist or cannot be
    read."""
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        return kept_state(options, diagnostics).store.read()
    return None, diagnostics


def _select(options: StateOptions, name: str) -> list[Diagnostic]:
    return select_workspace(options.directory, os.environ, name)


def _backend(options: StateOptions) -> tuple[Backend | None, list[Diagnostic]]:
    """The backend of the directory, even if the option `state_path` is set; and diagnostics. The backend is None on
    errors."""
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        return kept_state(evolve(options, state_path=None), diagnostics).backend, []
    return None, diagnostics


def _os_problem(verb: str, problem: OSError) -> Diagnostic:
    where = f"{problem.filename}: " if problem.filename else ""
    return error("workspace.files", f"Cannot {verb}", f"{where}{problem.strerror or problem}.")
