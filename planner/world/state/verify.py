"""Checks the stored data of a state: the state file, its backup, and the journal of an interrupted apply."""

from __future__ import annotations

import os
from typing import Protocol

from planner.foundation.support.disk import read_whole
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.foundation.vocabulary.records import frozen
from planner.world.state.encryption_seal import PLAIN, Seal
from planner.world.state.file import read_state
from planner.world.state.journal import read_journal
from planner.world.state.model import State
from planner.world.state.recovery import ERRORED


@frozen
class VerifiedFile:
    """A file that was checked. `kind`: state, backup, journal or rescued. `content`: a summary."""

    kind: str
    path: str
    content: str


class KeptFiles(Protocol):
    """A state in a file, its backup ("": none), and its journal."""

    read_path: str
    backup_path: str
    seal: Seal

    @property
    def journal_path(self) -> str:
        """The path of the journal, which may not exist."""

    def read(self) -> tuple[State | None, list[Diagnostic]]:
        """The state plus the changes in the journal, and problems; None if there is no state, or on an error."""


def verify(store: KeptFiles) -> tuple[list[VerifiedFile], list[Diagnostic]]:
    """The stored files, and their problems. Changes nothing."""
    checked: list[VerifiedFile] = []
    problems: list[Diagnostic] = []
    state = _file("state", store.read_path, store.seal, checked, problems)
    backup = _file("backup", store.backup_path, store.seal, checked, problems) if store.backup_path else None
    if state is not None and backup is not None:
        problems += _relation(store, state, backup)
    if _journal(store.journal_path, store.seal, checked, problems) and not has_errors(problems):
        problems += store.read()[1]
    _check_rescued(store.seal, checked, problems)
    return checked, list(dict.fromkeys(problems))


def verify_kept(
    place: str, state: State | None, journal_path: str, problems: list[Diagnostic], seal: Seal = PLAIN
) -> tuple[list[VerifiedFile], list[Diagnostic]]:
    """The state in a remote backend and the local files about it (journal and rescued state), and all problems.
    `problems`: the problems from reading the state."""
    checked = [] if state is None else [VerifiedFile("state", place, _content(state))]
    _journal(journal_path, seal, checked, problems)
    _check_rescued(seal, checked, problems)
    return checked, list(dict.fromkeys(problems))


def _journal(path: str, seal: Seal, checked: list[VerifiedFile], problems: list[Diagnostic]) -> bool:
    recorded, more = read_journal(path, seal)
    problems += [problem for problem in more if problem not in problems]
    if recorded is None:
        return False
    content = f"{_count(len(recorded.changes), 'change')} to serial {recorded.serial}, {recorded.operation}"
    content += f", {_count(len(recorded.in_flight), 'operation')} under way" if recorded.in_flight else ""
    checked.append(VerifiedFile("journal", path, content))
    return True


def _check_rescued(seal: Seal, checked: list[VerifiedFile], problems: list[Diagnostic]) -> None:
    if not os.path.exists(ERRORED):
        return
    _file("rescued", ERRORED, seal, checked, problems)
    detail = (
        f"An apply could not save its state and left it in {ERRORED}. If that state is newer than the stored state, "
        f"run `planner state push {ERRORED}`; then remove the file."
    )
    problems.append(warning("state.rescued_left", "A rescued state remains", detail))


def _file(kind: str, path: str, seal: Seal, checked: list[VerifiedFile], problems: list[Diagnostic]) -> State | None:
    try:
        data = read_whole(path)
    except FileNotFoundError:
        return None
    except OSError as problem:
        problems.append(error("state.read", f"Cannot read the {kind}", f"{path}: {problem.strerror or problem}."))
        return None
    try:
        data = seal.unseal(data).data if data else data
    except Failure as failure:
        problems += failure.diagnostics
        return None
    state, more = read_state(data, path)
    problems += more
    if state is not None:
        checked.append(VerifiedFile(kind, path, _content(state)))
    elif not data:
        checked.append(VerifiedFile(kind, path, "empty"))
    return state


def _content(state: State) -> str:
    objects = sum((i.current is not None) + len(i.deposed) for _, i in state.instances())
    return f"serial {state.serial}, lineage {state.lineage}, {_count(objects, 'object')}"


def _relation(store: KeptFiles, state: State, backup: State) -> list[Diagnostic]:
    """Problems of a backup, which should be the state before the last change."""
    if backup.lineage != state.lineage:
        detail = (
            f"{store.backup_path} has lineage {backup.lineage}, but the state has lineage {state.lineage}: the file "
            "is not a backup of this state."
        )
        return [warning("state.backup_foreign", "Backup of a different state", detail)]
    if backup.serial > state.serial:
        detail = (
            f"{store.backup_path} has serial {backup.serial}, but {store.read_path} has serial {state.serial}: the "
            "state may have been replaced by an older one."
        )
        return [warning("state.backup_newer", "Backup is newer than the state", detail)]
    return []


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
