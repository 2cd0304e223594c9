"""Opens, locks and reads the state of a configuration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from planner.foundation.support.disk import note_lock_wait
from planner.foundation.support.signals import current_stop, only_reading
from planner.foundation.support.trace import as_step
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error, has_errors
from planner.foundation.vocabulary.records import frozen
from planner.language.config.variables import RootVariable
from planner.operations.load import A, Loaded, O, grown, load, load_values
from planner.operations.options import StateOptions
from planner.world.state.backend import Backend, Store
from planner.world.state.model import State

if TYPE_CHECKING:
    from planner.engine.walk.hooks import Hooks


@frozen(eq=False)
class Opened(Loaded[O]):
    """A configuration, its backend, and the store of the selected workspace's state."""

    backend: Backend
    store: Store


@frozen(eq=False)
class Stored(Opened[O]):
    """An opened configuration, and the state that was read from its store."""

    state: State


@as_step("open backend")
def open_backend(loaded: Loaded[O], diagnostics: Diagnostics) -> Opened[O]:
    """Open the backend of a configuration. Raises Failure."""
    from planner.operations.backends import current_backend

    options, given = loaded.options, loaded.given
    if options.mocked:  # mocked objects must not be written into the real state
        return with_backend(loaded, _local_backend(loaded))
    backend, problems = current_backend(options.directory, loaded.config, loaded.workspace, given, loaded.encryption)
    return with_backend(loaded, diagnostics.take((backend, problems)))


def _local_backend(loaded: Loaded[Any]) -> Backend:
    from planner.world.state.backends.local import LocalBackend

    return LocalBackend(seal=loaded.encryption.state)


def with_backend(loaded: Loaded[O], backend: Backend) -> Opened[O]:
    return grown(Opened, loaded, backend=backend, store=store_of(loaded.options, backend, loaded.workspace))


def store_of(options: Any, backend: Backend, workspace: str) -> Store:
    """The store of a workspace's state, or of the state files that -state, -state-out and -backup name. Raises
    Failure."""
    try:
        if not isinstance(options, StateOptions):
            return backend.store(workspace)
        return backend.store(workspace, options.state_path or "", options.state_out or "", options.backup or "")
    except OSError as problem:
        raise Failure(error("state.store", "Error loading state", str(problem.strerror or problem))) from None


@as_step("read state")
def read_state(opened: Opened[O], diagnostics: Diagnostics) -> Stored[O]:
    """Read the state of a configuration. If there is no state yet, the state in the result is empty. Raises Failure if
    the state cannot be read."""
    with only_reading():
        state, problems = opened.store.read()
    diagnostics.check(problems)
    state = State() if state is None else state
    opened.schemas.serve(state)
    return grown(Stored, opened, state=state)


def load_stored(options: A, diagnostics: Diagnostics) -> Stored[A]:
    """Load the configuration in the directory, open its backend, and read the state. Raises Failure."""
    return read_state(open_backend(load(options, diagnostics), diagnostics), diagnostics)


def load_with_values(options: A, diagnostics: Diagnostics) -> tuple[Stored[A], dict[str, RootVariable]]:
    """The configuration with its state, and the values of the root variables. Raises Failure."""
    loaded = load(options, diagnostics)
    variables = diagnostics.take(load_values(loaded))
    return read_state(open_backend(loaded, diagnostics), diagnostics), variables


@contextmanager
def locked(
    store: Store,
    options: StateOptions,
    operation: str,
    diagnostics: list[Diagnostic],
    keep: bool = False,
    hooks: Hooks | None = None,
) -> Iterator[None]:
    """A context in which the state is locked. If the store has already locked the state, or with -lock=false, nothing
    is locked or unlocked. `keep`: whether the lock is kept at the end of the context. It is released if there is an
    exception. Raises Failure if the lock is not available."""
    if not options.lock or store.is_locked:
        yield
        return

    def tell() -> None:
        note_lock_wait()
        if hooks is not None:
            hooks.log(f"Acquiring state lock{store.lock_holder()}. This may take a few moments...")

    problems = store.lock(operation, options.lock_timeout, tell, current_stop())
    if has_errors(problems):
        raise Failure(problems)
    diagnostics += problems
    try:
        yield
    except BaseException:
        store.unlock()
        raise
    if not keep:
        diagnostics += store.unlock()
