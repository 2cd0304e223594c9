"""The backend that stores the state. `init` sets up the backend that the configuration describes, records it in the
data directory, and copies states from a former backend. All other commands require that the recorded backend and the
configuration agree."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config
from planner.language.config.variables import RawVariables
from planner.operations.load import Encryption
from planner.operations.options import StateOptions
from planner.world.state.backend import (
    DEFAULT_WORKSPACE,
    Backend,
    Store,
    module_of,
    open_backend,
    schema_of,
    unknown_type,
)
from planner.world.state.encryption_seal import Seal
from planner.world.state.settings import settings_hash
from planner.world.state.workspace import (
    BackendPointer,
    current_workspace,
    data_directory,
    read_pointer,
    select_workspace,
    write_pointer,
)

if TYPE_CHECKING:
    from planner.language.config.backend import Overrides
    from planner.world.state.migrate import Ask, MigrationOptions


@frozen(eq=False)
class BackendRequest:
    """The backend that the configuration describes. `settings`: the settings in the backend block and in
    -backend-config. `written`: only the settings in the block."""

    type: str
    settings: dict[str, Any]
    written: dict[str, Any]
    span: Span | None = None

    @property
    def hash(self) -> int:
        """The hash of the backend type and of the settings in the block (`written`); 0 for an unknown type."""
        schema = schema_of(self.type)
        return 0 if schema is None else settings_hash(self.type, schema, self.written)

    def matches(self, pointer: BackendPointer) -> bool:
        """Whether the recorded backend has the same type and the same settings (including -backend-config). Null
        settings and empty lists are ignored."""
        given = {name: value for name, value in self.settings.items() if value not in (None, [])}
        saved = {name: value for name, value in pointer.settings.items() if value not in (None, [])}
        return self.type == pointer.type and given == saved


def wanted_backend(
    config: Config | None, given: RawVariables, workspace: str, overrides: Overrides | None = None
) -> tuple[BackendRequest | None, list[Diagnostic]]:
    """The backend in the root module's backend block, and problems. The backend is None if there is no such block, or
    if the block has errors."""
    if config is None or config.root.backend is None:
        return None, []
    return _configured_request(config, config.root.backend.type, given, workspace, overrides)


def _configured_request(
    config: Config, kind: str, given: RawVariables, workspace: str, overrides: Overrides | None
) -> tuple[BackendRequest | None, list[Diagnostic]]:
    from planner.language.config.backend import backend_settings

    schema = schema_of(kind)
    if schema is None:
        where = config.root.backend.span if config.root.backend is not None else None
        return None, [evolve(unknown_type(kind), subject=where)]
    written, problems = backend_settings(config, given, schema, workspace)
    settings = written
    if overrides is not None and overrides.items:
        settings, problems = backend_settings(config, given, schema, workspace, overrides)
    if has_errors(problems):
        return None, problems
    return BackendRequest(kind, settings, written, config.root.backend.span if config.root.backend else None), problems


def data_folder(directory: str) -> str:
    """The data directory of a working directory: `.terraform`, or the directory in TF_DATA_DIR."""
    return os.path.join(directory, data_directory(os.environ))


def saved_backend(pointer: BackendPointer | None, seal: Seal) -> tuple[Backend | None, list[Diagnostic]]:
    """The backend that `init` recorded in `pointer`; a backend for local state files if `pointer` is None."""
    return open_backend("local", {}, seal) if pointer is None else open_backend(pointer.type, pointer.settings, seal)


def current_backend(
    directory: str, config: Config | None, workspace: str, given: RawVariables, encryption: Encryption
) -> tuple[Backend | None, list[Diagnostic]]:
    """The backend of the state, for all commands except `init`. Returns None and an error if the configuration differs
    from the backend that `init` recorded, or if the encryption or the backend is invalid."""
    diagnostics = encryption.check()
    if has_errors(diagnostics):
        return None, diagnostics
    backend, problems = _current(directory, config, workspace, given, encryption.state)
    return backend, [*diagnostics, *problems]


def _current(
    directory: str, config: Config | None, workspace: str, given: RawVariables, seal: Seal
) -> tuple[Backend | None, list[Diagnostic]]:
    pointer, problems = read_pointer(data_folder(directory))
    if has_errors(problems):
        return None, problems
    wanted, problems = wanted_backend(config, given, workspace)
    if has_errors(problems):
        return None, problems
    reason, mark = "", ","
    if wanted is None and pointer is not None:
        reason = f'Unsetting the previously set backend "{pointer.type}"'
    elif wanted is not None and pointer is None:
        reason = f'Initial configuration of the requested backend "{wanted.type}"'
    elif wanted is not None and pointer is not None and wanted.hash != pointer.hash and not wanted.matches(pointer):
        reason, mark = "Backend configuration block has changed", ":"
        if wanted.type != pointer.type:
            reason = f'Backend type changed from "{pointer.type}" to "{wanted.type}"'
    if reason:
        return None, [*problems, _init_required(reason, mark)]
    backend, item = saved_backend(pointer, seal)
    return backend, [*problems, *item]


def _init_required(reason: str, mark: str) -> Diagnostic:
    detail = (
        f"Reason: {reason}\n\nThe backend stores the state. Run planner init with -migrate-state to copy the state to "
        "the new backend, or with -reconfigure to leave all states unchanged. Nothing has been changed."
    )
    return error("backend.init_required", f'Backend initialization required{mark} please run "planner init"', detail)


# ---------------------------------------------------------------- init


@frozen(eq=False)
class BackendInit:
    """The options of `init` for the backend. `seal`: the encryption of states. `config`: the values of
    -backend-config."""

    options: StateOptions
    seal: Seal
    config: tuple[str, ...] = ()
    reconfigure: bool = False
    migrate_state: bool = False
    force_copy: bool = False
    ask: Ask | None = None
    """None: prompts are not possible"""
    log: Callable[[str], None] = lambda text: None


def init_backend(how: BackendInit, config: Config, workspace: str, given: RawVariables) -> list[Diagnostic]:
    """Set up the backend that the configuration describes, and record it in the data directory. Returns problems."""
    try:
        return _init(how, config, workspace, given)
    except Failure as failure:
        return list(failure.diagnostics)
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        return [error("backend.service", "Error refreshing state", f"{where}{problem.strerror or problem}")]


def _init(how: BackendInit, config: Config, workspace: str, given: RawVariables) -> list[Diagnostic]:
    from planner.language.config.backend import read_overrides

    folder = data_folder(how.options.directory)
    pointer, problems = read_pointer(folder)
    if has_errors(problems):
        return problems
    block = config.root.backend
    if block is None:
        if how.config:
            problems.append(_no_block())
        if pointer is None:
            return problems
        if how.reconfigure:
            return problems + write_pointer(folder, None)
        return problems + _unset(how, pointer, folder)
    schema = schema_of(block.type)
    if schema is None:
        return [*problems, evolve(unknown_type(block.type), subject=block.span)]
    overrides, item = read_overrides(how.config, schema)
    if has_errors(item):
        return problems + item
    wanted, item = wanted_backend(config, given, workspace, overrides)
    problems += item
    if wanted is None:
        return problems
    wanted = _completed_request(how, wanted)
    if pointer is None or how.reconfigure:
        return problems + _first(how, wanted, folder, workspace)
    same = pointer.hash == wanted.hash and not how.config
    if not same and not wanted.matches(pointer):
        return problems + _change(how, pointer, wanted, folder, workspace)
    return problems + _as_before(how, pointer, wanted, folder, workspace)


def _as_before(
    how: BackendInit, pointer: BackendPointer, wanted: BackendRequest, folder: str, workspace: str
) -> list[Diagnostic]:
    """Select the workspace in a backend that is already set up. If the backend block was edited without changing the
    settings, record its new hash."""
    backend, problems = saved_backend(pointer, how.seal)
    if backend is None:
        return problems
    problems += _select(how, backend, workspace)
    if pointer.hash != wanted.hash and not has_errors(problems):
        problems += write_pointer(folder, BackendPointer(pointer.type, pointer.settings, wanted.hash))
    return problems


def _completed_request(how: BackendInit, wanted: BackendRequest) -> BackendRequest:
    """The request, in which missing required settings are set to the user's answers. If prompts are not possible, the
    request is unchanged."""
    schema = schema_of(wanted.type)
    if how.ask is None or schema is None:
        return wanted
    settings = dict(wanted.settings)
    for name, attribute in sorted(schema.attributes.items()):
        if attribute.required and settings.get(name) is None and not _is_in_environment(wanted.type, name):
            settings[name] = how.ask(name, attribute.description) or None
    return evolve(wanted, settings=settings)


def _is_in_environment(kind: str, name: str) -> bool:
    variables = getattr(module_of(kind), "REQUIRED_VARIABLES", {}).get(name, ())
    return any(os.environ.get(variable) for variable in variables)


def _no_block() -> Diagnostic:
    detail = (
        'The configuration has no backend block, so -backend-config has no effect. Add `terraform { backend "local" {} '
        "}`, or the block that you mean, or leave the option out."
    )
    return warning("backend.no_block", "Missing backend configuration", detail)


def _target_store(backend: Backend, workspace: str) -> Store:
    """The store of this workspace; the store of the default workspace if the backend does not support workspaces."""
    return backend.store(workspace if backend.has_workspaces else DEFAULT_WORKSPACE)


def version_problems(store: Store, options: StateOptions) -> list[Diagnostic]:
    """An error if runs on the server use a version of OpenTofu that might not be able to read a state written here.
    With -ignore-remote-version, this is a warning."""
    problems = getattr(store, "version_problems", None)  # only stores of workspaces on a server have this method
    return problems(options.ignore_remote_version) if problems is not None else []


def _first(how: BackendInit, wanted: BackendRequest, folder: str, workspace: str) -> list[Diagnostic]:
    """Set up the first backend. If there are local states, the user is prompted whether to copy them to the new
    backend. Local states that were copied are backed up and emptied."""
    from planner.world.state.migrate import has_objects, migrate

    default, backend, problems = _open(how, None, wanted)
    if default is None or backend is None:
        return problems
    if any(has_objects(default.store(name)) for name in default.workspaces()):
        if has_errors(conflicts := version_problems(_target_store(backend, workspace), how.options)):
            return problems + conflicts
        copied = migrate(default, backend, _migration(how, "local", wanted.type, problems))
        places = {os.path.normpath(backend.store(name).place) for name in copied}
        for name in copied:
            store = default.store(name)
            if os.path.normpath(store.place) not in places:
                problems += store.erase()
    return problems + _remember(how, wanted, backend, folder, workspace)


def _change(
    how: BackendInit, pointer: BackendPointer, wanted: BackendRequest, folder: str, workspace: str
) -> list[Diagnostic]:
    """Replace the recorded backend or its settings, and copy the states. Without the option -migrate-state, this is an
    error."""
    from planner.world.state.migrate import migrate

    if not how.migrate_state:
        return [_change_error()]
    if pointer.type != wanted.type:
        how.log(f'The backend type changed from "{pointer.type}" to "{wanted.type}".')
    else:
        how.log("Backend configuration changed! Looking for states in the former backend.")
    old, new, problems = _open(how, pointer, wanted)
    if old is None or new is None:
        return problems
    if has_errors(conflicts := version_problems(_target_store(new, workspace), how.options)):
        return problems + conflicts
    migrate(old, new, _migration(how, pointer.type, wanted.type, problems))
    return problems + _remember(how, wanted, new, folder, workspace)


def _unset(how: BackendInit, pointer: BackendPointer, folder: str) -> list[Diagnostic]:
    """Return to local states, because the backend block was removed, and copy the states. Without the option
    -migrate-state, this is an error."""
    from planner.world.state.migrate import migrate

    if not how.migrate_state:
        return [_change_error()]
    old, problems = saved_backend(pointer, how.seal)
    default, item = saved_backend(None, how.seal)
    problems += item
    if old is None or default is None:
        return problems
    migrate(old, default, _migration(how, pointer.type, "local", problems))
    problems += write_pointer(folder, None)
    if not has_errors(problems):
        how.log(f'Successfully unset the backend "{pointer.type}". The state is now stored in this directory.')
    return problems


def _change_error() -> Diagnostic:
    detail = (
        "A change in the backend configuration has been detected, which may require migrating existing state.\n\n"
        'If you wish to attempt automatic migration of the state, use "planner init -migrate-state".\n'
        'If you wish to store the current configuration with no changes to the state, use "planner init -reconfigure".'
    )
    return error("backend.changed", "Backend configuration changed", detail)


def _open(
    how: BackendInit, pointer: BackendPointer | None, wanted: BackendRequest
) -> tuple[Backend | None, Backend | None, list[Diagnostic]]:
    old, problems = saved_backend(pointer, how.seal)
    new, item = open_backend(wanted.type, wanted.settings, how.seal)
    return old, new, [*problems, *(_placed(d, wanted) for d in item)]


def _placed(diagnostic: Diagnostic, wanted: BackendRequest) -> Diagnostic:
    """The diagnostic; if it is about a setting, the position of the backend block is added."""
    is_setting = diagnostic.code == "state.backend_setting" and diagnostic.subject is None
    return evolve(diagnostic, subject=wanted.span) if is_setting else diagnostic


def _remember(
    how: BackendInit, wanted: BackendRequest, backend: Backend, folder: str, workspace: str
) -> list[Diagnostic]:
    problems = write_pointer(folder, BackendPointer(wanted.type, wanted.settings, wanted.hash))
    if not has_errors(problems):
        problems += _select(how, backend, workspace)
    if not has_errors(problems):
        how.log(f'\nSuccessfully configured the backend "{wanted.type}"! It is used until its configuration changes.')
    return problems


def _migration(how: BackendInit, source: str, target: str, diagnostics: list[Diagnostic]) -> MigrationOptions:
    from planner.world.state.migrate import MigrationOptions

    options = how.options
    workspace, _, _ = current_workspace(options.directory, os.environ)
    return MigrationOptions(
        source, target, how.ask, how.force_copy, options.lock, options.lock_timeout, workspace, diagnostics.extend
    )


def _select(how: BackendInit, backend: Backend, workspace: str) -> list[Diagnostic]:
    """Prepare the selected workspace in the backend. If the backend does not have this workspace, select its only
    workspace or, if there are several, the workspace that the user chooses. Returns an error if there is no workspace,
    or if prompts are not possible."""
    if not backend.has_workspaces:
        problems = []
        if workspace != DEFAULT_WORKSPACE:
            problems = select_workspace(how.options.directory, os.environ, DEFAULT_WORKSPACE)
        return problems + backend.prepare(DEFAULT_WORKSPACE, how.options.lock)
    try:
        names = backend.workspaces()
    except OSError as problem:
        text = f"Failed to get existing workspaces: {problem.strerror or problem}"
        return [error("backend.workspaces", text, "")]
    if workspace in names:
        return backend.prepare(workspace, how.options.lock)
    if not names:
        detail = (
            'Use the "planner workspace" command to create and select a new workspace. If the backend already contains '
            "existing workspaces, you may need to update the backend configuration."
        )
        return [error("backend.workspace", "No existing workspaces.", detail)]
    if len(names) == 1:
        return select_workspace(how.options.directory, os.environ, names[0]) + backend.prepare(
            names[0], how.options.lock
        )
    if how.ask is None:
        detail = "Select one that exists with TF_WORKSPACE or `workspace select`, or create it."
        return [error("backend.workspace", f'Currently selected workspace "{workspace}" does not exist', detail)]
    lines = "\n".join(f"{number}. {name}" for number, name in enumerate(names, 1))
    answer = how.ask(
        f"The currently selected workspace ({workspace}) does not exist.",
        f"Enter the number of a workspace; `planner workspace new` creates others.\n\n{lines}",
    )
    if not answer.isdecimal() or not 1 <= int(answer) <= len(names):
        return [error("backend.workspace", "Failed to select workspace", f'"{answer}" is not one of the numbers.')]
    return select_workspace(how.options.directory, os.environ, names[int(answer) - 1])
