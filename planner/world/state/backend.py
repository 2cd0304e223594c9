"""The interface of backends, which store the states of workspaces. Each type is a module in
planner.world.state.backends, loaded on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from planner.foundation.values.schema import BlockSchema
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, ServiceError, error, warning
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.world.state.encryption_seal import PLAIN, Seal

if TYPE_CHECKING:
    from planner.world.state.journal import Journal
    from planner.world.state.lock import LockInfo, Stop
    from planner.world.state.model import State
    from planner.world.state.verify import VerifiedFile

DEFAULT_WORKSPACE = "default"
DOCUMENTS = APPLIED, TAINTS, STACK = ("applied", "taints", "stack")
"""names of the documents that are stored with a state: inputs of the last apply, origins of taints, notes of a
deployment"""


REMOTE_RUNS = "state.remote_runs"  # code of the error that plans and applies must run on a server


class Store(Protocol):
    """The state of one workspace."""

    current: State | None  # the last state read or written, without the changes of a journal

    @property
    def seal(self) -> Seal:
        """The encryption of the state and of its documents."""

    def lock(
        self, operation: str, timeout: float = 0.0, on_wait: Callable[[], None] | None = None, stop: Stop | None = None
    ) -> list[Diagnostic]:
        """Take the lock for an operation (such as `OperationTypeApply`), waiting up to `timeout` seconds."""

    def unlock(self) -> list[Diagnostic]:
        """Release the lock."""

    @property
    def locks(self) -> bool:
        """Whether `lock` locks the state; False if the user or the backend disables locking."""

    @property
    def is_locked(self) -> bool:
        """Whether this process still has the lock."""

    def lock_holder(self) -> str:
        """The holder of the lock, to be appended to a sentence; "" if it is unknown."""

    def held_by(self, lock_id: str) -> tuple[LockInfo | None, list[Diagnostic]]:
        """The holder of a lock that `force_unlock` may remove; None and an error if there is no lock. For a state in a
        file, the result is also None and an error if the holder has a different id or is still running. A service
        checks the id in `force_unlock`."""

    def force_unlock(self, lock_id: str) -> list[Diagnostic]:
        """Remove the lock with this id."""

    def read(self) -> tuple[State | None, list[Diagnostic]]:
        """The state; None if there is none yet, or on errors."""

    def write(self, state: State) -> tuple[State, list[Diagnostic]]:
        """Save a state; its serial increases only if the state has changed. Returns the saved state."""

    def put(self, state: State) -> tuple[State, list[Diagnostic]]:
        """Save a state without changing its serial and lineage."""

    def snapshot_interval(self, interval: float, is_urgent: bool) -> float | None:
        """Seconds between two snapshots, None if none are written. `interval`: the user's setting. `is_urgent`: whether
        the process was requested to stop and may be killed soon."""

    def snapshot(self, take: Callable[[], State]) -> list[Diagnostic]:
        """During an operation, write the state that `take` returns, and record in the journal which changes this state
        includes. Called by one thread at a time."""

    @property
    def size(self) -> int:
        """The size of the state as last read or written, in bytes."""

    def keep_backup(self, path: str) -> None:
        """Set the file for a backup of the state before the first write."""

    @property
    def shares_documents(self) -> bool:
        """Whether documents are stored with the state, for all its users; otherwise they are in the working
        directory."""

    def beside(self, name: str) -> bytes | None:
        """The content of one of the DOCUMENTS; None if there is none or it cannot be read."""

    def put_beside(self, name: str, data: bytes) -> list[Diagnostic]:
        """Store one of the DOCUMENTS, encrypted if the state is. Returns only warnings, because no operation depends on
        documents."""

    def verify(self) -> tuple[list[VerifiedFile], list[Diagnostic]]:
        """The stored files of the state, and their problems. Nothing is changed."""

    def erase(self) -> list[Diagnostic]:
        """Remove the state and its documents, after it was copied elsewhere."""

    @property
    def place(self) -> str:
        """The location of the state, for messages."""

    @property
    def journal(self) -> Journal | None:
        """The journal of the running operation; None if there is none."""

    def journals(self) -> dict[str, bytes]:
        """Journals of interrupted operations, by location."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Instances with objects that are recorded in a journal, but missing in the state that was read."""

    def adopt_journal(self) -> None:
        """Make `read` add the objects in journals, even if the state was changed later and lacks them."""

    def discard_journal(self, place: str) -> list[Diagnostic]:
        """Discard a journal. Its bytes are kept in a file whose name marks it as discarded."""

    def begin_journal(
        self, operation: str, begins_with: State | None = None
    ) -> tuple[Journal | None, list[Diagnostic]]:
        """A journal for an operation that changes the state; the next `write` closes it. None if there are errors: then
        the operation must not begin. `begins_with`: the state at its beginning, after refreshing and moving."""


