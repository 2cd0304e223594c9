"""The journal of an apply: operations that began and their results, written line by line to a file next to the state
file.

A state file is replaced only when an apply ends. Until then, the start of each operation and every changed instance are
appended to `STATE.journal` and flushed to disk before any dependent operation starts. After a crash the journal is read
together with the state: its results are used, and its unfinished operations are reported.

Each line (planner.world.state.journal_lines) has checksums and one JSON object. `begin` contains the lineage and serial
of the state to which the journal adds; `start` and `end` record operations; `instance` contains all objects of an
instance in the form of state files. `snapshot` contains the serial of a state that is about to be written while the
apply continues (planner.world.state.snapshots), and `kept` records that it was written. At the end `saving` contains
the serial of the state file that is about to replace the journal. `snapshot` and `saving` also contain the checksum of
the state file, because another program may write a file with that serial. An incomplete last line is ignored, because
nothing depends on it; damaged and missing lines are reported, and all other lines are used."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import gmtime, strftime
from typing import TYPE_CHECKING, Any, TypeAlias

from planner.foundation.support.disk import read_whole, sync_directory, write_all
from planner.foundation.vocabulary.address import format_key, format_resource
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.world.state.build import StateBuilder
from planner.world.state.encryption_seal import PLAIN, Seal
from planner.world.state.file import object_json, state_document
from planner.world.state.journal_lines import JournalLines, line_of, read_lines, text_of
from planner.world.state.model import InstanceKey, InstanceState, ResourceState, State
from planner.world.state.reader import LARGEST, MalformedError, StateReader

if TYPE_CHECKING:
    from planner.world.state.encrypted_seal import LineSeal

SUFFIX = ".journal"
DAMAGED = ".damaged"
DISCARDED = ".discarded"
Follow: TypeAlias = "Callable[[State], tuple[State, bool]]"
Mark: TypeAlias = "Callable[[State, str], None]"
Save: TypeAlias = "Callable[[State, Mark], list[Diagnostic]]"


@frozen
class OperationStart:
    """An operation that began: the address and the deposed key ("" for the current object), the operation, and its
    start time (RFC 3339)."""

    address: str
    deposed: str
    action: str
    time: str


@frozen
class InstanceChange:
    """An instance after a change. `resource` contains only this instance; it is None if the instance no longer
    exists."""

    address: str
    key: InstanceKey
    resource: ResourceState | None


@frozen
class Written:
    """A state whose writing was announced in the journal. `checksum`: SHA-256 of the unencrypted file, in hex ("" in
    journals of earlier versions). For snapshots only: `changes` is the number of changes that the state includes;
    `is_kept` is true if the state was written."""

    lineage: str
    serial: int
    checksum: str = ""
    changes: int = 0
    is_kept: bool = False

    def is_it(self, state: State, checksum: str) -> bool:
        """Whether this record is about `state`, read from a file with this checksum. A record without a checksum
        matches any file."""
        return (self.lineage, self.serial) == (state.lineage, state.serial) and self.checksum in ("", checksum)


@frozen(eq=False)
class JournalContent:
    """The content of a journal. `in_flight`: operations that began and did not end. `saved`: the final state file, if
    its writing began and no change followed. `damage`: the problems of the journal. `is_torn`: whether the last line is
    incomplete; then the operation ended at that point."""

    lineage: str
    serial: int
    operation: str
    time: str
    changes: list[InstanceChange] = field(factory=list)
    in_flight: list[OperationStart] = field(factory=list)
    saved: Written | None = None
    damage: tuple[str, ...] = ()
    is_torn: bool = False
    snapshots: tuple[Written, ...] = ()

    def changes_after(self, state: State, checksum: str = "") -> list[InstanceChange]:
        """The changes that a state is known to lack: the changes recorded after the last snapshot that equals or
        precedes the state. `checksum`: the checksum of the file from which the state was read."""
        included = 0
        for snapshot in self.snapshots if not self.damage else ():
            follows = snapshot.is_kept and snapshot.lineage == state.lineage and snapshot.serial <= state.serial
            if follows or snapshot.is_it(state, checksum):
                included = snapshot.changes
        return self.changes[included:]


class Journal:
    """A journal that is being written to a new file, which is created with the first entry. All methods may be called
    from several threads. If the directory does not allow new files, the journal is not written, and `unkept` is set.
    `stored`: the state to which the journal adds changes. `begins_with`: the state at the beginning of the operation;
    if it differs from `stored`, the difference is written first. `mode`: the permissions of the file."""

    def __init__(
        self,
        path: str,
        lineage: str,
        serial: int,
        operation: str,
        stored: State | None = None,
        begins_with: State | None = None,
        seal: Seal = PLAIN,
        mode: int = 0o600,
    ) -> None:
        self.path, self.lineage, self.serial, self.operation = path, lineage, serial, operation
        self.unkept = False
        self._stored, self._begins_with = stored, begins_with
        self._seal, self._mode = seal, mode
        self._line_seal: LineSeal | None = None
        self._length = self._chain = 0
        self._lock = threading.RLock()
        self._syncing = threading.Lock()
        self._synced = 0
        self._count = 0
        self.changes = 0
        """the number of recorded changes of instances"""
        self._problem: OSError | None = None
        self._refusal: Diagnostic | None = None
        self._descriptor = -1

    def refuse(self, problem: Diagnostic) -> None:
        """Refuse all later operations with this error."""
        self._refusal = problem

    def start(self, address: str, deposed: str, action: str, durable: bool) -> int:
        """Record that an operation begins, and return its number. `durable`: whether the record is flushed to disk
        before this method returns. Raises Failure if the journal cannot be written or refuses operations; then no
        operation may begin."""
        if self._refusal is not None:
            raise Failure(self._refusal)
        with self._lock:
            self._count += 1
            number = self._count
        self._append({"start": number, "address": address, "deposed": deposed, "action": action, "time": _now()})
        if durable:
            self._flush()
        if self._problem is not None:
            detail = (
                f"{self.path} cannot be written: {self._problem.strerror or self._problem}. No new operation is "
                "started, because after a crash there would be no record of it."
            )
            raise Failure(error("state.journal", "Cannot write the journal", detail, address=address))
        return number

    @property
    def is_complete(self) -> bool:
        """Whether all entries were written to the file without errors, so that a failed write of the state file loses
        no change."""
        return self._descriptor >= 0 and self._problem is None

    def end(self, number: int, durable: bool) -> None:
        self._append({"end": number})
        if durable:
            self._flush()

    def instance(self, resource: ResourceState, key: InstanceKey, instance: InstanceState | None) -> None:
        self._append(_instance(resource, key, instance))
        self.changes += 1

    def flush(self) -> None:
        self._flush()

    def write_snapshot(self, take: Callable[[], State], follow: Follow, save: Save) -> list[Diagnostic]:
        """Write the state that `take` returns while the apply continues. `follow` returns the state with its next
        serial and whether it differs from the stored one (otherwise nothing is written); `save` writes the state after
        its checksum is recorded in the journal."""
        included = self.changes  # count the changes before taking the state, so that the state includes all of them
        new, differs = follow(take())
        if not differs:
            return []
        problems = save(new, lambda state, checksum: self.snapshot(state, checksum, included))
        if not problems:
            self.mark_kept(new)
        return problems

    def snapshot(self, state: State, checksum: str, changes: int) -> None:
        """Record that a state with the first `changes` changes will be written during the apply."""
        self._mark("snapshot", state, checksum=checksum, changes=changes)

    def mark_kept(self, state: State) -> None:
        """Record that the state announced by `snapshot` was written."""
        self._mark("kept", state)

    def saving(self, state: State, checksum: str) -> None:
        self._mark("saving", state, checksum=checksum)

    def _mark(self, kind: str, state: State, **more: Any) -> None:
        if self._descriptor >= 0:
            self._append(_mark(kind, state, **more))
            self._flush()

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _append(self, *lines: dict[str, Any]) -> None:
        texts = [text_of(line) for line in lines] if self._seal.is_plain else []
        with self._lock:
            if self._descriptor < 0:
                self._open()
            if self._problem is not None or self.unkept:
                return
            if self._line_seal is not None:
                texts = [text_of(self._line_seal.sealed(line)) for line in lines]
            written = []
            for text in texts:
                line, self._chain = line_of(text, self._chain)
                written.append(line)
            whole = b"".join(written)
            try:
                write_all(self._descriptor, whole)
                self._length += len(whole)
            except OSError as problem:
                self._problem = problem
                with suppress(OSError):
                    os.ftruncate(self._descriptor, self._length)

    def _open(self) -> None:
        if self._problem is not None or self.unkept:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._descriptor = os.open(self.path, flags, 0o600)
        except PermissionError:
            self.unkept = True
            return
        except OSError as problem:
            self._problem = problem
            return
        lock_journal(self._descriptor)
        with suppress(OSError):
            os.fchmod(self._descriptor, self._mode)
        if not self._seal.is_plain and not self._begin_sealed():
            return
        begin = {"version": 1, "lineage": self.lineage, "serial": self.serial, "operation": self.operation}
        lines = [{"begin": {**begin, "time": _now()}}]
        if self._begins_with is not None:
            changes = [_instance(*change) for change in differences(self._stored or State(), self._begins_with)]
            self.changes += len(changes)
            lines += changes
        self._append(*lines)
        self._flush()
        try:
            sync_directory(os.path.dirname(os.path.realpath(self.path)))
        except OSError as problem:
            self._problem = self._problem or problem

    def _begin_sealed(self) -> bool:
        """Write the first line of an encrypted journal, which contains the encrypted key of the other lines. Returns
        False on errors."""
        from planner.world.state.encrypted_seal import new_line_seal

        try:
            line_seal, head = new_line_seal(self._seal)
        except Failure as failure:
            self._problem = OSError(errno.EIO, failure.diagnostics[0].detail)
            return False
        line, self._chain = line_of(text_of(head), self._chain)
        try:
            write_all(self._descriptor, line)
        except OSError as problem:
            self._problem = problem
            return False
        self._length += len(line)
        self._line_seal = line_seal
        return True

    def _flush(self) -> None:
        """Flush all appended lines to disk. One thread flushes for all waiting threads when the previous flush has
        ended."""
        if self._descriptor < 0:
            return
        length = self._length
        with self._syncing:
            if self._synced >= length:
                return
            length = self._length
            try:
                os.fsync(self._descriptor)
                self._synced = length
            except OSError as problem:
                self._problem = self._problem or problem


def lock_journal(descriptor: int) -> None:
    """Lock a journal while its file is open, to show that a process is writing it."""
    import fcntl

    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_written(path: str) -> bool:
    import fcntl

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # on this system files cannot be locked, so no writer can be detected
        return False
    finally:
        os.close(descriptor)
    return False


def mark_saving(path: str, state: State, checksum: str, seal: Seal = PLAIN) -> None:
    """Record, in the journal of a process that has ended, that a state file with all its changes is about to be
    written. An incomplete last line is removed. Raises OSError, Failure."""
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    try:
        data = read_whole(path)
        lines = read_lines(data)
        if lines.is_torn:
            os.ftruncate(descriptor, lines.size)
            data = data[: lines.size]
        line, _ = line_of(text_of(_as_sealed(_mark("saving", state, checksum=checksum), lines, seal)), lines.chain)
        write_all(descriptor, line if data.endswith(b"\n") else b"\n" + line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _as_sealed(entry: dict[str, Any], lines: JournalLines, seal: Seal) -> dict[str, Any]:
    """The stored form of an entry that is to be appended to these lines: encrypted if they are. Raises Failure."""
    if seal is PLAIN or not lines.entries:
        return entry
    line_seal = _open_entries(lines.entries, seal)[2]
    return entry if line_seal is None else line_seal.sealed(entry)


def _open_entries(
    entries: list[dict[str, Any]], seal: Seal
) -> tuple[list[dict[str, Any]], tuple[str, ...], LineSeal | None]:
    from planner.world.state.encrypted_seal import open_lines

    return open_lines(entries, seal)


def _instance(resource: ResourceState, key: InstanceKey, instance: InstanceState | None) -> dict[str, Any]:
    r = resource
    line: dict[str, Any] = {"instance": format_resource(r.module, r.mode, r.type, r.name), "key": key}
    if instance is not None:
        only = ResourceState(r.module, r.mode, r.type, r.name, r.provider, {key: instance})
        line["resources"] = state_document(State(resources={only.address: only}))["resources"]
    return line


def differences(old: State, new: State) -> Iterator[tuple[ResourceState, InstanceKey, InstanceState | None]]:
    """(resource, instance key, instance) of each instance of `new` that differs from `old`; the instance is None if it
    no longer exists."""
    for address, resource in old.resources.items():
        kept = new.resources.get(address)
        for key in resource.instances if kept is not resource else ():
            if kept is None or key not in kept.instances:
                yield resource, key, None
    for address, resource in new.resources.items():
        before = old.resources.get(address)
        if before is resource:
            continue
        known = before.instances if before is not None and before.provider == resource.provider else {}
        for key, instance in resource.instances.items():
            was = known.get(key)
            if was is not instance and (was is None or _content(was) != _content(instance)):
                yield resource, key, instance


def _content(instance: InstanceState) -> bytes:
    """An instance as JSON, for comparisons: states that were read separately share no objects."""
    objects = {"": instance.current, **instance.deposed}
    provider = format_key(instance.provider_key)
    return text_of({name: object_json(None, name, provider, one) for name, one in objects.items() if one is not None})


def _mark(kind: str, state: State, **more: Any) -> dict[str, Any]:
    return {kind: {"lineage": state.lineage, "serial": state.serial, **more}}


# ---------------------------------------------------------------- reading


def read_journal(path: str, seal: Seal = PLAIN) -> tuple[JournalContent | None, list[Diagnostic]]:
    """The content of a journal; None if it does not exist, has no entries, or cannot be read."""
    try:
        data = read_whole(path)
    except FileNotFoundError:
        return None, []
    except OSError as problem:
        return None, [error("state.journal", "Cannot read the journal", f"{path}: {problem.strerror or problem}.")]
    return journal_in(data, path, seal)


def journal_in(data: bytes, path: str, seal: Seal = PLAIN) -> tuple[JournalContent | None, list[Diagnostic]]:
    """The content of a journal in bytes from `path`; None if it has no entries or cannot be read."""
    lines = read_lines(data)
    move = "If the state is correct without the journal, move the journal away."
    if not lines.has_beginning:
        detail = f"The first line of {path}, which names its state, is damaged or missing. {move}"
        return None, [error("state.journal", "Invalid journal", detail)]
    if not lines.entries:
        return None, []  # the process ended before an operation began
    if seal is not PLAIN or "key" in lines.entries[0]:
        try:
            entries, damage, _ = _open_entries(lines.entries, seal)
        except Failure as failure:
            why = " ".join(f"{d.detail}" for d in failure.diagnostics)
            return None, [error("state.journal", "Cannot read the journal", f"{path}: {why} {move}")]
        lines = evolve(lines, entries=entries, damage=(*lines.damage, *damage))
        if not entries:
            return None, []
    try:
        recorded = _journal_content(lines, path)
    except (KeyError, TypeError, ValueError, AttributeError, MalformedError) as problem:
        detail = f"{path} is not a valid journal ({problem}). {move}"
        return None, [error("state.journal", "Invalid journal", detail)]
    if not recorded.damage:
        return recorded, []
    what = ", ".join(recorded.damage)
    detail = (
        f"{what[0].upper()}{what[1:]} in {path}, so some changes may be missing in the state: compare the state with "
        "the real objects, and import missing ones. All other entries of the journal are used. The journal is kept "
        f"as {path}{DAMAGED} when the state is saved."
    )
    return recorded, [warning("state.journal_damaged", "The journal is damaged", detail)]


def _journal_content(lines: JournalLines, path: str) -> JournalContent:
    entries = lines.entries
    begin = entries[0]["begin"]
    if begin["version"] != 1:
        raise MalformedError(f"its version is {begin['version']}; this planner reads version 1")
    changes: list[InstanceChange] = []
    begun: dict[int, OperationStart] = {}
    snapshots: list[Written] = []
    saved = None
    for entry in entries[1:]:
        if "start" in entry:
            begun[_whole_number(entry, "start")] = OperationStart(
                *(_text(entry, n) for n in ("address", "deposed", "action", "time"))
            )
        elif "end" in entry:
            begun.pop(_whole_number(entry, "end"), None)
        elif "instance" in entry:
            changes.append(_change(entry, path))
        elif "snapshot" in entry:
            snapshots.append(_written_entry(entry["snapshot"]))
        elif "kept" in entry:
            kept = _written_entry(entry["kept"])
            snapshots = [s if s.serial != kept.serial else evolve(s, is_kept=True) for s in snapshots]
        elif "saving" in entry:
            saved = _written_entry(entry["saving"])
    order = [begun[number] for number in sorted(begun)]
    head = _text(begin, "lineage"), _whole_number(begin, "serial"), _text(begin, "operation"), _text(begin, "time")
    return JournalContent(*head, changes, order, saved, lines.damage, lines.is_torn, tuple(snapshots))


def _written_entry(entry: dict[str, Any]) -> Written:
    checksum = _text(entry, "checksum") if "checksum" in entry else ""
    changes = _whole_number(entry, "changes") if "changes" in entry else 0
    return Written(_text(entry, "lineage"), _whole_number(entry, "serial"), checksum, changes)


def _change(entry: dict[str, Any], path: str) -> InstanceChange:
    address, key, resource = _text(entry, "instance"), entry["key"], None
    if key is not None and key.__class__ is not str:
        key = _whole_number(entry, "key")
    if "resources" in entry:
        reader = StateReader(f"The journal {path}")
        state = reader.state({"version": 4, "terraform_version": "", "serial": 0, "resources": entry["resources"]})
        if reader.diagnostics:
            raise MalformedError(reader.diagnostics[0].detail)
        (resource,) = state.resources.values()
        if resource.address != address or [*resource.instances] != [key]:
            raise MalformedError(f"its entry for {address}{format_key(key)} is for a different type")
    return InstanceChange(address, key, resource)


def _text(entry: dict[str, Any], name: str) -> str:
    """A member that must be a string. Raises MalformedError, KeyError."""
    value = entry[name]
    if value.__class__ is not str:
        raise MalformedError(f'"{name}" is not a string')
    return str(value)


def _whole_number(entry: dict[str, Any], name: str) -> int:
    value = entry[name]
    if value.__class__ is not int or not 0 <= value < LARGEST:
        raise MalformedError(f'"{name}" is not a whole number')
    return int(value)


def replay(state: State, recorded: JournalContent, checksum: str = "") -> State:
    """The state (or a snapshot of the same apply) plus the later changes in the journal, with the next serial.
    `checksum`: the checksum of the file from which the state was read."""
    builder = StateBuilder(state)
    for change in recorded.changes_after(state, checksum):
        builder.put_instance(change.address, change.key, change.resource)
    return evolve(builder.snapshot(), lineage=recorded.lineage, serial=max(recorded.serial, state.serial) + 1)


_DOUBTS = {
    "create": (
        "The object may exist without being in the state: if so, import it or delete it by hand, and apply again."
    ),
    "update": (
        "The object may be unchanged, or changed partly or completely. The next plan compares it with the "
        "configuration."
    ),
    "delete": "The object may be destroyed or still exist. The next plan shows which.",
    "invoke": "The action is not invoked again automatically: to invoke it, run planner apply -invoke=ADDRESS.",
}


def recovery_warnings(path: str, recorded: JournalContent, count: int) -> list[Diagnostic]:
    """Warnings about the journal of an interrupted operation. `count`: the number of changes that it adds to the
    state."""
    how = "ended unexpectedly before it could save the state"
    if recorded.saved is not None:
        how = "ended normally, but the state could not be saved"
    detail = (
        f"The {recorded.operation} of {recorded.time} {how}. Its journal {path} has {count} "
        f"change{'' if count == 1 else 's'}, which planner treats as part of the state from now on. Other programs "
        "see them when planner has written the state (`planner state journal -adopt` writes it immediately)."
    )
    if recorded.is_torn:
        detail += " Its last line is incomplete: the operation ended at that point."
    return [
        warning("state.recovered", "An interrupted operation was recovered", detail),
        *unfinished_warnings(recorded),
    ]


def unfinished_warnings(recorded: JournalContent, has_moved_on: bool = False) -> list[Diagnostic]:
    """A warning for each operation that began and never ended. `has_moved_on`: whether the state was changed later.
    If so, the warnings report only creations whose object is not in the journal."""
    problems = []
    for begun in recorded.in_flight:
        if has_moved_on and (begun.action != "create" or _exists(recorded, begun)):
            continue
        what = f"deposed object {begun.deposed} of {begun.address}" if begun.deposed else begun.address
        if begun.action == "create" and _exists(recorded, begun):
            came = "The object exists, but its creation did not end: it is tainted, so the next plan replaces it."
        else:
            came = f"Its result is unknown. {_DOUBTS.get(begun.action, '')}"
        noun = "invocation" if begun.action == "invoke" else begun.action
        detail = f"The {noun} of {what} began at {begun.time} and was not complete when the process ended. {came}"
        problems.append(warning("state.in_flight", "Operation interrupted", detail.rstrip(), address=begun.address))
    return problems


def _exists(recorded: JournalContent, begun: OperationStart) -> bool:
    last = None
    for change in recorded.changes:
        if change.address + format_key(change.key) == begun.address:
            last = change.resource.instances[change.key] if change.resource is not None else None
    return last is not None and last.current is not None


def _now() -> str:
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())
