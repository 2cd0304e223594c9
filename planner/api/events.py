"""Events of a walk, for programs that show progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from planner.api.arguments import functions
from planner.api.session import Stop, UnsavedStateError, check_stop, uninterrupted
from planner.engine.walk.hooks import Hooks, ObjectId
from planner.foundation.vocabulary.records import frozen

T = TypeVar("T")


@frozen
class Event:
    """One event of a plan or an apply.

    `name` is one of: refresh_start, refresh_complete, apply_start, apply_complete, apply_errored, provision_start,
    provision_progress, provision_complete, provision_errored, import_start, import_complete, ephemeral_start,
    ephemeral_complete, walk_progress, stopping, log. `address` is the address of the resource instance. `action` is the
    action on the instance; for a provisioner, it is the provisioner's type, and for an ephemeral resource, it is open,
    renew or close. `id` is the id of the real object. `elapsed` is the number of seconds since the operation began.
    `text` is output of a provisioner (provision_progress) or a message (log). For walk_progress, `done` of `total`
    vertices of the graph are finished. Fields that do not apply to an event have their default values."""

    name: str
    address: str = ""
    action: str = ""
    id: str = ""
    elapsed: float = 0.0
    text: str = ""
    done: int = 0
    total: int = 0


class EventHooks(Hooks):
    """Hooks that pass each event to the listener, in the thread in which the event occurs. If the listener raises an
    exception, the exception is stored in `problem`, a stop is requested, and the listener receives no more events."""

    def __init__(self, listener: Callable[[Event], None] | None, stop: Stop) -> None:
        self._listener = listener
        self._stop = stop
        self.problem: BaseException | None = None

    def _pass(self, name: str, address: str = "", **more: Any) -> None:
        if self._listener is None or self.problem is not None:
            return
        try:
            self._listener(Event(name, address, **more))
        # catch KeyboardInterrupt and SystemExit, too, because they must not end the walk at an arbitrary point
        except BaseException as problem:
            self.problem = self.problem or problem
            self._stop.request()

    def shows_progress(self) -> bool:
        return self._listener is not None

    def refresh_start(self, address: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        self._pass("refresh_start", address, action="read", id=_id(identity))

    def refresh_complete(self, address: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        self._pass("refresh_complete", address, action="read", id=_id(identity))

    def apply_start(self, address: str, action: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        self._pass("apply_start", address, action=action, id=_id(identity))

    def apply_complete(
        self, address: str, action: str, identity: ObjectId | None = None, elapsed: float = 0.0, deposed: str = ""
    ) -> None:
        self._pass("apply_complete", address, action=action, id=_id(identity), elapsed=elapsed)

    def apply_errored(self, address: str, action: str, elapsed: float = 0.0, deposed: str = "") -> None:
        self._pass("apply_errored", address, action=action, elapsed=elapsed)

    def provision_start(self, address: str, type: str) -> None:
        self._pass("provision_start", address, action=type)

    def provision_progress(self, address: str, type: str, output: str) -> None:
        self._pass("provision_progress", address, action=type, text=output)

    def provision_complete(self, address: str, type: str) -> None:
        self._pass("provision_complete", address, action=type)

    def provision_errored(self, address: str, type: str) -> None:
        self._pass("provision_errored", address, action=type)

    def import_start(self, address: str, id: str) -> None:
        self._pass("import_start", address, action="import", id=id)

    def import_complete(self, address: str, id: str) -> None:
        self._pass("import_complete", address, action="import", id=id)

    def ephemeral_start(self, address: str, phase: str) -> None:
        self._pass("ephemeral_start", address, action=phase)

    def ephemeral_complete(self, address: str, phase: str) -> None:
        self._pass("ephemeral_complete", address, action=phase)

    def walk_progress(self, done: int, total: int) -> None:
        self._pass("walk_progress", done=done, total=total)

    def stopping(self) -> None:
        self._pass("stopping")

    def log(self, message: str) -> None:
        self._pass("log", text=message)


def with_events(
    work: Callable[[EventHooks, Stop], T], listener: Callable[[Event], None] | None, stop: Stop | None
) -> T:
    """Call `work` with hooks for the listener and with a Stop, and return its result. After an exception of the
    listener, or a KeyboardInterrupt, the work stops gracefully, and then this exception is raised. If the work raises
    UnsavedStateError, that is raised instead."""
    if listener is not None:
        functions(on_event=listener)
    check_stop(stop)
    own = Stop()
    hooks = EventHooks(listener, own)
    if stop is not None:
        stop.signal.listen(own.request)
    try:
        return uninterrupted(lambda: work(hooks, own), own)
    except UnsavedStateError:
        hooks.problem = None
        raise
    finally:
        if stop is not None:
            stop.signal.forget(own.request)
        if hooks.problem is not None:
            raise hooks.problem


def _id(identity: ObjectId | None) -> str:
    return identity.value if identity is not None else ""
