"""Records of runs: `.planner/batch/RUN/` below the fleet's root.

    run.json      the request, written first
    events.jsonl  one line for each event; each is written before the run continues (and flushed to disk if the run
                  makes changes)
    plans/        a plan file for each unit with a complete plan that has changes, and the planned outputs that others
                  read, if none is sensitive; readable only by the user
    logs/         the output of each unit's run

Events: {"event": "started", "unit", "attempt", "command"}, {"event": "finished", "unit", "outcome", "done"}, {"event":
"died", "unit", "attempt"}, {"event": "resumed", "kept", "in_flight"}, {"event": "ended", "exit"}; each has a time in
"at". A crash can truncate only the last line, which is then ignored.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import IO, Any
from urllib.parse import quote

from planner.foundation.support.disk import read_whole
from planner.foundation.support.exact_json import orjson
from planner.foundation.support.signals import STOP
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import evolve
from planner.workflows.batch import FOLDER
from planner.workflows.batch.model import FinishedUnit, from_json, to_json
from planner.world.state.lock import user_at_host

FORMAT = "1.0"


def safe_name(unit: str) -> str:
    """A unit's name as a valid file name. Different units have different file names."""
    return quote(unit, safe="").replace(".", "%2E") if unit.strip(".") == "" else quote(unit, safe="")


def json_path(folder: str, unit: str) -> str:
    """The path below `folder` of the file with a unit's plan JSON. As in Terragrunt, each unit has a directory. No name
    of a unit leads to a path outside `folder`."""
    parts = () if unit == "." else unit.split("/")
    return os.path.join(folder, *(part if part.strip(".") else safe_name(part) for part in parts), "tfplan.json")


_RUN = re.compile(r"\d{8}T\d{6}Z-\d{3}$")


def is_run(name: str) -> bool:
    return _RUN.match(name) is not None


def make_folder(root: str) -> None:
    """Make the directory of records. Raises OSError."""
    make_unversioned(os.path.join(root, FOLDER))


def make_unversioned(folder: str) -> None:
    """Make a directory with a .gitignore for everything in it. Raises OSError."""
    os.makedirs(folder, exist_ok=True)
    ignore = os.path.join(folder, ".gitignore")
    if not os.path.exists(ignore):
        with open(ignore, "w", encoding="utf-8") as file:
            file.write("*\n")


