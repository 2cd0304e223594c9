"""Copies states to another backend when `init` finds that the backend was changed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve, frozen
from planner.world.state.backend import DEFAULT_WORKSPACE, DOCUMENTS, Backend, Store
from planner.world.state.file import same_content, write_state
from planner.world.state.model import State
from planner.world.state.recovery import refusal_to_copy

Ask = Callable[[str, str], str]  # (question, explanation) -> answer. Raises Failure if no answer can be read.


@frozen
class MigrationOptions:
    """Options of a migration. `ask`: prompts the user; None if prompting is not allowed. `force`: whether all prompts
    are answered with yes. `workspace`: the selected workspace. `warn`: called with warnings about the copied states,
    such as interrupted operations."""

    source_type: str
    target_type: str
    ask: Ask | None = None
    force: bool = False
    lock: bool = True
    lock_timeout: float = 0.0
    workspace: str = DEFAULT_WORKSPACE
    warn: Callable[[list[Diagnostic]], None] = lambda problems: None

    def confirmed(self, question: str, remark: str) -> bool:
        """Whether the user answers yes; always True if `force` is set. False after two answers other than yes and no.
        Raises Failure if prompting is not possible."""
        if self.force:
            return True
        if self.ask is None:
            summary = "Can't ask approval for state migration when interactive input is disabled."
            detail = (
                f'The question is "{question}"\n\nIf non-interactive operation is desired, consider adding the '
                '"-force-copy" option. Otherwise, please remove the "-input=false" option and try again.'
            )
            raise Failure(error("backend.no_input", summary, detail))
        for _ in range(2):
            answer = self.ask(question, remark).lower()
            if answer in ("yes", "no"):
                return answer == "yes"
        return False


def migrate(source: Backend, target: Backend, how: MigrationOptions) -> list[str]:
    """Copy the state of each workspace, after prompting. Returns the workspaces whose state the new backend now has.
    Empty states are not copied. Raises Failure."""
    try:
        names = source.workspaces()
    except OSError as problem:
        detail = f"{problem.filename or source.type}: {problem.strerror or problem}."
        raise Failure(error("backend.workspaces", "Cannot list the workspaces to copy", detail)) from None
    if names == [DEFAULT_WORKSPACE]:
        return _migrate_all(source, target, names, how)
    if not target.has_workspaces:
        return _only_the_current(source, target, how)
    remark = (
        f'The present backend "{how.source_type}" has several workspaces. Their states will be copied to the backend '
        f'"{how.target_type}", and will replace the states of workspaces with the same names.\n'
        'Enter "yes" to copy all of them and "no" to stop.'
    )
    if not how.confirmed(f'Do you want to migrate all workspaces to "{how.target_type}"?', remark):
        raise Failure(error("backend.migration_refused", "Migration aborted by user.", "Nothing was changed."))
    return _migrate_all(source, target, names, evolve(how, ask=None, force=True))


def _only_the_current(source: Backend, target: Backend, how: MigrationOptions) -> list[str]:
    """Copy only the current workspace, after prompting, because the target supports only one workspace. Returns the
    workspaces whose states the target has now. Raises Failure, also if the user declines."""
    remark = (
        f'The present backend "{how.source_type}" has several workspaces, but the new one supports only one. The '
        "state of "
        f'the selected workspace "{how.workspace}" can be copied; the others remain in the present backend.\n'
        'Enter "yes" to copy it and "no" to stop.'
    )
    question = (
        f'Destination state "{how.target_type}" doesn\'t support workspaces.\n'
        "Do you want to copy only your current workspace?"
    )
    if not how.confirmed(question, remark):
        raise Failure(error("backend.migration_refused", "Migration aborted by user.", "Nothing was changed."))
    came = _migrate_one(source.store(how.workspace), target.store(DEFAULT_WORKSPACE), evolve(how, force=True))
    return [how.workspace] if came else []


def _migrate_all(source: Backend, target: Backend, names: list[str], how: MigrationOptions) -> list[str]:
    return [name for name in names if _migrate_one(source.store(name), target.store(name), how)]


def _migrate_one(old: Store, new: Store, how: MigrationOptions) -> bool:
    """Copy one state. Returns whether the new store has the state. Raises Failure."""
    here, there = _read(old), _read(new)
    if old.missing:
        raise Failure(refusal_to_copy(old.place, old.missing))
    if _empty(here):
        return False
    if _same(here, there):
        return True
    with _lock_context(old, "migration source state", how), _lock_context(new, "migration destination state", how):
        here, there = _read(old, how), _read(new)
        if here is None or here.is_empty:
            return False
        with _comparison_files(here, there, how, old.seal.is_plain and new.seal.is_plain) as files:
            question = "Do you want to copy existing state to the new backend?"
            if not how.confirmed(question, _remark(old, new, there, how, files)):
                return False
        if there is not None:
            here = evolve(here, serial=here.serial + 1)
        _, problems = new.put(here)
        if has_errors(problems):
            raise Failure(problems)
        for name in DOCUMENTS:
            document = old.beside(name)
            if document is not None:
                how.warn(new.put_beside(name, document))
    return True


@contextmanager
def _comparison_files(
    here: State, there: State | None, how: MigrationOptions, may_show: bool
) -> Iterator[tuple[str, str] | None]:
    """The paths of two files with the states (first the former, then the new backend), so that the user can compare
    them before choosing. None if the states are stored encrypted (not `may_show`), or if the user need not choose."""
    if not may_show or there is None or there.is_empty or how.force or how.ask is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="planner-") as folder:
        paths = (
            os.path.join(folder, f"1-{how.source_type}.tfstate"),
            os.path.join(folder, f"2-{how.target_type}.tfstate"),
        )
        for path, state in zip(paths, (here, there), strict=True):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(write_state(state))
        yield paths


def _remark(old: Store, new: Store, there: State | None, how: MigrationOptions, files: tuple[str, str] | None) -> str:
    if _empty(there):
        return (
            f'The former backend "{how.source_type}" has a state ({old.place}), but the new backend '
            f'"{how.target_type}" has none.\nEnter "yes" to copy it and "no" to start with an empty state.'
        )
    shown = f"Until you answer, the states are in these files:\n  {files[0]}\n  {files[1]}\n" if files else ""
    return (
        f'Both the former backend "{how.source_type}" ({old.place}) and the new backend "{how.target_type}" '
        f"({new.place}) have a state,\nand the two differ. Compare them before you answer.\n{shown}"
        'Enter "yes" to replace the state in the new backend, and "no" to keep it unchanged.'
    )


def _empty(state: State | None) -> bool:
    return state is None or state.is_empty


def _same(left: State | None, right: State | None) -> bool:
    if left is None or right is None:
        return left is right
    return left.lineage == right.lineage and same_content(left, right)


def _read(store: Store, how: MigrationOptions | None = None) -> State | None:
    state, problems = store.read()
    if has_errors(problems):
        raise Failure(problems)
    if how is not None:
        how.warn(problems)
    return state


@contextmanager
def _lock_context(store: Store, operation: str, how: MigrationOptions) -> Iterator[None]:
    problems: list[Diagnostic] = store.lock(operation, how.lock_timeout) if how.lock else []
    if has_errors(problems):
        raise Failure(problems)
    try:
        yield
    finally:
        if how.lock:
            store.unlock()


def has_objects(store: Store) -> bool:
    """Whether a state has objects or outputs, so that it should be copied. Raises Failure."""
    return not _empty(_read(store))