class Backend(Protocol):
    """The states of all workspaces of a configuration. Raises OSError for operations that a service does not
    support."""

    @property
    def has_workspaces(self) -> bool:
        """Whether workspaces other than the default one are possible."""

    @property
    def type(self) -> str:
        """The label of the backend block."""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings with which `open` created this backend."""

    def store(self, workspace: str = ..., state: str = "", state_out: str = "", backup: str = "") -> Store:
        """The store of a workspace. For states in files, the paths of `-state`, `-state-out` and `-backup` take
        precedence."""

    def workspaces(self) -> list[str]:
        """The default workspace first, the others sorted. Raises OSError."""

    def create_workspace(self, workspace: str, with_lock: bool = True) -> None:
        """Create a workspace. `with_lock`: whether to lock its state for this. Raises OSError and Failure."""

    def prepare(self, workspace: str, with_lock: bool = True) -> list[Diagnostic]:
        """Prepare the selected workspace for `init`, if the backend requires it. `with_lock`: whether to lock its state
        for this."""

    def delete_workspace(self, workspace: str) -> None:
        """Remove a workspace and its state. Raises OSError."""


REMOVED = dict.fromkeys(
    ("artifactory", "etcd", "etcdv3", "manta", "swift"), 'The "{}" backend is not supported in OpenTofu v1.3 or later.'
) | {"azure": 'The "azure" backend name has been removed, please use "azurerm".'}
"""removed backend types, with messages about them"""


def module_of(type: str) -> Any:
    """The module of a backend type, None if the type does not exist. It has `SCHEMA`, `open(read, seal)` and
    `identity(settings, workspace, directory)`. `open` takes a SettingsReading and returns the backend, or raises
    Unopened or ServiceError."""
    name = f"planner.world.state.backends.{type}"
    if not type.isidentifier() or type.startswith("_") or (name not in sys.modules and find_spec(name) is None):
        return None
    return import_module(name)


def schema_of(type: str) -> BlockSchema | None:
    backend = module_of(type)
    return None if backend is None else backend.SCHEMA


def unknown_type(type: str) -> Diagnostic:
    from pkgutil import iter_modules

    import planner.world.state.backends

    known = [module.name for module in iter_modules(planner.world.state.backends.__path__)]
    detail = REMOVED.get(type, "").format(type)
    detail = detail or f'There is no backend type named "{type}".{did_you_mean(type, known)}'
    return error("state.unsupported_backend", "Unsupported backend type", detail)


def open_backend(
    type: str, settings: Mapping[str, Any], seal: Seal | None = None, only_check: bool = False
) -> tuple[Backend | None, list[Diagnostic]]:
    """The backend of a type with the settings of its block (a setting that is None has its default). `seal`: the
    encryption of its states (None: unencrypted). Returns None on errors. `only_check`: report problems of the settings
    and return no backend."""
    from planner.world.state.settings import SettingsReading, Unopened, check_settings

    known = module_of(type)
    if known is None:
        return None, [unknown_type(type)]
    whole, problems = check_settings(type, known.SCHEMA, settings)
    if problems:
        return None, problems
    read = SettingsReading(whole, only_check)
    try:
        backend: Backend = known.open(read, PLAIN if seal is None else seal)
    except Unopened:
        return None, [*read.remarks, *read.problems]
    except ServiceError as problem:
        return None, [error("state.backend_configuration", f"error configuring backend {type}", problem.text)]
    return backend, read.remarks


def document_not_saved(name: str, place: str, problem: OSError | Failure) -> list[Diagnostic]:
    reason = problem.diagnostics[0].summary if isinstance(problem, Failure) else problem.strerror or str(problem)
    detail = f"{place}: {reason.rstrip('.')}. The state itself is complete."
    return [warning("state.document", f'The document "{name}" was not saved next to the state', detail)]


# Identities of states: the configuration that writes a state and the configurations that read it compute the same
# identity.


SECRETS = frozenset(("access_key", "secret_key", "token", "password", "client_secret", "credentials", "conn_str"))
"""settings that identify the client and not the state"""


def state_identity(
    kind: str, settings: Mapping[str, Any], workspace: str = DEFAULT_WORKSPACE, directory: str = "."
) -> str:
    """The identity of a state, as defined by its backend. For an unknown backend, it consists of the type, the settings
    that are not secrets, and the workspace. `directory`: the base of relative paths."""
    backend = module_of(kind)
    if backend is not None:
        return str(backend.identity({k: v for k, v in settings.items() if v is not None}, workspace, directory))
    shown = {k: v for k, v in sorted(settings.items()) if v is not None and k not in SECRETS}
    import json

    return f"{kind}:{json.dumps(shown, sort_keys=True, default=str)}#{workspace}"