class Record:
    """The directory of a run, to which events are appended."""

    def __init__(self, root: str, name: str, durable: bool = True) -> None:
        """`durable`: events survive a power failure, not only the end of this process."""
        self.name, self.durable = name, durable
        self.path = os.path.join(root, FOLDER, name)
        self._file: Any = None
        self._waiting: list[bytes] = []

    @classmethod
    def new(cls, root: str, asked: dict[str, Any], durable: bool = True) -> Record:
        """A new record of a run, with the request as the content of run.json. Raises Failure if the record cannot be
        written."""
        try:
            return cls._new(root, asked, durable)
        except OSError as problem:
            why = f"{problem.filename or root}: {problem.strerror or problem}."
            detail = f"{why} Each run of a fleet is recorded in its directory {FOLDER}, which must be writable."
            raise Failure(error("batch.record", "Cannot create a record", detail)) from None

    @classmethod
    def _new(cls, root: str, asked: dict[str, Any], durable: bool) -> Record:
        make_folder(root)
        stem = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        for number in range(1000):
            record = cls(root, f"{stem}-{number:03}", durable)
            try:
                os.mkdir(record.path)
            except FileExistsError:
                continue
            for folder in ("plans", "logs"):
                os.mkdir(os.path.join(record.path, folder))
            document = {"format_version": FORMAT, "run": record.name, **asked}
            text = orjson.dumps(document, option=orjson.OPT_INDENT_2)
            _write(os.path.join(record.path, "run.json"), text, durable)
            return record
        raise Failure(
            error("batch.record", "Cannot create a record", f"Too many runs were started in {root} within this second.")
        )

    @classmethod
    def last(cls, root: str) -> Record:
        """The newest record of a fleet. Raises Failure if there is none."""
        try:
            runs = os.path.join(root, FOLDER)
            names = sorted(n for n in os.listdir(runs) if is_run(n))
            names = [
                n for n in names if os.path.exists(os.path.join(runs, n, "run.json"))
            ]  # if this file is missing, the run was interrupted before it began
        except OSError:
            names = []
        if not names:
            raise Failure(error("batch.no_run", "Nothing to resume", f"{root} has no record of a run."))
        return cls(root, names[-1])

    def asked(self) -> dict[str, Any]:
        """The content of run.json: the command and the options. Raises Failure."""
        try:
            document: dict[str, Any] = orjson.loads(read_whole(os.path.join(self.path, "run.json")))
        except (OSError, orjson.JSONDecodeError):
            document = {}
        if document.__class__ is not dict or any(document.get(k).__class__ is not c for k, c in _ASKED.items()):
            detail = f"The file run.json in {self.path} is missing or damaged."
            raise Failure(error("batch.no_run", "No such run", detail))
        return document

    # ---------------------------------------------------------------- events

    def add(self, event: str, **more: Any) -> None:
        """Add an event. It is written by the next call of `sync`."""
        line = {"event": event, "at": _second(int(time.time())), **more}
        self._waiting.append(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

    def sync(self) -> None:
        """Write all events so far, and flush them to disk if the record is durable."""
        if not self._waiting:
            return
        if self._file is None:
            self._file = open_whole(os.path.join(self.path, "events.jsonl"))
        self._file.write(b"".join(self._waiting))
        self._file.flush()
        if self.durable:
            os.fsync(self._file.fileno())
        self._waiting.clear()

    def close(self) -> None:
        self.sync()
        if self._file is not None:
            self._file.close()
            self._file = None

    def events(self) -> Iterator[dict[str, Any]]:
        try:
            lines = read_whole(os.path.join(self.path, "events.jsonl")).split(b"\n")
        except FileNotFoundError:
            return
        for line in lines[:-1]:
            try:
                event = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue  # truncated by a crash, before anything depended on it
            if event.__class__ is dict and _is_event(event):
                yield event

    def finished(self) -> dict[str, FinishedUnit]:
        """{unit: its last result}, without units whose last result is malformed."""
        result: dict[str, FinishedUnit] = {}
        for event in self.events():
            if event["event"] != "finished":
                continue
            try:
                done: FinishedUnit = from_json(FinishedUnit, event["done"])
            except Exception:  # cattrs' exceptions for invalid data have no common type
                result.pop(event["unit"], None)
                continue
            result[event["unit"]] = done
            if done.unit != event["unit"] or (done.result is not None and done.result.unit != done.unit):
                del result[event["unit"]]
        return result

    def in_flight(self) -> list[str]:
        open_: dict[str, bool] = {}
        for event in self.events():
            if event["event"] in ("started", "finished"):
                open_[event["unit"]] = event["event"] == "started"
        return sorted(unit for unit, is_open in open_.items() if is_open)

    def last_event(self) -> float:
        """The time at which the last event was written, in seconds since 1970; 0 if there are no events."""
        try:
            return os.stat(os.path.join(self.path, "events.jsonl")).st_mtime
        except OSError:
            return 0.0

    # ---------------------------------------------------------------- files

    def plan_path(self, unit: str) -> str:
        return os.path.join(self.path, "plans", f"{safe_name(unit)}.tfplan")

    def outputs_path(self, unit: str) -> str:
        """The file with a unit's planned outputs, for dependents in a later run."""
        return os.path.join(self.path, "plans", f"{safe_name(unit)}.outputs")

    def finish(self, done: FinishedUnit) -> None:
        """Record the end of a unit. Its output is written to a file in logs/, except if the result is reused or the
        unit is encrypted."""
        result = done.result
        if done.reused:  # the cache contains the result
            plain = {"unit": done.unit, "outcome": done.outcome, "because": done.because, "reused": True}
            self.add("finished", unit=done.unit, outcome=done.outcome, done=plain)
            return
        if result is not None and result.is_secret:
            diagnostics = tuple(
                {k: v for k, v in d.items() if k != "snippet"} | {"detail": ""} for d in result.diagnostics
            )
            result = evolve(
                result, text="", facts={}, reads=[], review={}, outcomes=(), diagnostics=diagnostics, digests=()
            )
        elif result is not None:
            if result.text:
                with open(
                    os.path.join(self.path, "logs", f"{safe_name(done.unit)}.txt"), "w", encoding="utf-8"
                ) as file:
                    file.write(result.text)
            result = evolve(result, text="", facts={}, reads=[], review={}, outcomes=())
        self.add("finished", unit=done.unit, outcome=done.outcome, done=to_json(evolve(done, result=result)))


class NoRecord:
    """A record that stores nothing."""

    def add(self, event: str, **more: Any) -> None:
        """Ignore the event."""

    def sync(self) -> None:
        """Write nothing."""

    def finish(self, done: FinishedUnit) -> None:
        """Ignore the end of a unit."""


_ASKED: dict[str, type] = {"command": str, "options": dict}
_OF_UNITS = ("started", "finished", "died")


def _is_event(event: dict[str, Any]) -> bool:
    """Whether the kind of a decoded event and, for events of units, the unit and the outcome are strings."""
    kind, outcome = event.get("event"), event.get("outcome", "")
    return kind.__class__ is str and (
        kind not in _OF_UNITS or (event.get("unit").__class__ is str and outcome.__class__ is str)
    )


@lru_cache(1)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _write(path: str, data: bytes, durable: bool) -> None:
    """Write a file completely or not at all. If `durable`, flush it to disk."""
    beside = f"{path}.{os.getpid()}.tmp"
    with open(beside, "wb") as file:
        file.write(data)
        file.flush()
        if durable:
            os.fsync(file.fileno())
    os.replace(beside, path)


def open_whole(path: str) -> Any:
    """The file, open for appending. If a crash truncated the last line, that line is terminated first."""
    file = open(path, "a+b")  # noqa: SIM115 -- the caller keeps it
    if file.tell() == 0:
        return file
    file.seek(-1, os.SEEK_END)
    if file.read(1) != b"\n":
        file.write(b"\n")
    return file


# The lock of a fleet, a file in the directory of records with the holder's name: only one batch may change a fleet at a
# time.


NAME = "lock"
POLL = 0.1


class Hold:
    """A lock on a fleet, until `release` or the end of the process. The lock of a command that makes changes is
    exclusive; the lock of other commands is shared."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def release(self) -> None:
        self._file.close()


def take(root: str, command: str, alone: bool, seconds: float) -> Hold | None:
    """Lock the fleet, waiting for other commands at most `seconds`. `alone`: take an exclusive lock, otherwise a shared
    one. None if the lock file cannot be opened, as in a read-only fleet. On a file system without locks, nothing is
    locked. Raises Failure, which names the holder, if the lock is not acquired in time."""
    path = os.path.join(root, FOLDER, NAME)
    try:
        make_folder(root)
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), "r+b")
    except OSError:
        return None
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() >= until or STOP.requested:
                raise _busy(file, root) from None
            time.sleep(POLL)
        except OSError:  # the file system has no locks
            break
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    holder = {"command": command, "process": os.getpid(), "who": user_at_host(), "since": since}
    file.truncate(0)
    file.write(orjson.dumps(holder))
    file.flush()
    return Hold(file)


def _busy(file: IO[bytes], root: str) -> Failure:
    try:
        holder: dict[str, Any] = orjson.loads(file.read(4096))
        batch = f"`batch {holder['command']}` of {holder['who']}, process {holder['process']}, since {holder['since']},"
    except (orjson.JSONDecodeError, KeyError, TypeError, OSError):
        batch = "Another batch"
    detail = f"{batch} is using the fleet in {root}. Wait for it, or let this command wait with -lock-timeout=5m."
    return Failure(error("batch.busy", "The fleet is in use", detail))
