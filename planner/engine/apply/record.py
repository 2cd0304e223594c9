"""What an apply has done so far: the state as it is now, its journal, and how many objects were touched."""

from __future__ import annotations

from threading import Event, Lock

from planner.engine.evaluation.instance import Instance
from planner.world.state.build import StateBuilder
from planner.world.state.journal import Journal
from planner.world.state.model import InstanceKey, InstanceState, ObjectState, ResourceState, State
from planner.world.state.snapshots import Snapshots


class ApplyRecord:
    """The state under work and the counts. Nodes may change it from several threads. Every change goes into the journal
    too, if there is one, and `snapshots` are taken of it."""

    def __init__(self, prior: State, journal: Journal | None = None, snapshots: Snapshots | None = None) -> None:
        self.journal = journal
        self._begun = begun = Event()

        def changed(resource: ResourceState, key: InstanceKey, instance: InstanceState | None) -> None:
            begun.set()
            if journal is not None:
                journal.instance(resource, key, instance)
            if snapshots is not None:
                snapshots.changed()

        self.state = StateBuilder(prior, changed)  # no method of this object: nothing is to be left in circles
        if snapshots is not None:
            snapshots.begin(self.state.snapshot)
        self._lock = Lock()
        self.counts = {"create": 0, "update": 0, "delete": 0}

    def write(self, it: Instance, record: ObjectState | None, deposed: str = "") -> None:
        """Put the object's record into the state, or take it out."""
        if record is None:
            self.state.remove_object(it.resource_address, it.key, deposed)
        else:
            it.store(self.state, record, deposed)

    @property
    def has_begun(self) -> bool:
        """Whether any operation was begun, or any instance changed."""
        return self._begun.is_set()

    def start(self, it: Instance, action: str, durable: bool) -> int:
        """An operation is about to begin; its number. Raises Failure when that cannot be recorded."""
        self._begun.set()
        return self.journal.start(it.address, it.deposed, action, durable) if self.journal is not None else 0

    def end(self, number: int, durable: bool) -> None:
        """An operation has ended, and what came of it is written."""
        if self.journal is not None:
            self.journal.end(number, durable)

    def flush(self) -> None:
        """Put everything on the disk that was recorded so far."""
        if self.journal is not None:
            self.journal.flush()

    def count(self, action: str) -> None:
        """An operation has ended well."""
        with self._lock:
            self.counts[action] += 1
